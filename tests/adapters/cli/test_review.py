"""`review`: signed on what was read, listed, and shown beside the run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, get_args

import pytest

from ledger import open_ledger
from ledger.adapters.cli import review as module
from ledger.adapters.cli.review import ABOUT, HELP_LIST, HELP_SIGN, Meaning
from ledger.events import ObligationOpened, ReviewSigned, RunOpened
from tests.adapters.cli.command import Answer, at_terminal
from tests.adapters.cli.conftest import Call
from tests.conftest import ROOT

PAGE = (ROOT / "docs/how-to/reviews.md").read_text("utf-8")
BY = ("--by", "human:kim")
REVIEWED = ("review", "sign", "refund-17", "--meaning", "reviewed", *BY)
OBJECTION = ("review", "sign", "refund-17", "--meaning", "objection", "--by", "human:lee")


def hash_at(path: Path, position: int, run: str = "refund-17") -> str:
    with open_ledger(path) as ledger:
        return next(ledger.log(run, after=position - 1, limit=1)).hash.hex()


def promise(path: Path, id: str) -> None:
    with open_ledger(path) as ledger:
        ledger.run("refund-17").promise(id, "Mail", owed_to="customer:17")


# --- sign ----------------------------------------------------------------------------------------


def test_a_review_is_bound_to_where_the_run_stands(call: Call, good: Path) -> None:
    answer = call(*REVIEWED, "--note", "read all of it", "--ledger", good)
    assert (answer.code, answer.err) == (0, "")
    head = hash_at(good, 11)
    assert answer.out.splitlines() == [
        "Recorded: review.signed, position 12",
        f"reviewed by human:kim up to position 11, hash {head}",
    ]
    with open_ledger(good) as ledger:
        review = ledger.contract("refund-17").review
    assert review is not None
    said = (review.by, review.meaning, review.note, review.head, review.hash)
    assert said == ("human:kim", "reviewed", "read all of it", 11, head)


def test_said_twice_it_adds_nothing_also_where_it_is_insisted_on(call: Call, good: Path) -> None:
    first = call(*REVIEWED, "--head", "11", "--ledger", good, "--json").document
    again = call(*REVIEWED, "--head", "11", "--ledger", good, "--json").document
    bound = {"by": "human:kim", "hash": hash_at(good, 11), "head": 11, "meaning": "reviewed"}
    assert {name: first[name] for name in bound} == bound
    assert (first["repeated"], first["position"], first["status"]) == (False, 12, "open")
    assert [event["name"] for event in first["events"]] == ["review.signed"]
    assert again == {**first, "repeated": True, "events": []}
    assert call(*REVIEWED, "--ledger", good).out.startswith("Nothing new: refund-17 says so already, ")


@pytest.mark.parametrize("digits", [64, 12])
def test_what_was_read_may_be_named_by_its_hash(call: Call, good: Path, digits: int) -> None:
    seen = hash_at(good, 11)[:digits].upper()
    assert call(*REVIEWED, "--hash", seen, "--ledger", good, "--json").document["head"] == 11
    # Nothing but a review came since: what somebody else says of it is bound to the same place.
    later = call(*OBJECTION, "--hash", seen, "--head", "11", "--ledger", good, "--json").document
    assert (later["head"], later["hash"], later["position"]) == (11, hash_at(good, 11), 13)
    third = ("review", "sign", "refund-17", "--meaning", "noted", "--by", "human:ada", "--head", "11")
    assert call(*third, "--ledger", good, "--json").document["position"] == 14
    assert call("verify", "refund-17", "--ledger", good).code == 0
    promise(good, "later")
    moved = call(*OBJECTION, "--head", "11", "--ledger", good, "--json")
    assert (moved.code, moved.error["code"]) == (3, "position_conflict")


@pytest.mark.parametrize("how", ["head", "hash"])
def test_nothing_is_signed_where_the_run_has_moved_on(call: Call, good: Path, how: str) -> None:
    seen = {"head": "11", "hash": hash_at(good, 11)}[how]
    promise(good, "later")
    answer = call(*REVIEWED, f"--{how}", seen, "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (3, "position_conflict")
    assert answer.error["data"] == {"run": "refund-17", "expected": 11, "actual": 12}
    (line,) = re.findall(r"what came since: intent-ledger (.*)", answer.error["message"])
    since = call(*shlex.split(line))
    assert since.code == 0
    assert "obligation.opened" in since.out
    with open_ledger(good) as ledger:
        assert ledger.contract("refund-17").review is None
    assert call(*REVIEWED, "--head", "12", "--ledger", good).code == 0


def test_nothing_is_signed_where_the_run_moves_on_while_it_is_being_signed(
    call: Call, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = module._head

    def slowly(*given: Any) -> int:
        head = read(*given)
        promise(good, "meanwhile")
        return head

    monkeypatch.setattr(module, "_head", slowly)
    answer = call(*REVIEWED, "--head", "11", "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (3, "position_conflict")
    assert answer.error["data"] == {"run": "refund-17", "expected": 11, "actual": 12}
    with open_ledger(good) as ledger:
        assert ledger.contract("refund-17").review is None


def test_another_hash_than_the_records_is_bad_news(call: Call, good: Path) -> None:
    for more in ((), ("--head", "11"), ("--head", "3")):
        answer = call(*REVIEWED, "--hash", "f" * 64, *more, "--ledger", good, "--json")
        assert (answer.code, answer.error["code"]) == (1, "integrity_error")
        what = f"the record at position {more[1]} of 'refund-17' has another hash" if more else "no record of"
        assert f"nothing was signed: {what}" in answer.error["message"]
        (line,) = re.findall(r"stored here: intent-ledger (.*)", answer.error["message"])
        assert call(*shlex.split(line)).code == 0
    with open_ledger(good) as ledger:
        assert ledger.contract("refund-17").review is None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--head", "12"), "--head: the run stands at position 11"),
        (("--hash", "abc"), "a hash is 64 hexadecimal digits, or at least the first 12"),
        (("--head", "0"), "--head"),
    ],
)
def test_what_was_never_there_cannot_have_been_read(
    call: Call, good: Path, more: tuple[str, ...], said: str
) -> None:
    answer = call(*REVIEWED, *more, "--ledger", good)
    assert answer.code == 64
    assert said in answer.err


def test_an_agent_may_not_sign(call: Call, good: Path) -> None:
    sign = ("review", "sign", "refund-17", "--meaning", "approved", "--ledger", good, "--json")
    for who in (("--actor", "agent:desk"), ("--by", "agent:desk"), ("--actor", "agent:desk", *BY)):
        answer = call(*sign, *who)
        assert (answer.code, answer.error["code"]) == (4, "not_for_agents")
    with open_ledger(good) as ledger:
        assert ledger.contract("refund-17").position == 11


def test_without_by_it_is_who_writes_if_that_is_a_person(call: Call, good: Path) -> None:
    sign = ("review", "sign", "refund-17", "--meaning", "noted", "--ledger", good, "--json")
    nobody = call(*sign)
    assert (nobody.code, nobody.error["code"]) == (64, "usage")
    assert call(*sign, "--actor", "human:lee").document["by"] == "human:lee"


def test_a_run_that_has_ended_may_be_reviewed_and_one_that_was_never_opened_not(
    call: Call, good: Path
) -> None:
    sign = ("--meaning", "objection", *BY, "--ledger", good, "--json")
    assert call("review", "sign", "done", *sign).document["status"] == "closed"
    answer = call("review", "sign", "nothing", *sign)
    assert (answer.code, answer.error["code"]) == (3, "run_not_found")


# --- list ----------------------------------------------------------------------------------------


@pytest.fixture
def reviewed(call: Call, good: Path) -> Path:
    """Return a ledger in which two people reviewed a run that went on, and one of them another."""
    assert call(*REVIEWED, "--ledger", good).code == 0
    promise(good, "one")
    promise(good, "two")
    assert call(*OBJECTION, "--note", "not\ntold", "--ledger", good).code == 0
    promise(good, "three")
    assert call("review", "sign", "done", "--meaning", "approved", *BY, "--ledger", good).code == 0
    return good


def cells(answer: Answer) -> list[list[str]]:
    return [re.split(r"  +", line) for line in answer.out.splitlines()]


def test_reviews_are_listed_with_how_much_came_since(call: Call, reviewed: Path) -> None:
    answer = call("review", "list", "--ledger", reviewed)
    assert (answer.code, answer.err) == (0, "")
    header, *rows = cells(answer)
    assert header == ["RUN", "MEANING", "BY", "UP TO", "SINCE", "SIGNED", "NOTE"]
    assert [(*row[:5], row[6]) for row in rows] == [
        ("refund-17", "reviewed", "human:kim", "11", "4", "-"),
        ("refund-17", "objection", "human:lee", "14", "1", "not told"),
        ("done", "approved", "human:kim", "2", "0", "-"),
    ]
    for more, runs in ((("refund-17",), ["refund-17"] * 2), (("--meaning", "approved"), ["done"])):
        _, *some = cells(call("review", "list", *more, "--ledger", reviewed))
        assert [row[0] for row in some] == runs


def test_they_are_one_document(call: Call, reviewed: Path) -> None:
    document = call("review", "list", "done", "--ledger", reviewed, "--json").document
    (one,) = document["reviews"]
    assert one == {
        "run": "done",
        "position": 3,
        "head": 2,
        "head_hash": hash_at(reviewed, 2, "done"),
        "meaning": "approved",
        "by": "human:kim",
        "actor": one["actor"],
        "at": one["at"],
        "note": None,
        "changed_after": 0,
    }
    assert isinstance(document["as_of"], str)


def test_at_a_narrow_terminal_each_has_a_few_lines(reviewed: Path) -> None:
    answer = at_terminal("review", "list", "refund-17", "--ledger", reviewed, columns=60)
    assert answer.code == 0
    text = " ".join(answer.out.split())
    assert "refund-17 objection by human:lee up to position 14, " in text
    assert "1 event since not | told" in text


def test_where_there_are_none_that_is_said(call: Call, good: Path) -> None:
    answer = call("review", "list", "--ledger", good)
    assert (answer.code, answer.out) == (0, "")
    assert answer.err == "nobody has signed a review yet: intent-ledger review sign\n"
    assert call("review", "list", "done", "--ledger", good).err == "no review matches\n"
    missing = call("review", "list", "nothing", "--ledger", good, "--json")
    assert (missing.code, missing.error["code"]) == (3, "run_not_found")


def test_runs_show_the_last_review_and_what_came_since(call: Call, reviewed: Path) -> None:
    header, *rows = cells(call("runs", "--ledger", reviewed))
    place = header.index("REVIEW")
    told = {row[0]: row[place] for row in rows}
    assert told == {"done": "approved", "other": "-", "pays": "-", "refund-17": "objection, 1 event since"}
    documents = {run["run"]: run for run in call("runs", "--ledger", reviewed, "--json").document["runs"]}
    assert (documents["refund-17"]["review"]["head"], documents["refund-17"]["changed_since_review"]) == (
        14,
        1,
    )
    assert documents["done"]["changed_since_review"] == 0
    assert not {"review", "changed_since_review"} & documents["pays"].keys()
    text = " ".join(at_terminal("runs", "--ledger", reviewed, columns=80).out.split())
    assert "review: objection, 1 event since" in text


# --- the page on reviews -------------------------------------------------------------------------


def test_the_commands_of_its_page_run(call: Call, good: Path) -> None:
    lines = re.findall(r"^    intent-ledger (.*)$", PAGE, re.MULTILINE)
    assert len(lines) == 9
    for line in lines:
        answer = call(*shlex.split(line), "--ledger", good)
        assert (answer.code, bool(answer.out)) == (0, True), answer.err


def test_the_program_of_its_page_runs() -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(program, "reviews.md", "exec"), {})


def test_its_page_explains_every_meaning() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(get_args(Meaning))


# --- help ----------------------------------------------------------------------------------------


def test_every_example_of_its_help_parses(call: Call, good: Path) -> None:
    text = re.sub(r" \\\n +", " ", "\n".join((ABOUT, HELP_SIGN, HELP_LIST)))
    lines = re.findall(r"^  intent-ledger (.*)$", text, re.MULTILINE)
    assert len(lines) == 8
    for line in lines:
        answer = call(*shlex.split(line), "--ledger", good)
        # The head of an example is that of no run here.
        assert answer.code == (64 if "--head 14" in line else 0), answer.err


def test_what_an_import_says_was_reviewed_earlier_counts_from_there(call: Call, good: Path) -> None:
    """Its review stands further behind its head than one that was signed here."""
    with open_ledger(good) as ledger:
        first = RunOpened(goal="Look")
        ledger.import_events("copied", [first], expected=0)
        owed = [ObligationOpened(id=id, owed_to="human:kim", text="Look") for id in ("a", "b")]
        signed = ReviewSigned(by="human:kim", hash=hash_at(good, 1, "copied"), head=1, meaning="reviewed")
        ledger.import_events("copied", [*owed, signed], expected=1)
    assert "reviewed, 2 events since" in call("runs", "--prefix", "copied", "--ledger", good).out
    assert "2 events came after" in call("contract", "copied", "--ledger", good).out
    (one,) = call("review", "list", "copied", "--ledger", good, "--json").document["reviews"]
    assert one["changed_after"] == 2
