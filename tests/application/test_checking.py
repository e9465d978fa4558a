"""Readers: what a source says outside is published, and noted by the run that relies on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ledger import Actor, Ledger, Published, Run, Source, Verdict
from ledger.adapters.sources import file_reader
from ledger.application.checking import Checked, check_every_of
from ledger.application.edge import local_actor
from ledger.application.ledger import edge_of, shared_of
from ledger.application.readers import Answer, Reading
from ledger.errors import ContractChanged, InvalidInput, RunNotFound, StoreUnavailable
from ledger.events import ObservationRecorded, SourceRevised
from ledger.run.checks import last_check
from ledger.run.keys import check_key
from ledger.secrets import Secrets
from tests.application.conftest import OpenLedger, SetClock

POLICY = "policy:refunds"


class Outside:
    """What a source says outside, as a test sets it."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self.answer: Answer | Exception = answers[0] if answers else None
        self.asked: list[str] = []

    def __call__(self, source: str) -> Answer:
        self.asked.append(source)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def one(found: list[Checked]) -> Checked:
    assert len(found) == 1
    return found[0]


@pytest.fixture
def outside(ledger: Ledger) -> Outside:
    outside = Outside(Reading("4", {"limit": "At most 100 EUR", "ask": "Ask above 50 EUR"}))
    ledger.sources.register("policy", outside, check_every=60)
    return outside


@pytest.fixture
def run(ledger: Ledger, outside: Outside) -> Run:
    """Return a run that accepted one of them, with nothing noted yet."""
    assert one(ledger.sources.check(POLICY)).changed
    run = ledger.open_run("r", goal="Refund")
    run.accept("limit", "At most 100 EUR", source=Source("policy", "refunds"), asserted_by="human:kim")
    outside.asked.clear()
    return run


def items(ledger: Ledger) -> dict[str, str]:
    return {item.id: item.text for item in ledger.source(POLICY).state.items}


# --- what is published -----------------------------------------------------------------------------


def test_what_a_source_says_outside_is_published_once(ledger: Ledger, outside: Outside) -> None:
    first = one(ledger.sources.check(POLICY))
    assert (first.source, first.ok, first.changed) == (POLICY, True, True)
    state = ledger.source(POLICY).state
    assert (state.revision, items(ledger)) == ("4", {"limit": "At most 100 EUR", "ask": "Ask above 50 EUR"})
    again = one(ledger.sources.check(POLICY))
    assert (again.ok, again.changed) == (True, False)
    assert ledger.source(POLICY).state == state
    assert outside.asked == [POLICY, POLICY]


def test_another_revision_rewords_adds_and_withdraws_what_it_leaves_out(
    ledger: Ledger, outside: Outside
) -> None:
    ledger.sources.check(POLICY)
    outside.answer = Reading(
        "5", [Published(id="limit", text="At most 50 EUR"), Published(id="log", text="Log")]
    )
    assert one(ledger.sources.check(POLICY)).changed
    assert items(ledger) == {"limit": "At most 50 EUR", "log": "Log"}
    (gone,) = ledger.source(POLICY).state.withdrawn
    assert (gone.id, gone.by, gone.reason) == ("ask", "service:tests", "not in revision 5")


def test_what_the_outside_withdrew_by_name_is_told_with_who_and_why(ledger: Ledger, outside: Outside) -> None:
    ledger.sources.check(POLICY)
    outside.answer = Reading("4", {"ask": "Ask above 50 EUR"}, {"limit": ("human:kim", "unlawful")})
    for _ in range(2):
        ledger.sources.check(POLICY)
    state = ledger.source(POLICY).state
    assert [(gone.id, gone.by, gone.reason) for gone in state.withdrawn] == [
        ("limit", "human:kim", "unlawful")
    ]
    assert (state.revision, state.position, len(state.items)) == ("4", 3, 1)


def test_a_withdrawal_of_what_was_never_published_is_no_news(ledger: Ledger, outside: Outside) -> None:
    outside.answer = Reading("4", {"ask": "Ask"}, {"limit": ("human:kim", "unlawful")})
    assert one(ledger.sources.check(POLICY)).ok
    assert ledger.source(POLICY).state.withdrawn == ()


def test_what_was_withdrawn_here_by_name_stays_so_whatever_the_outside_says(
    ledger: Ledger, outside: Outside
) -> None:
    ledger.sources.check(POLICY)
    ledger.source(POLICY).withdraw("limit", reason="unlawful", by="human:kim")
    for revision in ("4", "5"):
        outside.answer = Reading(revision, {"limit": "At most 100 EUR", "ask": "Ask above 50 EUR"})
        checked = one(ledger.sources.check(POLICY))
        assert checked.ok
        assert checked.said.endswith("withdrawn here by name, and not brought back: limit")
        assert items(ledger) == {"ask": "Ask above 50 EUR"}
    assert ledger.source(POLICY).state.revision == "5"


def test_what_was_only_left_out_comes_back(ledger: Ledger, outside: Outside) -> None:
    everything = outside.answer
    assert isinstance(everything, Reading)
    ledger.sources.check(POLICY)
    outside.answer = Reading("5", {"ask": "Ask above 50 EUR"})
    ledger.sources.check(POLICY)
    outside.answer = Reading("6", everything.published)
    ledger.sources.check(POLICY)
    assert set(items(ledger)) == {"limit", "ask"}


def test_a_reader_may_need_what_the_source_says(ledger: Ledger, outside: Outside) -> None:
    ledger.sources.check(POLICY)
    outside.answer = lambda state: Reading(f"after {state.revision}", {state.items[0].id: "Other words"})
    assert one(ledger.sources.check(POLICY)).ok
    state = ledger.source(POLICY).state
    assert (state.revision, items(ledger)) == ("after 4", {"limit": "Other words"})


# --- what holds a secret -----------------------------------------------------------------------------

HELD = "Connect through postgresql://app:hunter2@db/x"


def test_what_is_withdrawn_beside_words_with_a_secret_is_withdrawn(
    ledger: Ledger, outside: Outside, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    outside.answer = Reading("5", {"ask": HELD, "new": "Be kind", "other": HELD})
    checked = one(ledger.sources.check(run=run))
    assert (checked.ok, checked.changed, checked.report) == (False, True, None)
    assert "'ask' (constraints.ask.text holds a secret: url-password)" in checked.said
    assert "'other'" in checked.said
    assert checked.said in caplog.text
    assert "hunter2" not in caplog.text
    state = ledger.source(POLICY).state
    # Of what was said before it stands what was said before.
    assert (state.revision, items(ledger)) == (
        "5, but for ask, other",
        {"ask": "Ask above 50 EUR", "new": "Be kind"},
    )
    assert [gone.id for gone in state.withdrawn] == ["limit"]
    assert not one(ledger.sources.check(run=run)).changed
    assert ledger.source(POLICY).state == state
    run.suspend(reason="night")
    said = ledger.resume("r")
    assert said.verdict is Verdict.RESTART
    assert {one.kind for one in said.reasons} >= {
        "constraint_withdrawn",
        "source_revised",
        "source_unchecked",
    }


def test_no_run_goes_on_by_words_whose_successors_hold_a_secret(
    ledger: Ledger, outside: Outside, run: Run, clock: SetClock
) -> None:
    ledger.sources.check(run=run)
    outside.answer = Reading("5", {"limit": HELD, "ask": "Ask above 50 EUR"})
    clock.tick(60)
    run.suspend(reason="night")
    said = ledger.resume("r")
    assert said.verdict is Verdict.REPLAN
    assert {one.kind for one in said.reasons} == {"source_revised", "source_unchecked"}
    ledger.run("r", actor=Actor("human:kim")).acknowledge(Source("policy", "refunds"), by="human:kim")
    assert [one.kind for one in ledger.resume("r").reasons] == ["source_unchecked"]
    outside.answer = Reading("5", {"limit": "At most 100 EUR", "ask": "Ask above 50 EUR"})
    assert one(ledger.sources.check(run=run)).ok
    assert ledger.source(POLICY).state.revision == "5"


def test_words_with_a_secret_that_a_source_published_are_no_news(
    ledger: Ledger, outside: Outside, run: Run
) -> None:
    lax = Ledger(edge_of(ledger), Secrets(shapes=()))
    lax.source(POLICY).publish("5", {"ask": HELD, "limit": "At most 100 EUR"})
    outside.answer = Reading("6", {"ask": HELD, "limit": "At most 50 EUR"})
    assert one(ledger.sources.check(run=run)).ok
    assert (ledger.source(POLICY).state.revision, items(ledger)["limit"]) == ("6", "At most 50 EUR")


def test_what_says_nothing_else_than_words_with_a_secret_still_withdraws(
    ledger: Ledger, outside: Outside, run: Run
) -> None:
    outside.answer = Reading("5", {"other": HELD})
    assert not one(ledger.sources.check(run=run)).ok
    assert {gone.id for gone in ledger.source(POLICY).state.withdrawn} == {"limit", "ask"}
    outside.answer = Reading("5", {"other": HELD, "more": HELD}, {"limit": ("human:kim", "unlawful")})
    assert not one(ledger.sources.check(run=run)).ok
    assert ledger.source(POLICY).state.revision == "5, but for other, more"


def test_a_revision_that_is_read_in_part_has_a_name_whatever_its_length(
    ledger: Ledger, outside: Outside
) -> None:
    for revision in ("a" * 199 + "1", "a" * 199 + "2"):
        outside.answer = Reading(revision, {f"{'i' * 190}{n}": HELD for n in range(3)} | {"x": revision})
        checked = one(ledger.sources.check(POLICY))
        assert (checked.ok, checked.changed) == (False, True)
        assert items(ledger) == {"x": revision}


# --- what changes nothing ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "it gave no answer"),
        (OSError("no route"), "OSError: no route"),
        (ValueError("token sk_live_abcdefghijklmnopqrstuvwx"), "ValueError: token [redacted"),
        ("4", "its reader answered str, no Reading"),
        (lambda state: None, "it gave no answer"),
        (Reading("5", {}), "says nothing any more"),
        (Reading("4", {"limit": "At most 900 EUR"}), "id_in_use: "),
        (lambda state: Reading("5", {"": "x"}), "InvalidInput: id: "),
    ],
)
def test_a_reader_that_gives_no_good_answer_changes_nothing_and_is_told(
    ledger: Ledger, outside: Outside, run: Run, caplog: pytest.LogCaptureFixture, answer: Answer, said: str
) -> None:
    before, position = ledger.source(POLICY).state, run.contract.position
    outside.answer = answer
    checked = one(ledger.sources.check(run=run))
    assert (checked.ok, checked.changed, checked.report) == (False, False, None)
    assert said in checked.said
    assert said in caplog.text
    assert f"source {POLICY} was not checked" in caplog.text
    assert (ledger.source(POLICY).state, run.contract.position) == (before, position)


def test_one_that_cannot_be_read_keeps_no_other_back(ledger: Ledger, outside: Outside, run: Run) -> None:
    ledger.sources.register("law", Outside(OSError("down")))
    run.accept("law", "Obey", source=Source("law", "all"), asserted_by="human:kim")
    assert [(found.source, found.ok) for found in ledger.sources.check(run=run)] == [
        ("law:all", False),
        (POLICY, True),
    ]


def test_a_store_that_fails_is_an_error_of_the_caller(
    open_on: OpenLedger, wrapped: object, outside: Outside
) -> None:
    ledger = open_on(store=wrapped)
    ledger.sources.register("policy", outside)

    def fail(append: object) -> None:
        raise StoreUnavailable("down")

    wrapped.before = fail  # type: ignore[attr-defined]
    with pytest.raises(StoreUnavailable):
        ledger.sources.check(POLICY)


# --- who is said to have published -------------------------------------------------------------------


def test_an_owner_stands_behind_what_a_reader_says(ledger: Ledger, outside: Outside) -> None:
    ledger.source(POLICY).open(owners=["human:kim"])
    barred = one(ledger.sources.check(POLICY))
    assert barred.said.startswith("authority_exceeded: ")
    ledger.sources.register("policy", outside, by="human:kim")
    assert one(ledger.sources.check(POLICY)).changed
    *_, record = ledger.log_source(POLICY)
    assert isinstance(record.event, SourceRevised)
    assert (record.event.by, record.actor.id) == ("human:kim", "service:tests")


def test_in_an_agents_ledger_the_program_publishes(ledger: Ledger, outside: Outside) -> None:
    edge = edge_of(ledger)
    theirs = Ledger(type(edge)(edge.store, edge.tenant, Actor("agent:refunds"), edge.clock))
    theirs.sources.register("policy", outside)
    assert one(theirs.sources.check(POLICY)).changed
    *_, record = ledger.log_source(POLICY)
    assert record.actor == local_actor()


# --- what a run notes --------------------------------------------------------------------------------


def test_a_run_notes_what_was_read_and_asks_again_only_when_that_is_stale(
    ledger: Ledger, run: Run, outside: Outside, clock: SetClock
) -> None:
    assert one(ledger.sources.check(run=run)).ok
    seen = last_check(run.contract, POLICY)
    assert seen is not None
    assert (seen.key, seen.tool, seen.fresh_for) == ("source:policy:refunds", "source.policy", 60)
    assert seen.observed_at == clock.now
    assert seen.value.json_text == '{"position":2,"revision":"4"}'
    clock.tick(59)
    assert ledger.sources.check(run="r") == []
    assert len(ledger.sources.check(run="r", force=True)) == 1
    clock.tick(59)
    assert ledger.sources.check(run="r") == []
    clock.tick(1)
    assert len(ledger.sources.check(run="r")) == 1
    assert outside.asked == [POLICY] * 3


def test_after_a_clock_jumped_back_it_is_read_again(ledger: Ledger, run: Run, clock: SetClock) -> None:
    ledger.sources.check(run=run)
    clock.tick(-30)
    assert len(ledger.sources.check(run=run)) == 1


def test_a_check_that_must_not_be_relied_on_is_made_again(ledger: Ledger, run: Run) -> None:
    ledger.sources.check(run=run)
    run.invalidate(check_key(POLICY), reason="read from a copy")
    assert len(ledger.sources.check(run=run)) == 1


def test_without_check_every_it_is_read_each_time_and_never_stale(
    ledger: Ledger, run: Run, outside: Outside
) -> None:
    assert check_every_of(shared_of(ledger), run.contract) == {POLICY: 60}
    ledger.sources.register("policy", outside)
    for _ in range(2):
        assert one(ledger.sources.check(run=run)).ok
    seen = last_check(run.contract, POLICY)
    assert seen is not None
    assert seen.stale_at is None
    assert check_every_of(shared_of(ledger), run.contract) == {}


def test_sources_without_a_reader_are_not_asked(ledger: Ledger, run: Run) -> None:
    run.accept("law", "Obey", source=Source("law", "all"), asserted_by="human:kim")
    run.accept("own", "Be kind", asserted_by="human:kim")
    assert [found.source for found in ledger.sources.check(run=run)] == [POLICY]
    assert check_every_of(shared_of(ledger), run.contract) == {POLICY: 60}
    assert one(ledger.sources.check("law:all")).said == "no reader is registered for its kind"


@pytest.mark.parametrize("end", [lambda run: run.suspend(reason="lunch"), lambda run: run.close("cancelled")])
def test_a_run_that_waits_or_has_ended_notes_it_too(
    ledger: Ledger, run: Run, end: Callable[[Run], object]
) -> None:
    end(run)
    assert one(ledger.sources.check(run=run)).ok
    assert last_check(run.contract, POLICY) is not None


def test_an_agent_may_ask_for_a_check(ledger: Ledger, run: Run) -> None:
    agent = ledger.run("r", actor=Actor("agent:refunds"))
    assert one(ledger.sources.check(run=agent)).ok
    *_, record = ledger.log("r")
    assert isinstance(record.event, ObservationRecorded)
    assert record.actor.id == "agent:refunds"


def test_the_longest_id_of_a_source_can_be_checked(ledger: Ledger, outside: Outside) -> None:
    kind, name = "k" * 50, "n" * 149
    ledger.sources.register(kind, outside)
    run = ledger.open_run("r", goal="Refund")
    run.accept("limit", "At most 100 EUR", source=Source(kind, name), asserted_by="human:kim")
    assert one(ledger.sources.check(run=run)).ok
    assert last_check(run.contract, f"{kind}:{name}") is not None


def test_a_live_run_learns_of_a_withdrawal_at_its_next_act(
    ledger: Ledger, run: Run, outside: Outside
) -> None:
    assert run.perform("refund", {"order": 17}, lambda order: order) == 17
    outside.answer = Reading("5", {"ask": "Ask above 50 EUR"})
    assert one(ledger.sources.check(POLICY)).changed
    with pytest.raises(ContractChanged) as refused:
        run.perform("refund", {"order": 18}, lambda order: order)
    assert refused.value.evidence["change"] == "withdrawn"


def test_two_who_check_at_once_publish_once(ledger: Ledger, open_on: OpenLedger, outside: Outside) -> None:
    reading = outside.answer
    assert isinstance(reading, Reading)
    theirs = open_on()

    def read(source: str) -> Answer:
        theirs.sources.register("policy", lambda source: reading)
        theirs.sources.check(source)
        return reading

    ledger.sources.register("policy", read)
    checked = one(ledger.sources.check(POLICY))
    assert checked.ok
    assert [record.name for record in ledger.log_source(POLICY)] == ["source.opened", "source.revised"]


# --- what is malformed -------------------------------------------------------------------------------


def test_either_a_source_or_a_run_is_named(ledger: Ledger, run: Run) -> None:
    for given in ({}, {"source": POLICY, "run": run}):
        with pytest.raises(InvalidInput, match="name a source, or a run"):
            ledger.sources.check(**given)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        ledger.sources.check("refunds")
    with pytest.raises(RunNotFound):
        ledger.sources.check(run="nobody")


async def _awaited(source: str) -> None:
    return None


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"kind": "No"}, "kind"),
        ({"read": "x"}, "read"),
        ({"read": _awaited}, "read"),
        ({"check_every": 0}, "check_every"),
        ({"check_every": 1.5}, "check_every"),
        ({"by": "kim"}, "by"),
        ({"by": "agent:refunds"}, "by"),
    ],
)
def test_a_malformed_reader_is_refused(ledger: Ledger, given: dict[str, object], path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        ledger.sources.register(**{"kind": "policy", "read": Outside(), **given})  # type: ignore[arg-type]
    assert refused.value.path == path


@pytest.mark.parametrize(
    "given",
    [
        {"constraints": "At most 100 EUR"},
        {"constraints": ["At most 100 EUR"]},
        {"constraints": [Published(id="a", text="A"), Published(id="a", text="B")]},
        {"constraints": {"a": "A"}, "withdrawn": {"a": ("human:kim", "old")}},
        {"constraints": {"a": ""}},
    ],
)
def test_a_malformed_reading_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        Reading("4", **given)  # type: ignore[arg-type]


# --- files -------------------------------------------------------------------------------------------


def test_a_file_in_a_repository_is_a_source(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "refunds.md").write_text("# Limits\n- At most 100 EUR\n- Ask above 50 EUR\n")
    ledger.sources.register("policy", file_reader(tmp_path / "{name}.md"))
    assert one(ledger.sources.check(POLICY)).changed
    before = items(ledger)
    (tmp_path / "refunds.md").write_text("# Limits\n- Ask above 50 EUR\n- At most 90 EUR\n")
    assert one(ledger.sources.check(POLICY)).changed
    after = items(ledger)
    assert after.keys() == before.keys(), "the reworded rule keeps its id"
    assert sorted(after.values()) == ["Ask above 50 EUR", "At most 90 EUR"]
    assert not one(ledger.sources.check(POLICY)).changed


@pytest.mark.parametrize("name", ["../refunds", "a/b", ".hidden", "a\\b", "nobody", "refunds"])
def test_what_is_no_file_of_rules_is_told(ledger: Ledger, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (tmp_path / "refunds.md").write_text("- Secret\n")
    (folder / "refunds.md").write_text("")
    ledger.sources.register("policy", file_reader(folder / "{name}.md"))
    checked = one(ledger.sources.check(f"policy:{name}"))
    assert not checked.ok
    assert ledger.sources() == {}


def test_a_path_without_a_place_for_the_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"put \{name\} where"):
        file_reader("policy.md")


def test_a_held_run_does_not_grow_with_each_question(ledger: Ledger, run: Run, outside: Outside) -> None:
    ledger.sources.register("policy", outside)
    ledger.source(POLICY).withdraw("limit", reason="replaced", by="human:kim")
    first, second = ledger.resume("r"), ledger.resume("r")
    assert [one.ok for one in (*first.checked, *second.checked)] == [True, True]
    stands_at = run.contract.position
    for _ in range(3):
        assert ledger.resume("r").verdict is Verdict.RESTART
    assert run.contract.position == stands_at
    outside.answer = Reading("5", {"ask": "Ask above 20 EUR"})
    assert ledger.resume("r").checked[0].changed
    names = [record.name for record in ledger.log("r", after=stands_at)]
    assert names == ["observation.recorded", "run.resume_refused"]  # another revision is another reason
