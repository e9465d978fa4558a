"""The two kinds of streams: runs, folded into contracts, and sources, folded into what they publish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from ledger.application.above import is_bound_above, read_above
from ledger.application.edge import Edge
from ledger.application.kind import NOWHERE, Beside, Found, Head, Kind, Prior
from ledger.application.looking import leases_of, look_up
from ledger.application.passed_on import read_beneath
from ledger.application.rows import chained, linked
from ledger.application.statements import Asking
from ledger.codec import line_digest, message_digest, observation_digest
from ledger.commands import (
    AcceptConstraint,
    AcknowledgeRevision,
    ClaimEffect,
    CloseRun,
    Command,
    DropStates,
    ForkRun,
    InvalidateObservation,
    NarrowAuthority,
    OpenChild,
    ReconcileEffect,
    RecordMessage,
    RecordObservation,
    RefuteAssumption,
    RestartRun,
    ResumeRun,
    RevokeAuthority,
    SaveState,
)
from ledger.gate import Judgement, Question, judge
from ledger.record import ZERO_HASH, Record, short_digest
from ledger.run import assumptions, observations, states
from ledger.run.claims import sources_of
from ledger.run.contract import Contract, by_id
from ledger.run.decide import TELLING, decide, told
from ledger.run.decision import Given, Refusal
from ledger.run.looking import is_wanted
from ledger.run.permission import Permission, permission
from ledger.run.saving import restore, save
from ledger.run.sources import PREFIX, SourceState, decide_source, evolve_source
from ledger.run.state import FOLD, evolve, replay
from ledger.stores.base import SnapshotRow


def load_contract(edge: Edge, run: str, *, upto: int | None = None) -> Found[Contract | None]:
    """Read the contract of a run, now or at an earlier position; None where there is no such run."""
    loaded = edge.store.load(edge.tenant, run, FOLD, upto=upto)
    saved = loaded.snapshot
    if saved is None:
        return Found(replay(linked(edge, loaded.tail, run, 0, ZERO_HASH)))
    contract = restore(saved.state)
    place = edge.tenant, run, saved.position, saved.hash.hex()
    if contract is None or (contract.tenant, contract.run, contract.position, contract.hash) != place:
        # A snapshot is never more than a shortcut: one that is not what was saved is as good as none.
        tail = edge.store.read(edge.tenant, run, upto=upto)
        return Found(replay(chained(edge, tail, run, 0, ZERO_HASH)))
    found = replay(linked(edge, loaded.tail, run, saved.position, saved.hash), contract)
    return Found(found, saved.position, len(saved.state))


def _run_head(contract: Contract | None) -> Head:
    if contract is None:
        return NOWHERE
    return Head(contract.position, bytes.fromhex(contract.hash), contract.at, contract.terms)


def _run_snapshot(contract: Contract | None) -> SnapshotRow:
    assert contract is not None
    return SnapshotRow(contract.position, bytes.fromhex(contract.hash), FOLD, save(contract))


def _run_prior(run: str, contract: Contract | None, command: Command) -> Prior | None:
    """Say what to look up where the contract cannot tell whether what a command speaks of is known."""
    if contract is None:
        return None
    look_up = _LOOKED_UP.get(type(command))
    return None if look_up is None else look_up(run, contract, command)


def _message(run: str, contract: Contract, command: RecordMessage) -> Prior | None:
    if contract.tally.messages == len(contract.messages) or by_id(contract.messages, command.id):
        return None
    return Prior(message_digest(run, command.id))


def _assumption(run: str, contract: Contract, command: RefuteAssumption) -> Prior | None:
    if not assumptions.to_look_up(contract, command):
        return None
    return Prior(short_digest("assumption", run, command.id))


def _observation(
    run: str, contract: Contract, command: RecordObservation | InvalidateObservation
) -> Prior | None:
    if not observations.to_look_up(contract, command):
        return None
    return Prior(observation_digest(run, command.key))


def _state(run: str, contract: Contract, command: SaveState) -> Prior | None:
    if command.line is None or not states.to_look_up(contract, command):
        return None
    return Prior(act=line_digest(run, command.line), limit=1)


_LOOKED_UP: dict[type[Command], Callable[[str, Contract, Any], Prior | None]] = {
    RecordMessage: _message,
    RefuteAssumption: _assumption,
    RecordObservation: _observation,
    InvalidateObservation: _observation,
    SaveState: _state,
}


def _run_sources(contract: Contract | None, command: Command) -> Iterable[str]:
    """Name the source streams on whose state a command is decided."""
    if isinstance(command, ClaimEffect | OpenChild | RestartRun | ResumeRun):
        return () if contract is None else sources_of(contract)
    if isinstance(command, AcceptConstraint | AcknowledgeRevision) and command.source is not None:
        return (command.source.stream,)
    return ()


def _run_beside(edge: Edge, contract: Contract | None, command: Command) -> Beside[Contract | None] | None:
    """Read the other runs that a command is about: one that is to be opened, where it exists already, those
    above a child that acts or closes, those that have some of a grant that is to end, and one that may go on
    from states that are given up.
    """
    if contract is None:
        return None
    if isinstance(command, ForkRun | OpenChild | RestartRun):
        others = _existing(edge, command.as_run)
        if is_bound_above(contract, command):
            others = read_above(edge, contract, load_contract) | others
        if not isinstance(command, ForkRun) or command.at > contract.position:
            return Beside(others)
        return Beside(others, load_contract(edge, contract.run, upto=command.at).state)
    if is_bound_above(contract, command):
        return Beside(read_above(edge, contract, load_contract))
    if isinstance(command, CloseRun) and contract.parent is not None:
        return Beside(_above(edge, contract))
    if isinstance(command, DropStates) and command.also_in is not None:
        return Beside(_existing(edge, command.also_in))
    if isinstance(command, NarrowAuthority | RevokeAuthority):
        return read_beneath(edge, contract, command, load_contract)
    return None


def _found(others: Mapping[str, Contract | None]) -> dict[str, Contract]:
    return {name: one for name, one in others.items() if one is not None}


def _existing(edge: Edge, run: str) -> dict[str, Contract | None]:
    found = load_contract(edge, run).state
    return {} if found is None else {run: found}


def _above(edge: Edge, contract: Contract) -> dict[str, Contract | None]:
    """Read the runs that a run succeeds, up to the child that one was, its parent, and who succeeds it."""
    found: dict[str, Contract | None] = {}
    one: Contract | None = contract
    while one is not None and one.parent is not None and one.parent.relation != "fork":
        relation, above = one.parent.relation, one.parent.run
        one = load_contract(edge, above).state
        if one is not None:
            found[above] = one
        if relation == "child":
            break
    while one is not None and one.closed is not None and one.closed.successor not in (None, *found):
        one = load_contract(edge, one.closed.successor or "").state
        if one is not None:
            found[one.run] = one
    return found


def _run_judge(edge: Edge, contract: Contract | None, given: Given, asking: Asking) -> Judgement:
    assert contract is not None
    executing = [effect.key for effect in contract.effects if effect.status == "executing"]
    asking.judged = judge(
        contract,
        Question(
            actor=given.actor,
            now=given.now,
            above=_found(read_above(edge, contract, load_contract)),
            check_every=asking.check_every,
            idle_seconds=asking.idle_seconds,
            lease_now=given.for_leases,
            leases=leases_of(edge, executing, given.for_leases),
            live_seconds=asking.live_seconds,
            runtime=asking.runtime,
            sources=given.sources,
            take_over=asking.take_over,
        ),
    )
    return asking.judged


def _run_told(contract: Contract | None, command: Command, records: Sequence[Record]) -> Refusal | None:
    assert contract is not None
    return told(contract, command, records)


def _run_weigh(contract: Contract | None, command: Command, given: Given) -> Permission:
    assert contract is not None
    assert isinstance(command, ClaimEffect)
    return permission(contract, command, given)


RUN: Kind[Contract | None] = Kind(
    head=_run_head,
    evolve=evolve,
    replay=replay,
    decide=decide,
    load=load_contract,
    prior=_run_prior,
    sources=_run_sources,
    judges_leases=lambda command: isinstance(command, ClaimEffect | ReconcileEffect | ResumeRun),
    is_wanted=is_wanted,
    look_up=look_up,
    beside=_run_beside,
    is_bound_above=is_bound_above,
    past=lambda edge, run, position: load_contract(edge, run, upto=position).state,
    told=_run_told,
    telling=TELLING,
    weigh=_run_weigh,
    judge=_run_judge,
    snapshot=_run_snapshot,
)


def load_source(edge: Edge, stream: str) -> Found[SourceState]:
    """Read what a source publishes; a source nobody opened stands at position 0."""
    state = SourceState(stream.removeprefix(PREFIX))
    for record in chained(edge, edge.store.read(edge.tenant, stream), stream, 0, ZERO_HASH):
        state = evolve_source(state, record)
    return Found(state)


def _source_head(state: SourceState) -> Head:
    return Head(state.position, state.hash, state.at, None)


def _no_prior(stream: str, state: SourceState, command: Command) -> None:
    return None


SOURCE: Kind[SourceState] = Kind(
    head=_source_head,
    evolve=evolve_source,
    replay=lambda records, state: reduce(evolve_source, records, state),
    decide=decide_source,
    load=load_source,
    prior=_no_prior,
    sources=lambda state, command: (),
    is_source=True,
)
