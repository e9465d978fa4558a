"""Asking the gate: may this run go on? What it decides is recorded where it was judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ledger.application.checking import Checked, check_every_of
from ledger.application.kinds import RUN, load_contract
from ledger.application.own_stream import refused_for
from ledger.application.refusals import refusal_error
from ledger.application.shared import Shared
from ledger.application.statements import Asking, Stated
from ledger.canonical import invalid, load_text
from ledger.commands import ResumeRun
from ledger.errors import LedgerError
from ledger.events import MessageRecorded, Reason, ResumeRefused, RunResumed
from ledger.gate import IDLE_SECONDS, LIVE_SECONDS, Judgement, judgement
from ledger.gate.reasons import reason
from ledger.record import Record
from ledger.run.claims import sources_of
from ledger.run.contract import Contract
from ledger.run.decision import Given, Refusal, acting, is_agent, not_for_agents, run_is_closed
from ledger.run.prompt import render
from ledger.run.sources import SourceState
from ledger.values import Actor, Verdict

H = TypeVar("H")


@dataclass(frozen=True, slots=True)
class Resumption(Generic[H]):
    """What the gate said, and the run where it may go on."""

    verdict: Verdict
    """`continue`, or the strictest that a reason calls for."""
    reasons: tuple[Reason, ...]
    """Every reason why not, the strictest first; each names the event that clears it."""
    run: H | None
    """A handle on the new incarnation; None where the run may not go on, and after a dry run."""
    position: int | None
    """Where the decision stands in the run; None: it was not recorded there."""
    contract: Contract | None
    """What it was judged on, or is in force now that the run goes on; None where the run cannot be read."""
    message: str | None = None
    """What the resume left in the history: the gap, the verdict, and what changed meanwhile."""
    prompt: str | None = None
    """What the resumed agent has to be told before anything else; RunResumed records its digest."""
    checked: tuple[Checked, ...] = ()
    """The sources that were read outside for it, and what came of that."""

    def __bool__(self) -> bool:
        """Tell whether the run may go on."""
        return self.verdict is Verdict.CONTINUE

    def __repr__(self) -> str:
        kinds = ", ".join(one.kind for one in self.reasons)
        return f"<{type(self).__name__} {self.verdict.value}{f': {kinds}' if kinds else ''}>"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long silence means what."""

    idle_seconds: int | None
    live_seconds: int

    def __post_init__(self) -> None:
        for name, least in (("idle_seconds", 1), ("live_seconds", 0)):
            given = getattr(self, name)
            if given is None and name == "idle_seconds":
                continue
            if type(given) is not int or given < least:
                raise invalid(name, f"give whole seconds from {least} on, not {given!r:.50}")


def asking(
    shared: Shared, contract: Contract, command: ResumeRun, patience: Patience, actor: Actor
) -> Asking:
    """Put together what the gate is asked beside the contract.

    Raises:
        NotForAgents: an agent would make the gate milder than it is.
    """
    _check_milder(patience, actor)
    every = check_every_of(shared, contract)
    return Asking(patience.idle_seconds, patience.live_seconds, every, command.runtime, command.take_over)


def _check_milder(patience: Patience, actor: Actor) -> None:
    """Refuse an agent less patience with others, or more with silence, than there is without saying so.

    Who counts as gone after no time takes runs over, and that is for people and services.
    """
    if not is_agent(actor):
        return
    milder = None
    if patience.live_seconds < LIVE_SECONDS:
        milder = f"live_seconds below {LIVE_SECONDS}"
    if patience.idle_seconds is None or patience.idle_seconds > IDLE_SECONDS:
        milder = f"idle_seconds above {IDLE_SECONDS:,}"
    if milder is not None:
        said = f"{milder} is for people and services, not for {acting(actor)}"
        raise refusal_error(Refusal("not_for_agents", said, evidence={"actor": actor.id}))


def dry(shared: Shared, contract: Contract, actor: Actor, asked: Asking) -> Judgement:
    """Ask the gate without recording what it says, on the sources as they stand in the store.

    Raises:
        RunIsClosed: the run has ended.
        NotForAgents: an agent would take over.
    """
    edge = shared.edge
    now = edge.now()
    refusal = not_for_agents(ResumeRun(take_over=asked.take_over), Given(actor, now, contract.run))
    if refusal is None and contract.closed is not None:
        refusal = run_is_closed(contract)
    if refusal is not None:
        raise refusal_error(refusal)
    states: dict[str, SourceState] = {}
    for source in sources_of(contract):
        states[source] = shared.source_now(source)
    given = Given(actor, now, contract.run, lease_now=edge.lease_now(now), sources=states)
    assert RUN.judge is not None
    return RUN.judge(edge, contract, given, asked)


def superseded(contract: Contract) -> Judgement:
    """Say that somebody else let the run go on between the question and the answer."""
    alive = contract.alive
    what = f"{alive.by} let the run go on a moment before, as incarnation {contract.incarnation}"
    return judgement([reason("still_running", what, position=alive.position, since=alive.at, who=alive.by)])


def unreadable(run: str, error: LedgerError) -> Resumption[H]:
    """Say that the run cannot be read."""
    _, why = refused_for(run, error)
    return Resumption(Verdict.REFUSE, (why,), None, None, None)


def as_of(shared: Shared, contract: Contract, stated: Stated) -> Contract:
    """Return the contract as it was right after a decision was recorded.

    Others may have gone on from it since, also through the same stream: a handle on what is in force now
    would be one on their incarnation.

    Args:
        shared: of the ledger.
        contract: as last seen.
        stated: what the decision came to; where it recorded nothing, the contract is returned as it is.
    """
    if not stated.records or contract.position == stated.position:
        return contract
    return load_contract(shared.edge, contract.run, upto=stated.position).state or contract


def told_of(contract: Contract, resumed: Record) -> str:
    """Render the contract as it was right after the run went on: what its digest in the record is of."""
    return render(contract.with_fields({"position": resumed.position}), resumed.at)


def told(contract: Contract, stated: Stated, asked: Asking, checked: tuple[Checked, ...]) -> Resumption[H]:
    """Put together what a recorded decision comes to, but for the handle.

    `contract` is the one after it.
    """
    events = [record.event for record in stated.records]
    resumed = next((record for record in stated.records if isinstance(record.event, RunResumed)), None)
    if resumed is not None:
        message = next((event for event in events if isinstance(event, MessageRecorded)), None)
        return Resumption(
            Verdict.CONTINUE,
            (),
            None,
            resumed.position,
            contract,
            message=None if message is None else str(load_text(message.content.json_text or '""')),
            prompt=told_of(contract, resumed),
            checked=checked,
        )
    judged = asked.judged
    refused = next((event for event in events if isinstance(event, ResumeRefused)), None)
    if judged is None:  # an earlier try had stored it, and was not heard
        held = refused if refused is not None else contract.held
        assert held is not None
        judged = Judgement(held.reasons, held.verdict)
    position = None if judged.is_live else stated.position
    return Resumption(judged.verdict, judged.reasons, None, position, contract, checked=checked)
