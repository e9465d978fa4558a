"""What the sources of the constraints have against going on."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.events import Reason
from ledger.gate.freshness import moment_of, seen_until
from ledger.gate.question import Question
from ledger.gate.reasons import reason
from ledger.run.constraints import gone_at, is_reworded
from ledger.run.contract import Constraint, Contract
from ledger.run.keys import check_key
from ledger.run.known import after
from ledger.run.markdown import shortened
from ledger.run.observations import find
from ledger.run.sources import SourceState


def on_sources(contract: Contract, question: Question) -> Iterator[Reason]:
    """Yield withdrawn constraints, other words for one, newer revisions, and sources not read lately."""
    # By the clock alone, as acts are bound: one that was set back may bring a rule back, and frees nobody.
    bound = [c for c in contract.constraints if c.valid_until is None or question.now < c.valid_until]
    for constraint in bound:
        if constraint.source is not None:
            state = question.sources.get(constraint.source.stream)
            if state is not None:
                yield from _on_constraint(contract, constraint, state)
    for name in dict.fromkeys(c.source.stream for c in bound if c.source is not None):
        state = question.sources.get(name)
        if state is not None:
            yield from _on_revisions(contract, state)
        yield from _on_checks(contract, name, question)


def _on_constraint(contract: Contract, constraint: Constraint, state: SourceState) -> Iterator[Reason]:
    gone = gone_at(constraint, state)
    if gone is not None:
        rests = "" if gone.id == constraint.id else f", on which {constraint.id!r} rests"
        what = f"{state.source} withdrew {gone.id!r}{rests}: {shortened(gone.reason)}"
        yield reason("constraint_withdrawn", what, position=constraint.position, since=gone.at, who=gone.by)
    elif is_reworded(contract, constraint, state):
        assert constraint.source is not None
        item = state.item(constraint.source.item or constraint.id)
        assert item is not None
        what = f"{state.source} has other words for {constraint.id!r} since its revision {item.revision!r}"
        since = state.at if item.position == state.position else None
        yield reason("constraint_reworded", what, position=constraint.position, since=since)


def _on_revisions(contract: Contract, state: SourceState) -> Iterator[Reason]:
    seen = next((one for one in contract.sources if one.source == state.source), None)
    if seen is None or state.revision is None:
        return
    published = state.revisions[state.revision]
    if published > seen.position:
        before = "" if seen.revision is None else f"; the run knows {seen.revision!r}"
        what = f"{state.source} has revision {state.revision!r}{before}"
        since = state.at if published == state.position else None
        yield reason("source_revised", what, position=seen.stated_at, since=since)


def _on_checks(contract: Contract, source: str, question: Question) -> Iterator[Reason]:
    """Judge when a source was read last, by what is wanted now and by what was declared when it was read."""
    seen = find(contract, check_key(source))
    wanted = question.check_every.get(source)
    if seen is None:
        if wanted is not None:
            yield reason("source_unchecked", f"{source} was never read; it is to be every {wanted} s")
        return
    ends = [seen_until(seen, question, contract)]
    if wanted is not None and seen.observed_at is not None:
        fresh = after(seen.observed_at, wanted)
        ends.append(fresh if fresh <= question.latest_since(contract, seen.at) else None)
    ended = [end for end in ends if end is not None]
    if ended or seen.invalidated is not None:
        since = moment_of(min(ended, default=seen.at))
        yield reason(
            "source_unchecked", f"{source} was last read too long ago", position=seen.position, since=since
        )
