"""What bars a command before its own rule is asked, over all commands."""

from __future__ import annotations

import pytest

from ledger.commands import (
    COMMAND_CLASSES,
    AcceptConstraint,
    CloseRun,
    Command,
    CommitPlan,
    ForkRun,
    GrantAuthority,
    MoveCursor,
    OpenRun,
    ReconcileEffect,
    RecordMessage,
    RenewAuthority,
    ResumeRun,
    SignReview,
    SuspendRun,
    WithdrawConstraint,
    forbidden_to_agents,
)
from ledger.errors import EFFECT_ERRORS
from ledger.errors import RULES as REFUSED
from ledger.events import EVENT_CLASSES, ApprovalRequested
from ledger.run.contract import Contract
from ledger.run.decide import RULES, barred, may_refuse, may_yield
from ledger.run.decision import Admitted, Refusal
from ledger.run.sources import SOURCE_RULES
from ledger.testing import START, History, given, given_source
from ledger.values import Actor, Change, Ending, Step
from tests.run import examples as x

ON_RUNS = [kind for kind in COMMAND_CLASSES if kind.stream == "run" and kind is not OpenRun]
PERFORMED = [kind for kind in ON_RUNS if kind in RULES]
REQUESTS = [kind for kind in PERFORMED if not kind.report]
REPORTS = [kind for kind in PERFORMED if kind.report]
REMEDIES = [kind for kind in REQUESTS if kind.remedy]
BOUND = [kind for kind in REQUESTS if not kind.remedy]

STOPPED = {"suspended": x.SUSPENDED, "held": x.HELD, "closed": x.CLOSED}


def named(kinds: list[type[Command]]) -> list[object]:
    return [pytest.param(kind, id=kind.name) for kind in kinds]


def events_of(
    history: History[Contract | None], kind: type[Command], incarnation: int | None = None
) -> object:
    """Return the rule that refuses the example of a command, or what it yields, whatever names it there."""
    decision = history.when(x.example(kind), incarnation=incarnation).decision
    if isinstance(decision, Refusal):
        return decision.rule
    return tuple(
        event.with_fields({"id": "of its place"}) if isinstance(event, ApprovalRequested) else event
        for event in decision.events
    )


def test_there_is_one_example_of_every_command() -> None:
    assert [type(command) for command in x.COMMANDS] == list(COMMAND_CLASSES)


@pytest.mark.parametrize("kind", named(PERFORMED))
def test_every_example_is_admitted_where_something_of_every_kind_is_open(kind: type[Command]) -> None:
    decision = x.RICH.when(x.example(kind)).decision
    assert isinstance(decision, Admitted)
    assert bool(decision.events or decision.beside) == (decision.position is None)


@pytest.mark.parametrize("kind", named(ON_RUNS))
def test_a_run_that_was_never_opened_is_not_found(kind: type[Command]) -> None:
    given().when(x.example(kind)).then_refused("run_not_found", position=None)


@pytest.mark.parametrize("kind", named([kind for kind in ON_RUNS if kind not in RULES]))
def test_what_this_release_does_not_perform_is_refused_as_such(kind: type[Command]) -> None:
    x.RICH.when(x.example(kind)).then_refused("not_supported")


# --- agents ------------------------------------------------------------------------------------


def test_agents_may_not_use_exactly_these_commands() -> None:
    always = {kind.name for kind in COMMAND_CLASSES if kind.not_for_agents == {}}
    sometimes = {kind: dict(kind.not_for_agents) for kind in COMMAND_CLASSES if kind.not_for_agents}
    assert always == {
        "approval.answer",
        "authority.grant",
        "authority.narrow",
        "authority.renew",
        "constraint.withdraw",
        "obligation.transfer",
        "obligation.waive",
        "review.sign",
        "run.restart",
        "runtime.adopt",
        "source.open",
        "source.publish",
        "source.withdraw",
        "state.drop",
    }
    assert sometimes == {
        AcceptConstraint: {"change": Change.RELAXED},
        ReconcileEffect: {"method": "person"},
        RecordMessage: {"role": "ledger"},
        ResumeRun: {"take_over": True},
    }


FORBIDDEN = [*(command for command in x.COMMANDS if forbidden_to_agents(command)), *x.FOR_PEOPLE]


@pytest.mark.parametrize("command", [pytest.param(one, id=one.name) for one in FORBIDDEN])
def test_an_agent_is_refused_itself_and_behind_a_service(command: Command) -> None:
    history = given_source("policy:refunds") if command.stream == "source" else x.RICH
    relayed = Actor("service:api", on_behalf_of=("service:queue", "agent:refunds", "human:kim"))
    for actor in (Actor("agent:refunds", on_behalf_of=("human:kim",)), relayed):
        history.by(actor).when(command).then_refused("not_for_agents")


@pytest.mark.parametrize("command", [pytest.param(one, id=one.name) for one in FORBIDDEN])
def test_a_person_or_service_is_not_refused_for_being_one(command: Command) -> None:
    history = given_source("policy:refunds") if command.stream == "source" else x.RICH
    relayed = Actor("service:api", on_behalf_of=("human:kim", "agent:refunds"))
    for actor in (Actor("human:kim", on_behalf_of=("agent:refunds",)), Actor("service:api"), relayed):
        decision = history.by(actor).when(command).decision
        assert isinstance(decision, Admitted) or decision.rule != "not_for_agents"


def test_nobody_decides_in_the_name_of_an_agent_what_is_not_for_agents() -> None:
    history = given(x.opened())
    for command in (
        CloseRun(outcome=Ending.FAILED, by="agent:refunds"),
        WithdrawConstraint(id="limit-100", by="agent:refunds", reason="in the way"),
        GrantAuthority(id="g", granted_by="agent:refunds", principal="agent:refunds", scopes=("*",)),
    ):
        decision = history.by("service:api").when(command).decision
        refused = isinstance(decision, Refusal) and decision.rule == "not_for_agents"
        assert refused == (not isinstance(command, CloseRun))


@pytest.mark.parametrize("kind", named([kind for kind in COMMAND_CLASSES if kind.not_for_agents is None]))
def test_an_agent_may_use_every_other_command(kind: type[Command]) -> None:
    decision = x.RICH.by("agent:refunds").when(x.example(kind)).decision
    assert isinstance(decision, Admitted) or decision.rule in ("not_supported", "run_exists")


# --- stopped runs ------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["suspended", "held"])
@pytest.mark.parametrize("kind", named(BOUND))
def test_a_stopped_run_refuses_requests_and_says_since_when(kind: type[Command], state: str) -> None:
    stopped = x.RICH.also(STOPPED[state])
    if kind is SuspendRun and state == "suspended":
        stopped.when(x.example(kind)).then_stands_at(stopped.position)
    else:
        stopped.when(x.example(kind)).then_refused("run_is_held", position=stopped.position)


@pytest.mark.parametrize("state", ["suspended", "held"])
@pytest.mark.parametrize("kind", named(REMEDIES))
def test_a_stopped_run_admits_remedies_as_a_running_one_does(kind: type[Command], state: str) -> None:
    assert events_of(x.RICH.also(STOPPED[state]), kind) == events_of(x.RICH, kind)


@pytest.mark.parametrize("kind", named([kind for kind in REQUESTS if not kind.on_closed]))
def test_a_closed_run_refuses_every_request(kind: type[Command]) -> None:
    closed = x.RICH.also(x.CLOSED)
    closed.when(x.example(kind)).then_refused("run_is_closed", position=closed.position)


def test_a_closed_run_can_still_be_forked_to_look_at_it() -> None:
    closed = x.RICH.also(x.CLOSED)
    assert events_of(closed, ForkRun) == events_of(x.RICH, ForkRun) == ()
    assert closed.when(x.example(ForkRun)).after.other("run-2").contract.fork_of == "run-1"


@pytest.mark.parametrize("kind", named(REQUESTS))
def test_a_handle_of_an_older_incarnation_is_refused_every_request(kind: type[Command]) -> None:
    resumed = x.RICH.also(x.SUSPENDED, x.RESUMED)
    resumed.when(x.example(kind), incarnation=1).then_refused("superseded", position=resumed.position)
    assert events_of(resumed, kind, incarnation=2) == events_of(resumed, kind)


@pytest.mark.parametrize("state", ["suspended", "held", "closed"])
@pytest.mark.parametrize("incarnation", [None, 1, 2])
@pytest.mark.parametrize("kind", named(REPORTS))
def test_reports_are_admitted_whatever_the_state_and_whoever_brings_them(
    kind: type[Command], incarnation: int | None, state: str
) -> None:
    stopped = x.RICH.also(x.SUSPENDED, x.RESUMED, STOPPED[state])
    found = events_of(stopped, kind, incarnation)
    assert isinstance(found, tuple)
    assert [type(event) for event in found] == [type(event) for event in events_of(x.RICH, kind)]  # type: ignore[attr-defined]


def test_a_closed_run_is_closed_again_only_by_the_same_words() -> None:
    closed = given(x.opened()).when(CloseRun(outcome=Ending.FAILED, by="human:kim", result=x.ANSWER)).after
    closed.when(CloseRun(outcome=Ending.FAILED, by="human:kim", result=x.ANSWER)).then_stands_at(2)
    for other in (
        CloseRun(outcome=Ending.CANCELLED, by="human:kim", result=x.ANSWER),
        CloseRun(outcome=Ending.FAILED, by="human:lee", result=x.ANSWER),
        CloseRun(outcome=Ending.FAILED, by="human:kim", reason="late", result=x.ANSWER),
        CloseRun(outcome=Ending.FAILED, by="human:kim"),
    ):
        closed.when(other).then_refused("run_is_closed", position=2)


EVIDENCE: list[tuple[History[Contract | None], Command, int | None, dict[str, object]]] = [
    (given(), MoveCursor(node="a"), None, {"run": "run-1"}),
    (x.RICH.by("agent:a"), x.example(SignReview), None, {"command": "review.sign", "actor": "agent:a"}),
    (x.RICH, ForkRun(as_run="run-2", at=99), None, {"kind": "position", "id": "99"}),
    (x.RICH.also(x.SUSPENDED, x.RESUMED), MoveCursor(node="a"), 1, {"incarnation": 1, "present": 2}),
    (x.RICH.also(x.CLOSED), MoveCursor(node="a"), None, {"outcome": "failed"}),
    (x.RICH.also(x.HELD), MoveCursor(node="a"), None, {"verdict": "replan"}),
    (x.RICH.also(x.SUSPENDED), MoveCursor(node="a"), None, {"cause": "asked"}),
    (x.RICH, OpenRun(goal="else"), None, {"run": "run-1", "status": "open"}),
    (x.RICH, x.accept(text="else"), None, {"kind": "constraint", "id": "limit-100"}),
    (x.RICH, WithdrawConstraint(by="human:kim", id="a", reason="r"), None, {"kind": "constraint", "id": "a"}),
    (x.RICH, CommitPlan(steps=(Step(name="a"),)), None, {"kind": "plan"}),
    (
        x.RICH,
        RenewAuthority(by="human:kim", id="refunds", expires_at=START),
        None,
        {"kind": "grant", "id": "refunds"},
    ),
]


@pytest.mark.parametrize(("history", "command", "incarnation", "evidence"), EVIDENCE)
def test_a_refusal_carries_its_evidence_as_plain_values(
    history: History[Contract | None], command: Command, incarnation: int | None, evidence: dict[str, object]
) -> None:
    decision = history.when(command, incarnation=incarnation).decision
    assert isinstance(decision, Refusal)
    assert decision.evidence == evidence
    assert all(type(value) in (str, int) for value in decision.evidence.values())


# --- what is declared --------------------------------------------------------------------------


def test_every_command_is_performed_or_known_not_to_be() -> None:
    assert set(RULES) | set(SOURCE_RULES) <= set(COMMAND_CLASSES)
    assert not set(RULES) & set(SOURCE_RULES)
    assert all(kind.stream == "source" for kind in SOURCE_RULES)
    assert {kind for kind in COMMAND_CLASSES if kind.stream == "source"} == set(SOURCE_RULES)


@pytest.mark.parametrize("kind", named(list(COMMAND_CLASSES)))
def test_what_is_declared_exists(kind: type[Command]) -> None:
    assert set(may_yield(kind)) <= set(EVENT_CLASSES)
    assert set(may_refuse(kind)) <= {*REFUSED, *EFFECT_ERRORS, "run_not_found", "state_moved", "superseded"}


@pytest.mark.parametrize("kind", named(list(COMMAND_CLASSES)))
def test_a_command_that_is_not_for_agents_says_so(kind: type[Command]) -> None:
    ruling = RULES.get(kind) or SOURCE_RULES.get(kind)
    by_rule = ruling is not None and "not_for_agents" in ruling.refusals
    assert ("not_for_agents" in may_refuse(kind)) is (kind.not_for_agents is not None or by_rule)


def test_a_refusal_carries_a_message_for_people() -> None:
    decision = given().when(x.example(CloseRun)).decision
    assert isinstance(decision, Refusal)
    assert "run-1" in decision.message


def test_who_may_look_at_the_outside_is_who_may_act_there() -> None:
    opened = given(x.opened())
    assert barred(opened.contract, 1) is None
    for events, rule in (
        ([x.SUSPENDED], "run_is_held"),
        ([x.HELD], "run_is_held"),
        ([x.CLOSED], "run_is_closed"),
    ):
        refusal = barred(opened.also(*events).contract, 1)
        assert refusal is not None
        assert refusal.rule == rule
    fenced = barred(opened.contract.with_fields({"incarnation": 3}), 1)
    assert fenced is not None
    assert fenced.rule == "superseded"
