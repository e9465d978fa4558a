"""Importing: what is added, what is there already, what is refused, and what others do meanwhile."""

import json
import os
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger, LedgerError, open_ledger
from ledger.adapters.transcripts import ImportedRun, importing
from ledger.adapters.transcripts.documents import read_document
from ledger.adapters.transcripts.importing import import_transcripts
from ledger.errors import ChainBroken, InvalidInput, PositionConflict, RunNotFound, StoreUnavailable
from ledger.events import (
    ConstraintAccepted,
    EffectIntended,
    EffectSucceeded,
    EffectUnknown,
    GoalRevised,
    ResumeRefused,
    RunOpened,
    RunResumed,
    RunSuspended,
)
from ledger.values import Verdict
from tests.adapters.transcripts.conversation import (
    POLICY,
    TOOLS,
    Message,
    answers,
    calls,
    events,
    line,
    meaning,
    names,
    says,
    system,
    user,
)

TALK = [system(), user("Pay 5"), calls("look"), answers("open"), calls("pay", {"n": 5}), answers("paid")]
OPEN = [*TALK, user("Again"), calls("pay", {"n": 5}), calls("look")]
SOURCE = read_document(POLICY).source


def imported(ledger: Ledger, *messages: Message, id: str = "r") -> ImportedRun:
    """Import one transcript and tell what became of it."""
    report = import_transcripts(ledger, [line(id, messages)], tools=TOOLS)
    (row,) = report.rows
    return row


def test_a_transcript_becomes_a_run_that_is_suspended_as_imported(ledger: Ledger) -> None:
    assert imported(ledger, *TALK) == ImportedRun(line=1, verdict="added", run="r", events=13)
    assert names(ledger, "r") == [
        "run.opened",
        "message.recorded",
        "constraint.accepted",
        "constraint.accepted",
        "message.recorded",
        "message.recorded",
        "message.recorded",
        "observation.recorded",
        "message.recorded",
        "effect.intended",
        "message.recorded",
        "effect.succeeded",
        "run.suspended",
    ]
    contract = ledger.contract("r")
    assert contract.goal.text == "Pay 5"
    assert contract.status == "suspended"
    assert contract.suspended is not None
    assert contract.suspended.cause == "imported"
    assert [message.role for message in contract.messages] == [m["role"] for m in TALK]
    contents = [content for _, content in ledger.run("r").load().messages]
    assert contents == TALK


def test_who_imports_writes_and_accepts(ledger: Ledger) -> None:
    import_transcripts(ledger, [line("r", TALK)], actor=Actor("human:kim", session="s"))
    import_transcripts(ledger, [line("q", TALK)])
    for run, actor in (("r", Actor("human:kim", session="s")), ("q", Actor("service:importer"))):
        assert {record.actor for record in ledger.log(run)} == {actor}
        assert {c.accepted_by for c in ledger.contract(run).constraints} == {actor.id}
    assert {record.actor.id for record in ledger.log_source(SOURCE)} == {"human:kim"}


def test_what_the_document_says_is_published_and_accepted_word_for_word(ledger: Ledger) -> None:
    imported(ledger, *TALK)
    document = read_document(POLICY)
    state = ledger.source(SOURCE).state
    assert (state.revision, [item.published for item in state.items]) == (
        document.revision,
        list(document.constraints),
    )
    for constraint, published in zip(ledger.contract("r").constraints, document.constraints, strict=True):
        assert (constraint.id, constraint.text) == (published.id, published.text)
        assert constraint.asserted_by == SOURCE
        assert constraint.source is not None
        assert (constraint.source.stream, constraint.source.revision) == (SOURCE, document.revision)
        assert constraint.published is True
        assert constraint.source_position == state.position


def test_one_document_of_many_transcripts_is_published_once(ledger: Ledger) -> None:
    lines = [line(f"r{number}", TALK) for number in range(3)]
    assert import_transcripts(ledger, lines).sources == 1
    assert import_transcripts(ledger, [line("other", TALK)]).sources == 0
    assert len(list(ledger.log_source(SOURCE))) == 2
    assert import_transcripts(ledger, [line("new", [system("# N\n- x\n"), user("go")])]).sources == 1


def test_a_call_without_a_result_is_an_unknown_effect(ledger: Ledger) -> None:
    imported(ledger, *OPEN)
    (effect,) = ledger.contract("r").effects
    assert (effect.tool, effect.occurrence, effect.status, effect.witnessed) == ("pay", "2", "unknown", False)
    told = events(ledger, "r")
    assert [event.because for event in told if isinstance(event, EffectUnknown)] == ["imported"]
    # The read that nobody answered leaves its message and nothing else.
    assert sum(event.name == "observation.recorded" for event in told) == 1


# --- once more ---------------------------------------------------------------------------------


def test_the_same_file_again_adds_nothing(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "talks.jsonl"
    path.write_text("\n".join(line(id, talk) for id, talk in (("a", TALK), ("b", OPEN), (None, TALK))))
    first = import_transcripts(ledger, path, tools=TOOLS)
    assert first.counts == {"added": 3, "grown": 0, "unchanged": 0, "refused": 0, "broken": 0}
    before = ledger.store.tail(limit=1_000)
    again = import_transcripts(ledger, path, tools=TOOLS)
    assert again.counts == {"added": 0, "grown": 0, "unchanged": 3, "refused": 0, "broken": 0}
    assert (again.events, again.sources) == (0, 0)
    assert [row.run for row in again.rows] == ["a", "b", "talks-3"]
    assert ledger.store.tail(limit=1_000) == before


def test_a_grown_transcript_appends_the_rest(ledger: Ledger) -> None:
    imported(ledger, *TALK)
    before = events(ledger, "r")
    row = imported(ledger, *TALK, user("Thanks"), says("Welcome"))
    assert (row.verdict, row.events) == ("grown", 3)
    assert events(ledger, "r")[: len(before)] == before
    assert names(ledger, "r")[len(before) :] == ["message.recorded", "message.recorded", "run.suspended"]


def test_a_late_result_settles_the_effect_that_was_unknown(ledger: Ledger) -> None:
    imported(ledger, *OPEN)
    (unknown,) = ledger.contract("r").effects
    row = imported(ledger, *OPEN, answers("still open"))  # of the read, the oldest call is `pay`
    assert (row.verdict, ledger.contract("r").effects) == ("grown", ())
    assert EffectSucceeded in {type(event) for event in events(ledger, "r")}
    settled = [e for e in events(ledger, "r") if isinstance(e, EffectSucceeded)][-1]
    assert settled.key == unknown.key


def test_what_stays_unanswered_is_marked_once(ledger: Ledger) -> None:
    for length in range(len(OPEN) - 1, len(OPEN) + 1):
        imported(ledger, *OPEN[:length])
    row = imported(ledger, *OPEN, user("Hello?"))
    assert row.verdict == "grown"
    assert names(ledger, "r").count("effect.unknown") == 1
    assert ledger.contract("r").status == "suspended"


def test_an_older_and_shorter_file_adds_nothing(ledger: Ledger) -> None:
    imported(ledger, *OPEN, answers("x"))
    for length in range(2, len(OPEN) + 1):
        assert imported(ledger, *OPEN[:length]).verdict == "unchanged"


def test_lines_of_one_id_are_the_same_run_as_it_grows(ledger: Ledger) -> None:
    lines = [line("r", OPEN[:length]) for length in (2, 4, 4, 9)]
    rows = import_transcripts(ledger, lines, tools=TOOLS).rows
    assert [row.verdict for row in rows] == ["added", "grown", "unchanged", "grown"]


def test_a_file_under_another_name_is_the_same_run(ledger: Ledger, tmp_path: Path) -> None:
    for name, talk, verdict in (("a.jsonl", TALK, "added"), ("b.jsonl", OPEN, "grown")):
        path = tmp_path / name
        path.write_text(line("r", talk))
        assert import_transcripts(ledger, path, tools=TOOLS).rows[0].verdict == verdict
    assert ledger.contract("r").labels == {"imported-from": "a.jsonl"}


def test_other_wording_of_the_same_json_is_the_same_transcript(ledger: Ledger) -> None:
    imported(ledger, *TALK)
    again = json.dumps({"id": "r", "messages": TALK}, indent=3, sort_keys=True, ensure_ascii=True)
    assert import_transcripts(ledger, again.split("\n"), tools=TOOLS).rows[0].verdict == "unchanged"


# --- differences -------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(1, len(TALK) + 1))
def test_a_diverging_transcript_is_refused_at_the_first_difference(ledger: Ledger, number: int) -> None:
    imported(ledger, *TALK)
    before = ledger.store.tail(limit=1_000)
    changed = [*TALK, user("more")]
    changed[number - 1] = {**changed[number - 1], "content": "changed"}
    row = imported(ledger, *changed)
    assert (row.verdict, row.code, row.message, row.events) == ("refused", "diverges", number, 0)
    assert row.found is not None
    assert "changed" in row.found
    assert row.stored is not None
    assert "changed" not in row.stored
    assert row.problem is not None
    assert row.stored in row.problem
    assert ledger.store.tail(limit=1_000) == before


def test_the_difference_is_shown_where_it_is(ledger: Ledger) -> None:
    long = "The quick brown fox jumps over the lazy dog. " * 20
    imported(ledger, user(f"{long}one"), says("ok"))
    row = imported(ledger, user(f"{long}two"), says("ok"))
    assert row.stored is not None
    assert row.stored.endswith("lazy dog. one")
    assert row.found is not None
    assert row.found.endswith("lazy dog. two")
    assert len(row.found) < 60


def test_other_declarations_of_tools_that_tell_it_differently_are_refused(ledger: Ledger) -> None:
    imported(ledger, *TALK)
    import_transcripts(ledger, [line("bare", TALK)])
    (undeclared,) = import_transcripts(ledger, [line("r", TALK)]).rows
    declared = imported(ledger, *TALK, id="bare")
    for row in (undeclared, declared):
        # The call is what is told differently, whichever way round; it stands in the third message.
        assert (row.verdict, row.code, row.message) == ("refused", "diverges", 3)
        assert row.problem is not None
        assert "tools" in row.problem
    call = "effect.intended of 'look'"
    assert (undeclared.found, declared.stored) == (call, call)
    assert undeclared.stored == declared.found == "message.recorded '4'"


def test_declarations_that_tell_it_alike_may_change(ledger: Ledger, tmp_path: Path) -> None:
    imported(ledger, *TALK)
    tools = tmp_path / "tools.json"
    tools.write_text(
        json.dumps(
            {"tools": {"look": {"recovery": "read_only"}, "pay": {"recovery": "outbox", "failed_if": "no"}}}
        )
    )
    (row,) = import_transcripts(ledger, [line("r", OPEN)], tools=tools).rows
    assert row.verdict == "grown"
    intended = [event for event in events(ledger, "r") if isinstance(event, EffectIntended)]
    assert [event.recovery for event in intended] == ["queryable", "outbox"]


# --- runs of others ----------------------------------------------------------------------------


def test_a_run_that_was_opened_in_another_way_is_left_alone(ledger: Ledger) -> None:
    ledger.open_run("r", "Pay 5", actor=Actor("agent:desk"))
    row = imported(ledger, *TALK)
    assert (row.verdict, row.code, row.events) == ("refused", "not_imported", 0)
    assert row.problem is not None
    assert "agent:desk" in row.problem
    assert ledger.contract("r").position == 1


GOING_ON: dict[str, Callable[[Ledger], object]] = {
    "goal.revised": lambda ledger: ledger.import_events(
        "r", [GoalRevised(by="human:kim", reason="asked", text="Pay 6")], expected=13
    ),
    "run.resumed": lambda ledger: ledger.import_events(
        "r", [RunResumed(gap_seconds=1, incarnation=2, prompt_digest="0" * 64)], expected=13
    ),
    "observation.recorded": lambda ledger: ledger.run("r").observe(
        "k", 1, tool="look", observed_at=ledger.contract("r").at
    ),
    "run.closed": lambda ledger: ledger.run("r").close("abandoned"),
}


@pytest.mark.parametrize("name", GOING_ON)
def test_a_run_that_went_on_by_itself_takes_nothing_more(ledger: Ledger, name: str) -> None:
    imported(ledger, *TALK)
    GOING_ON[name](ledger)
    assert ledger.contract("r").position == 14
    row = imported(ledger, *OPEN)
    assert (row.verdict, row.code, row.message, row.events) == ("refused", "went_on", 7, 0)
    assert row.problem is not None
    assert name in row.problem
    assert imported(ledger, *TALK).verdict == "unchanged"
    assert ledger.contract("r").position == 14


def test_reviews_and_refused_resumes_take_a_run_nowhere(ledger: Ledger) -> None:
    imported(ledger, *TALK)
    ledger.run("r").sign_review("reviewed", by="human:kim")
    held = ResumeRefused(reasons=(), verdict=Verdict.RECONCILE)
    ledger.import_events("r", [held], expected=14)
    assert imported(ledger, *OPEN).verdict == "grown"
    assert ledger.contract("r").status == "held"


def test_a_run_of_another_tenant_is_another_run(tmp_path: Path) -> None:
    keys = set()
    for tenant in ("one", "two"):
        with open_ledger(tmp_path / "ledger.db", tenant=tenant) as ledger:
            assert imported(ledger, *TALK).verdict == "added"
            keys |= {event.key for event in events(ledger, "r") if isinstance(event, EffectIntended)}
    assert len(keys) == 2


# --- sources that move -------------------------------------------------------------------------


def first_id() -> str:
    return read_document(POLICY).constraints[0].id


def test_what_a_source_withdrew_is_accepted_as_claimed(ledger: Ledger) -> None:
    imported(ledger, *TALK)
    ledger.source(SOURCE).withdraw(first_id(), reason="replaced", by="human:kim")
    assert imported(ledger, *TALK, id="later").verdict == "added"
    assert [c.published for c in ledger.contract("later").constraints] == [False, True]
    assert {c.source_position for c in ledger.contract("later").constraints} == {3}
    assert len(list(ledger.log_source(SOURCE))) == 3
    assert imported(ledger, *TALK, id="later").verdict == "unchanged"


def test_a_withdrawal_between_reading_and_writing_is_seen(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported(ledger, *TALK, id="first")
    genuine = ledger.import_events
    rivals = [lambda: ledger.source(SOURCE).withdraw(first_id(), reason="replaced", by="human:kim")]

    def overtaken(*args: Any, **fields: Any) -> Any:
        while rivals:
            rivals.pop()()
        return genuine(*args, **fields)

    monkeypatch.setattr(ledger, "import_events", overtaken)
    assert imported(ledger, *TALK).verdict == "added"
    assert [c.published for c in ledger.contract("r").constraints] == [False, True]


def test_a_source_that_others_own_publishes_nothing_for_an_import(ledger: Ledger) -> None:
    ledger.source(SOURCE).open(owners=["human:kim"])
    report = import_transcripts(ledger, [line("r", TALK)])
    assert (report.sources, report.added) == (0, 1)
    assert [c.published for c in ledger.contract("r").constraints] == [False, False]
    assert ledger.source(SOURCE).state.revision is None


def test_what_others_published_in_a_documents_name_is_left_as_it_is(ledger: Ledger) -> None:
    published = read_document(POLICY).constraints[:1]
    ledger.source(SOURCE).publish("by hand", published)
    assert import_transcripts(ledger, [line("r", TALK), line("q", [system(), user("go")])]).sources == 0
    assert [c.published for c in ledger.contract("r").constraints] == [True, False]
    assert ledger.source(SOURCE).state.revision == "by hand"
    ledger.source(SOURCE).publish("all of it", read_document(POLICY).constraints)
    assert import_transcripts(ledger, [line("s", TALK)]).sources == 0
    assert [c.published for c in ledger.contract("s").constraints] == [True, True]
    assert ledger.source(SOURCE).state.revision == "all of it"


# --- races and cuts ----------------------------------------------------------------------------


def test_who_is_overtaken_compares_again_and_doubles_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "CHUNK_EVENTS", 2)
    genuine = ledger.import_events
    overtake = True

    def overtaken(*args: Any, **fields: Any) -> Any:
        nonlocal overtake
        overtake = not overtake
        if not overtake:
            genuine(*args, **fields)  # somebody else imports the same
        return genuine(*args, **fields)

    monkeypatch.setattr(ledger, "import_events", overtaken)
    assert imported(ledger, *OPEN).verdict in ("grown", "unchanged")
    monkeypatch.setattr(ledger, "import_events", genuine)
    assert imported(ledger, *OPEN, id="alone").verdict == "added"
    told = [event for event in events(ledger, "r") if not isinstance(event, EffectIntended)]
    alone = [event for event in events(ledger, "alone") if not isinstance(event, EffectIntended)]
    assert [event.name for event in told] == [event.name for event in alone]
    assert imported(ledger, *OPEN).verdict == "unchanged"


def test_races_lost_without_end_are_told(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def always_late(*args: Any, **fields: Any) -> Any:
        raise PositionConflict("late", run="r", expected=0, actual=1)

    monkeypatch.setattr(ledger, "import_events", always_late)
    with pytest.raises(PositionConflict):
        imported(ledger, *TALK)


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), ChainBroken("bad", run="r", position=1)])
def test_trouble_with_the_store_is_no_fault_of_a_transcript(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, error: LedgerError
) -> None:
    def fails(*args: Any, **fields: Any) -> Any:
        raise error

    monkeypatch.setattr(ledger, "import_events", fails)
    with pytest.raises(type(error)):
        imported(ledger, *TALK)


@pytest.mark.parametrize("chunk", [1, 2, 3, 5])
def test_an_import_cut_short_at_any_append_is_completed_by_the_next(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(importing, "CHUNK_EVENTS", chunk)
    imported(ledger, *OPEN, id="whole")
    genuine = ledger.import_events
    appends = sum(event.name == "run.suspended" for event in events(ledger, "whole"))
    assert appends >= 4
    for cut in range(appends):
        left = cut

        def dies(*args: Any, **fields: Any) -> Any:
            nonlocal left
            if left == 0:
                raise StoreUnavailable("killed")
            left -= 1
            return genuine(*args, **fields)

        monkeypatch.setattr(ledger, "import_events", dies)
        with pytest.raises(StoreUnavailable):
            imported(ledger, *OPEN, id=f"cut-{cut}")
        monkeypatch.setattr(ledger, "import_events", genuine)
        if cut:
            assert ledger.contract(f"cut-{cut}").status == "suspended"
        assert imported(ledger, *OPEN, id=f"cut-{cut}").verdict == ("grown" if cut else "added")
        assert names(ledger, f"cut-{cut}") == names(ledger, "whole")


def test_the_size_of_appends_changes_no_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    contracts = []
    for most, most_bytes in ((1, 10**6), (10**6, 1), (4, 700), (10**6, 10**6)):
        monkeypatch.setattr(importing, "CHUNK_EVENTS", most)
        monkeypatch.setattr(importing, "CHUNK_BYTES", most_bytes)
        with open_ledger(":memory:") as ledger:
            imported(ledger, *OPEN)
            contracts.append(meaning(ledger.contract("r")))
    assert contracts == [contracts[-1]] * 4


# --- what the report and the progress say --------------------------------------------------------


def test_a_broken_line_is_reported_and_the_rest_goes_in(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "talks.jsonl"
    lines = [
        line("a", TALK),
        '{"id": "half", "messages": [{"role"',
        line("no-goal", [system()]),
        line("", TALK),
        line("$mine", TALK),
        line("a\nb", TALK),
        line("odd", [user("go"), answers("x")]),
        line("c", TALK),
    ]
    path.write_text("\n".join(lines))
    report = import_transcripts(ledger, path, tools=TOOLS)
    assert report.counts == {"added": 2, "grown": 0, "unchanged": 0, "refused": 0, "broken": 6}
    broken = [row for row in report.rows if row.verdict == "broken"]
    assert [(row.line, row.run, row.message, row.code) for row in broken] == [
        (2, None, None, "invalid_input"),
        (3, "no-goal", None, "invalid_input"),
        (4, None, None, "invalid_input"),
        (5, None, None, "invalid_input"),
        (6, None, None, "invalid_input"),
        (7, "odd", 2, "invalid_input"),
    ]
    assert all(row.problem for row in broken)
    assert {head.stream for head in ledger.store.heads("default")} == {"a", "c", f"$source:{SOURCE}"}


def test_a_broken_transcript_leaves_no_run_behind(ledger: Ledger) -> None:
    assert imported(ledger, *TALK, answers("nobody asked")).verdict == "broken"
    with pytest.raises(RunNotFound):
        ledger.contract("r")
    assert ledger.sources() == {}


def test_the_report_counts_what_happened(ledger: Ledger) -> None:
    imported(ledger, *TALK, id="same")
    imported(ledger, *TALK, id="more")
    imported(ledger, *TALK, id="other")
    other = [system(), user("Else")]
    lines = [line("same", TALK), line("more", OPEN), line("other", other), "{", line("new", TALK)]
    report = import_transcripts(ledger, lines, tools=TOOLS)
    assert (report.added, report.grown, report.unchanged, report.refused, report.broken) == (1, 1, 1, 1, 1)
    assert [row.line for row in report.rows] == [1, 2, 3, 4, 5]
    assert report.events == sum(row.events for row in report.rows) == 13 + 6
    with pytest.raises(FrozenInstanceError):
        report.sources = 3  # type: ignore[misc]


def test_progress_rises_to_the_size_of_the_file(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "talks.jsonl"
    path.write_text("\n".join([line("a", TALK), "broken", line("b", OPEN), line("c", [system()])]))
    seen: list[tuple[int, int]] = []
    import_transcripts(ledger, path, tools=TOOLS, progress=lambda done, total: seen.append((done, total)))
    size = path.stat().st_size
    assert {total for _, total in seen} == {size}
    done = [done for done, _ in seen]
    assert done == sorted(done)
    assert done[-1] == size
    assert len(set(done)) > 4


def test_progress_of_lines_has_no_total_until_the_end(ledger: Ledger) -> None:
    seen: list[tuple[int, int]] = []
    import_transcripts(ledger, [line("a", TALK)], progress=lambda done, total: seen.append((done, total)))
    size = len(line("a", TALK)) + 1
    assert seen[-1] == (size, size)
    assert {total for _, total in seen[:-1]} == {0}


def test_an_empty_file_is_a_report_of_nothing(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text("")
    assert import_transcripts(ledger, path).rows == ()


def test_a_file_or_tools_that_cannot_be_read_are_told_before_anything_is_written(
    ledger: Ledger, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput):
        import_transcripts(ledger, tmp_path / "none.jsonl")
    path = tmp_path / "talks.jsonl"
    path.write_text(line("a", TALK))
    with pytest.raises(InvalidInput):
        import_transcripts(ledger, path, tools=tmp_path / "none.json")
    assert ledger.store.end() == 0


def test_a_run_without_an_id_is_named_after_its_file_and_place(ledger: Ledger, tmp_path: Path) -> None:
    array = tmp_path / "talks.v2.json"
    array.write_text(json.dumps([{"messages": TALK}, {"messages": OPEN}], indent=1))
    lines = tmp_path / "talks.v2.jsonl"
    lines.write_text("\n\n" + line(None, TALK))
    assert [row.run for row in import_transcripts(ledger, array).rows] == ["talks.v2-1", "talks.v2-2"]
    assert [row.run for row in import_transcripts(ledger, lines).rows] == ["talks.v2-3"]
    assert [row.run for row in import_transcripts(ledger, [line(None, TALK)]).rows] == ["lines-1"]


# --- hostile contents ----------------------------------------------------------------------------

HOSTILE = [
    "'; DROP TABLE events;--",
    "../../etc/passwd",
    " a ",
    "\u202eright to left",
    "\U0001f680",
    "null",
    "%s{0}\\",
    "\ufeffbom",
    "é" * 200,
]


@pytest.mark.parametrize("id", HOSTILE)
def test_ids_are_kept_byte_for_byte(ledger: Ledger, id: str) -> None:
    assert imported(ledger, *TALK, id=id).verdict == "added"
    assert imported(ledger, *TALK, id=id).verdict == "unchanged"
    assert ledger.contract(id).run == id


@pytest.mark.parametrize("text", ["\x00", "\x1b[2J\x07 bell", "\u2028 \x85 \x0b", "</system>", "\U0010ffff"])
def test_contents_are_kept_character_for_character(ledger: Ledger, text: str) -> None:
    talk = [system(f"# {text}\n- rule {text}"), user(f"go {text}"), calls("pay", {text: text}), answers(text)]
    assert imported(ledger, *talk).verdict == "added"
    assert imported(ledger, *talk).verdict == "unchanged"
    assert [content for _, content in ledger.run("r").load().messages] == talk
    assert ledger.contract("r").goal.text == f"go {text}"


def test_problems_can_be_shown_on_a_terminal(ledger: Ledger) -> None:
    bad = "\x1b[2J\ud800\u202e\n"
    imported(ledger, user("go"), user("x"))
    rows = [
        imported(ledger, user("go"), user("\x1b[2J\u202e\n" + "x" * 5_000)),
        imported(ledger, user("go"), {"role": bad, bad: bad}),
        imported(ledger, user("go"), {"role": "user", "n": {"\x1b\n": [float("inf")]}}),
        imported(ledger, user("go"), user("x"), id=bad),
    ]
    for row in rows:
        assert row.problem is not None
        assert row.problem.isprintable()
        assert len(row.problem) < 2_000


def test_a_huge_message_is_stored_whole(ledger: Ledger) -> None:
    huge = "0123456789abcdef" * 500_000
    talk = [system(), user(huge), calls("pay"), answers(huge)]
    assert imported(ledger, *talk).verdict == "added"
    assert [content for _, content in ledger.run("r").load().messages] == talk
    assert ledger.contract("r").goal.text.endswith("message 2 holds all of it]")
    assert imported(ledger, *talk).verdict == "unchanged"
    assert imported(ledger, *talk, user("ok")).verdict == "grown"


def test_a_file_name_that_is_no_text_is_labelled_readably(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.jsonl")
    try:
        path.write_text(line("r", TALK) + "\n" + line(None, TALK))
    except OSError:
        pytest.skip("this file system keeps only names that are text")
    with open_ledger(":memory:") as ledger:
        rows = import_transcripts(ledger, path).rows
        assert [row.verdict for row in rows] == ["added", "broken"]
        assert ledger.contract("r").labels == {"imported-from": "caf\\xe9.jsonl"}


def test_every_event_of_an_import_says_that_nobody_witnessed_it(ledger: Ledger) -> None:
    imported(ledger, *OPEN)
    for record in ledger.log("r"):
        event = record.event
        assert getattr(event, "witnessed", False) is False
        assert getattr(event, "observed_at", None) is None
        assert getattr(event, "occurred_at", None) is None
        assert getattr(event, "asserted_at", None) is None
    assert isinstance(events(ledger, "r")[0], RunOpened)
    assert isinstance(events(ledger, "r")[-1], RunSuspended)
    assert sum(isinstance(event, ConstraintAccepted) for event in events(ledger, "r")) == 2
