"""`sources publish|withdraw|list|show|affected`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ledger import Source, open_ledger
from ledger.adapters.sources.documents import parse_document
from tests.adapters.cli.command import Answer, at_terminal
from tests.adapters.cli.conftest import Alter, Call
from tests.adapters.cli.ledgers import RAISE_THE_LIMIT

POLICY = "policy:refunds"
FIRST = "# Limits\n\n- At most 100 EUR\n- Ask a person above 50 EUR\n\n# Tone\n\nBe polite.\n"
TOKEN = "ghp_" + "a8Bk39dkQpzLw82jdm4KsoW0qLx71bCdEf22"
LIMIT, ASK, POLITE = "limits-35de7b92", "limits-4b229ea8", "tone-b93b359e"


@pytest.fixture
def file() -> Path:
    path = Path.cwd() / "policy.md"
    path.write_text(FIRST)
    return path


@pytest.fixture
def publish(call: Call, file: Path) -> Call:
    """Return the command on the file, in a ledger that it makes."""
    return lambda *arguments: call("sources", "publish", file, "--source", POLICY, *arguments)


def changes(document: Any) -> list[tuple[str, str]]:
    return [(rule["change"], rule["id"]) for rule in document["rules"]]


def rely(run: str, id: str, text: str) -> None:
    with open_ledger("ledger.db") as ledger:
        handle = ledger.open_run(run, goal="Refund")
        handle.accept(id, text, source=Source("policy", "refunds"), asserted_by="human:kim")


# --- publish -----------------------------------------------------------------------------------------


def test_a_file_is_published_and_the_same_again_adds_nothing(publish: Call) -> None:
    answer = publish("--by", "human:kim", "--reason", "first", "--json")
    assert answer.code == 0
    document = answer.document
    assert (document["came_to"], document["source"], document["position"]) == ("published", POLICY, 2)
    assert changes(document) == [("added", LIMIT), ("added", ASK), ("added", POLITE)]
    assert document["counts"] == {"added": 3, "returned": 0, "reworded": 0, "withdrawn": 0, "unchanged": 0}
    assert (document["previous"], document["revision"]) == (None, parse_document(FIRST.encode(), "").revision)
    again = publish("--json")
    assert (again.code, again.document["came_to"], again.document["position"]) == (0, "repeat", 2)
    assert publish().out.startswith(f"Nothing new: {POLICY} revision sha256-")
    with open_ledger("ledger.db") as ledger:
        *_, record = ledger.log_source(POLICY)
        assert record.event.model_dump()["by"] == "human:kim"
        assert record.event.model_dump()["reason"] == "first"


def test_a_dry_run_shows_what_would_change_and_makes_no_ledger(publish: Call) -> None:
    answer = publish("--dry-run")
    assert answer.code == 0
    assert "At most 100 EUR" in answer.out
    assert answer.out.splitlines()[-1].startswith(f"Would publish: {POLICY} revision sha256-")
    assert not Path("ledger.db").exists()
    publish()
    document = publish("--dry-run", "--revision", "7", "--json").document
    assert (document["came_to"], document["revision"]) == ("dry_run", "7")
    with open_ledger("ledger.db") as ledger:
        assert ledger.source(POLICY).state.position == 2


def test_old_and_new_words_stand_side_by_side(publish: Call, file: Path) -> None:
    publish()
    file.write_text(FIRST.replace("100", "90"))
    lines = publish().out.splitlines()
    assert lines[0].split() == ["CHANGE", "ID", "LINE", "WAS", "NOW"]
    assert lines[1].split("  ")[:2] == ["reworded", LIMIT]
    assert lines[1].index("'At most 100 EUR'") < lines[1].index("'At most 90 EUR'")
    assert lines[-1].endswith(": 1 reworded, 2 unchanged")


def test_at_a_narrow_terminal_they_stand_below_each_other(publish: Call, file: Path) -> None:
    publish()
    file.write_text(FIRST.replace("100", "90"))
    answer = at_terminal("sources", "publish", file, "--source", POLICY, columns=60)
    assert f"reworded: {LIMIT}, line 3\n  was: 'At most 100 EUR' (not enforced: " in answer.out
    assert "\n  now: 'At most 90 EUR' (not enforced: " in answer.out


def test_what_is_left_out_is_named_and_has_to_be_confirmed(publish: Call, file: Path) -> None:
    publish()
    file.write_text("# Limits\n\n- Ask a person above 50 EUR\n")
    for more in ((), ("--dry-run",)):
        answer = publish(*more)
        assert answer.code == 1
        assert answer.out.splitlines()[-1].startswith("NOT PUBLISHED: ")
        assert answer.err.endswith(f"confirm it: --withdraw {LIMIT} --withdraw {POLITE}\n")
    answer = publish("--withdraw", LIMIT, "--json")
    assert (answer.code, answer.document["came_to"]) == (1, "unconfirmed")
    assert answer.document["unconfirmed"] == {"withdraw": [POLITE], "bring_back": []}
    with open_ledger("ledger.db") as ledger:
        assert ledger.source(POLICY).state.position == 2
    confirmed = ("--withdraw", LIMIT, "--withdraw", POLITE, "--json")
    assert publish(*confirmed).document["came_to"] == "published"
    assert publish(*confirmed).document["came_to"] == "repeat"


def test_all_that_is_left_out_may_be_confirmed_at_once(publish: Call, file: Path) -> None:
    publish()
    file.write_text("# Tone\n\nBe polite.\n")
    document = publish("--withdraw-omitted", "--by", "human:kim", "--reason", "over", "--json").document
    assert document["came_to"] == "published"
    with open_ledger("ledger.db") as ledger:
        gone = ledger.source(POLICY).state.withdrawn
    assert [(one.id, one.by, one.reason) for one in gone] == [
        (LIMIT, "human:kim", "over"),
        (ASK, "human:kim", "over"),
    ]


def test_what_was_withdrawn_by_name_comes_back_by_name_only(publish: Call, call: Call, file: Path) -> None:
    publish()
    call("sources", "withdraw", POLICY, LIMIT, "--by", "human:kim", "--reason", "unlawful")
    file.write_text(FIRST + "Be quick.\n\n")
    answer = publish("--json")
    assert (answer.code, answer.document["unconfirmed"]) == (1, {"withdraw": [], "bring_back": [LIMIT]})
    assert answer.document["rules"][0]["gone"]["reason"] == "unlawful"
    shown = publish()
    assert "by human:kim: unlawful" in shown.out
    assert shown.err.endswith(f"--bring-back {LIMIT}\n")
    assert publish("--bring-back", LIMIT).code == 0
    with open_ledger("ledger.db") as ledger:
        assert ledger.source(POLICY).state.gone(LIMIT) is None


def test_another_content_under_the_same_revision_is_refused(publish: Call, file: Path) -> None:
    publish("--revision", "4")
    file.write_text(FIRST.replace("100", "90"))
    answer = publish("--revision", "4", "--json")
    assert (answer.code, answer.error["code"]) == (4, "id_in_use")
    assert answer.error["message"].endswith("give this content another name: --revision")


def test_what_is_no_rule_is_told_beside_the_answer(publish: Call, file: Path) -> None:
    file.write_text(FIRST + "\n```\ncode\n```\n")
    answer = publish()
    assert answer.err == "line 10: a block of code, which is no rule and was left out\n"
    assert publish("--json").document["left_out"] == [{"line": 10, "what": "a block of code"}]


def test_yaml_gives_ids_and_rules(call: Call) -> None:
    file = Path.cwd() / "policy.yaml"
    rule = "{tools: [refund], require: [{path: /amount, operator: le, value: 100}]}"
    file.write_text(f"limit-100:\n  text: At most 100 EUR\n  rule: {rule}\npolite: Be polite\n")
    answer = call("sources", "publish", file, "--source", POLICY)
    enforced = "enforced: for refund: /amount is at most 100"
    assert f"'At most 100 EUR' ({enforced})" in answer.out
    assert "'Be polite' (not enforced: no machine checks it)" in answer.out
    shown = call("sources", "show", POLICY)
    assert f"    At most 100 EUR\n    {enforced}\n" in shown.out
    assert "    Be polite\n    not enforced: no machine checks it\n" in shown.out
    items = call("sources", "show", POLICY, "--json").document["items"]
    assert items[0]["rule"]["tools"] == ["refund"]
    assert [item["enforced"] for item in items] == [True, False]
    (source,) = call("sources", "list", "--json").document["sources"]
    assert (source["items"], source["enforced"]) == (2, 1)


def test_a_rule_that_does_not_do_what_it_says_is_told_and_published(call: Call) -> None:
    file = Path.cwd() / "policy.yaml"
    file.write_text("a: {text: x, rule: {allow: [pay], deny: [pay]}}\nb: Be polite\n")
    answer = call("sources", "publish", file, "--source", POLICY)
    assert answer.code == 0
    assert "line 1: a: ERROR: pay is allowed and denied, and so denied\n" in answer.err
    again = call("sources", "publish", file, "--source", POLICY, "--json").document
    assert [[fault["code"] for fault in one.get("faults", ())] for one in again["rules"]] == [
        ["allowed_and_denied"],
        [],
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it holds no rules"),
        (b"- a\n- b\xff\n", "line 2: not UTF-8"),
        (b"# A\n- a\n- a\n", "line 3: it says the same as line 2"),
    ],
)
def test_a_malformed_file_is_told_with_its_line_and_makes_no_ledger(
    publish: Call, file: Path, content: bytes, says: str
) -> None:
    file.write_bytes(content)
    answer = publish("--json")
    assert (answer.code, answer.out, answer.error["code"]) == (64, "", "invalid_input")
    assert answer.error["data"]["path"] == str(file)
    assert says in answer.error["message"]
    assert not Path("ledger.db").exists()


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (("--source", "refunds"), "source"),
        (("--withdraw", "nothing"), "--withdraw"),
        (("--bring-back", "nothing"), "--bring-back"),
        (("--by", "kim"), "by"),
        (("--revision", ""), "revision"),
        (("--reason", " "), "reason"),
    ],
)
def test_what_is_malformed_is_told_so(publish: Call, arguments: tuple[str, ...], path: str) -> None:
    answer = publish(*arguments, "--json")
    assert (answer.code, answer.error["data"]["path"]) == (64, path)
    assert path.startswith("--") or not Path("ledger.db").exists()


def test_more_than_one_record_holds_is_told_so(publish: Call, file: Path) -> None:
    file.write_text("".join(f"- {number:05d}{'x' * 200}\n" for number in range(1200)))
    answer = publish("--json")
    assert (answer.code, answer.error["data"]["path"]) == (64, "FILE")
    assert "publish it in parts" in answer.error["message"]


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_rule_that_holds_a_secret_is_told_with_its_line(
    publish: Call, file: Path, more: tuple[str, ...]
) -> None:
    file.write_text(f"{FIRST}\n# Access\n\n- Call it with {TOKEN}\n")
    answer = publish(*more)
    assert answer.code == 64
    assert "policy.md: line 12: access-" in answer.err
    assert "it holds a secret (github-token)" in answer.err
    assert "say it by a name" in " ".join(answer.err.split())
    assert TOKEN not in answer.err


def test_a_file_that_is_not_there_could_not_be_read(call: Call) -> None:
    answer = call("sources", "publish", "nowhere.md", "--source", POLICY, "--json")
    assert (answer.code, answer.error["code"]) == (3, "os_error")


@pytest.mark.parametrize("more", [("--actor", "agent:refunds"), ("--by", "agent:refunds")])
def test_an_agent_publishes_and_withdraws_nothing(publish: Call, call: Call, more: tuple[str, ...]) -> None:
    answer = publish(*more, "--json")
    assert (answer.code, answer.error["code"]) == (4, "not_for_agents")
    assert "not agent:refunds: say with --by who decided it" in answer.error["message"]
    publish()
    said = ("--by", "human:kim", "--reason", "x", *more, "--json")
    answer = call("sources", "withdraw", POLICY, LIMIT, *said)
    assert (answer.code, answer.error["code"]) == (4, "not_for_agents")


def test_where_a_source_has_owners_only_they_publish_and_withdraw(publish: Call, call: Call) -> None:
    with open_ledger("ledger.db") as ledger:
        ledger.source(POLICY).open(owners=["human:kim", "human:lee"])
    for by in ((), ("--by", "human:max")):
        answer = publish(*by, "--json")
        assert (answer.code, answer.error["code"]) == (4, "authority_exceeded")
        assert answer.error["message"].endswith(
            "its owners are human:kim, human:lee: one of them has to decide it: --by OWNER"
        )
    assert publish("--by", "human:lee").code == 0
    answer = call("sources", "withdraw", POLICY, LIMIT, "--by", "human:max", "--reason", "x", "--json")
    assert (answer.code, answer.error["code"]) == (4, "authority_exceeded")


# --- withdraw ----------------------------------------------------------------------------------------


def test_a_constraint_is_withdrawn_once(publish: Call, call: Call) -> None:
    publish()

    def withdraw(*more: str) -> Answer:
        return call("sources", "withdraw", POLICY, LIMIT, "--by", "human:kim", "--reason", "old", *more)

    answer = withdraw()
    assert answer.code == 0
    assert answer.out == f"Withdrawn from {POLICY}: {LIMIT}: 'At most 100 EUR'\n"
    assert answer.err == f"who relies on it: intent-ledger sources affected {POLICY} {LIMIT}\n"
    assert withdraw().out == f"Nothing new: {POLICY} withdrew {LIMIT} so already\n"
    assert withdraw("--json").document == {
        "came_to": "repeat",
        "source": POLICY,
        "id": LIMIT,
        "position": 3,
    }


@pytest.mark.parametrize(
    ("source", "id", "code"),
    [(POLICY, "nothing", "not_open"), ("policy:nobody", "x", "not_found"), ("nobody", "x", "invalid_input")],
)
def test_what_is_not_there_cannot_be_withdrawn(
    publish: Call, call: Call, source: str, id: str, code: str
) -> None:
    exits = {"not_open": 4, "not_found": 3, "invalid_input": 64}
    publish()
    answer = call("sources", "withdraw", source, id, "--by", "human:kim", "--reason", "x", "--json")
    assert (answer.code, answer.error["code"]) == (exits[code], code)


# --- list, show, affected ------------------------------------------------------------------------------


def test_sources_are_listed_with_who_follows_them(publish: Call, call: Call) -> None:
    publish("--revision", "4")
    rely("r", LIMIT, "At most 100 EUR")
    assert call("sources", "list", "--json").document == {
        "sources": [
            {
                "source": POLICY,
                "revision": "4",
                "position": 2,
                "items": 3,
                "enforced": 0,
                "withdrawn": 0,
                "owners": [],
                "runs": 1,
                "closed_runs": 0,
            }
        ],
        "unread": [],
    }
    title, line = call("sources", "list").out.splitlines()
    assert title.split() == ["SOURCE", "REVISION", "ITEMS", "ENFORCED", "WITHDRAWN", "RUNS", "OWNERS"]
    assert line.split() == [POLICY, "4", "3", "0", "0", "1", "-"]
    assert "revision 4, items 3" in at_terminal("sources", "list", columns=60).out


def test_a_ledger_without_sources_says_how_to_get_one(call: Call) -> None:
    open_ledger("ledger.db").close()
    answer = call("sources", "list")
    assert (answer.code, answer.out) == (0, "")
    assert "sources publish FILE" in answer.err


def test_a_source_is_shown_with_what_it_withdrew(publish: Call, call: Call) -> None:
    publish("--revision", "4")
    call("sources", "withdraw", POLICY, LIMIT, "--by", "human:kim", "--reason", "unlawful")
    out = call("sources", "show", POLICY).out
    assert out.startswith(f"{POLICY}: revision 4, last event ")
    assert f"  {ASK}, since revision 4\n    Ask a person above 50 EUR\n" in out
    assert f"\nWithdrawn (1)\n  {LIMIT} withdrawn 2" in out
    assert out.endswith("by human:kim: unlawful\n")
    document = call("sources", "show", POLICY, "--json").document
    assert [item["id"] for item in document["items"]] == [ASK, POLITE]
    (gone,) = document["withdrawn"]
    assert (gone["id"], gone["by"], gone["reason"], gone["position"]) == (LIMIT, "human:kim", "unlawful", 3)
    assert call("sources", "show", "policy:nobody", "--json").error["code"] == "not_found"


def test_affected_runs_are_listed_with_what_became_of_what_they_accepted(
    publish: Call, call: Call, file: Path
) -> None:
    publish("--revision", "4")
    rely("a", LIMIT, "At most 100 EUR")
    rely("b", POLITE, "Be polite.")
    rely("c", ASK, "Ask a person above 50 EUR")
    file.write_text(FIRST.replace("100", "90"))
    publish("--revision", "5")
    call("sources", "withdraw", POLICY, POLITE, "--by", "human:kim", "--reason", "too long")
    answer = call("sources", "affected", POLICY, "--json")
    assert answer.code == 0
    found = answer.document["affected"]
    assert [(one["run"], one["id"], one["accepted_revision"], one["now"]) for one in found] == [
        ("a", LIMIT, "4", "reworded"),
        ("b", POLITE, "4", "withdrawn"),
        ("c", ASK, "4", "unchanged"),
    ]
    assert (found[0]["says"]["text"], found[0]["says"]["revision"]) == ("At most 90 EUR", "5")
    assert found[1]["gone"]["reason"] == "too long"
    title, first, second, third = call("sources", "affected", POLICY).out.splitlines()
    assert title.split() == ["RUN", "STATUS", "CONSTRAINT", "ACCEPTED", "NOW", "SINCE"]
    assert first.endswith("revision 5: 'At most 90 EUR'")
    assert second.endswith("by human:kim: 'too long'")
    assert third.split()[:5] == ["c", "open", ASK, "4", "unchanged"]
    with open_ledger("ledger.db") as ledger:
        source = Source("policy", "refunds")
        ledger.run("a").accept(ASK, "Ask a person above 50 EUR", source=source, asserted_by="human:kim")
    narrow = at_terminal("sources", "affected", POLICY, columns=60).out
    assert narrow.count("a open\n") == 1, "each run once, with all that it accepted below"
    narrow = at_terminal("sources", "affected", POLICY, LIMIT, columns=60).out
    assert narrow.startswith(f"a open\n  {LIMIT}, accepted at revision 4: reworded\n")
    assert call("sources", "affected", POLICY, "nothing").err == "no run relies on it\n"
    assert call("sources", "affected", "policy:nobody", "--json").error["code"] == "not_found"


def test_a_run_that_is_altered_is_named_and_the_others_are_listed(
    call: Call, good: Path, alter: Alter
) -> None:
    alter(good, RAISE_THE_LIMIT)
    for verb in (("list",), ("affected", POLICY)):
        answer = call("sources", *verb, "--ledger", good)
        assert answer.code == 1
        assert "refund-17: ALTERED: " in answer.out
        document = call("sources", *verb, "--ledger", good, "--json").document
        assert [one["standing"] for one in document["unread"]] == ["altered"]


def test_the_group_alone_says_what_there_is(call: Call) -> None:
    answer = call("sources")
    assert answer.code == 0
    assert "affected" in answer.out
