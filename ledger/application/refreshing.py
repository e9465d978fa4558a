"""Looking again: what something rests on, and that must not be relied on as it is, is asked anew.

Which observations and sources that are, by what each is asked, and what is told of it; the two faces of a
run drive it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ledger import commands as c
from ledger.application.acting import Doing
from ledger.application.checking import Checked, check_every_of
from ledger.application.naming import in_full
from ledger.application.refusals import refusal_error
from ledger.application.shared import Shared
from ledger.application.statements import Context, Stated
from ledger.canonical import load_text
from ledger.errors import InvalidInput
from ledger.events import ObservationRecorded
from ledger.gate.freshness import seen_until
from ledger.gate.question import Question
from ledger.gateway import protocol as p
from ledger.run.checks import check_tool, is_due, last_check
from ledger.run.claims import sources_of
from ledger.run.contract import Contract, Observation
from ledger.run.decide import barred
from ledger.run.decision import Refusal
from ledger.run.fold import brief
from ledger.run.keys import check_key
from ledger.run.observations import find
from ledger.run.resting import rested_on
from ledger.values import Recovery, untag_secrets, write_time


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What came of looking again at something that the run rests on."""

    key: str
    """Key of the observation; of a source that was read, `source:KIND:NAME`."""
    tool: str
    found: Literal["refreshed", "changed", "not_refreshed"]
    """`changed`: it says something else than before."""
    is_fresh: bool
    """It may be relied on now."""
    because: str | None = None
    """Why it was not refreshed, or is not fresh all the same; of a source, what it says."""
    position: int | None = None
    """Where it stands now that it was looked at; None where it was not refreshed."""


class Again(NamedTuple):
    """An observation that is to be made again, and what makes it."""

    before: Observation
    doing: Doing


class Refreshing:
    """One call of `refresh` on its way."""

    def __init__(self, shared: Shared, contract: Contract, context: Context, *, every: bool) -> None:
        """Find out what is to be looked at again.

        Raises:
            Superseded, RunIsClosed, EffectsDisabled: through this handle nothing is looked at any more.
        """
        _check(contract, context.incarnation)
        self._shared = shared
        self._context = context
        self._before = contract
        self._told: list[Refreshed] = []
        question = self._question(contract)
        self.sources = [s for s in sources_of(contract) if every or _is_unchecked(contract, s, question)]
        """Ids of the sources to be read."""
        self._observations = [
            seen for seen in _rested(contract) if every or _why_stale(contract, seen, question) is not None
        ]

    def acts(self) -> Iterator[Again]:
        """Yield the observations that can be made again; what is told of the others is kept."""
        for seen in self._observations:
            doing = self._again(seen)
            if isinstance(doing, Doing):
                yield Again(seen, doing)
            else:
                self.not_asked(seen, doing)

    def _again(self, seen: Observation) -> Doing | str:
        """Build what makes an observation again, by its record; a text says why that is not possible."""
        if seen.args is None:
            return "it is not known here with which arguments it was asked"
        workshop = self._shared.workshop
        tool = workshop.tools.get(seen.tool)
        if tool is None or tool.signature is None:
            return f"no tool {seen.tool!r} is registered here with its function"
        if tool.recovery is not Recovery.READ_ONLY:
            return f"{seen.tool!r} is {tool.recovery.value}: only what is read_only is called again"
        unusable = "the arguments it was asked with cannot be used here"
        try:
            given = tool.signature.bind(untag_secrets(load_text(seen.args)), recorded=True)
        except InvalidInput as fault:
            return f"{unusable}: {fault}"
        claim = c.ClaimEffect(
            args=seen.args,
            args_in_full=in_full(workshop.secrets, given),
            occurrence=seen.occurrence,
            recovery=tool.recovery,
            resource=tool.resource,
            rests_on=seen.rests_on,
            step=seen.step,
            tool=seen.tool,
            worker=workshop.worker,
        )
        act = p.Act(tool, seen.key, seen.args, given.values, claim, once=True, runtime=seen.runtime)
        doing = Doing(workshop, self._before.run, act, self._context)
        try:
            doing.resolve()
        except InvalidInput as fault:
            return f"{unusable}: {fault}"
        return doing

    # --- what came of it -------------------------------------------------------------------------

    def not_asked(self, seen: Observation, because: str) -> None:
        """Keep why an observation was not made again."""
        self._told.append(Refreshed(seen.key, seen.tool, "not_refreshed", False, because))

    def asked(self, one: Again, end: p.Observed | p.Raised) -> None:
        """Keep what came of making an observation again."""
        seen = one.before
        told = Refreshed(seen.key, seen.tool, "not_refreshed", False)
        if isinstance(end, p.Raised):
            words = one.doing.clean(f"{type(end.error).__name__}: {end.error}")
            self._told.append(replace(told, because=words))
            return
        recorded = [r.event for r in end.stated.records if isinstance(r.event, ObservationRecorded)]
        same = all(brief(event.value) == seen.value for event in recorded)
        self._told.append(
            replace(told, found="refreshed" if same else "changed", position=end.stated.position)
        )

    def checked(self, one: Checked, stated: Stated | None) -> None:
        """Keep what came of reading a source, and what the run noted of it."""
        told = Refreshed(check_key(one.source), check_tool(one.source), "not_refreshed", False, one.said)
        if one.report is not None and stated is not None:
            seen = last_check(self._before, one.source)
            same = not one.changed if seen is None else one.report.value == seen.value
            told = replace(told, found="refreshed" if same else "changed", position=stated.position)
        self._told.append(told)

    def ended(self, contract: Contract) -> list[Refreshed]:
        """Return what came of all, and whether it is fresh by the contract that all of it came to."""
        question = self._question(contract)
        return [self._judged(one, contract, question) for one in self._told]

    def _judged(self, one: Refreshed, contract: Contract, question: Question) -> Refreshed:
        seen = find(contract, one.key)
        stale = None if seen is None else _why_stale(contract, seen, question)
        source = next((s for s in sources_of(contract) if check_key(s) == one.key), None)
        if source is not None and stale is None and _is_unchecked(contract, source, question):
            stale = f"it is to be read every {question.check_every[source]} s"
        if stale is None:
            # What was let go of meanwhile is rested on by nothing any more.
            return replace(one, is_fresh=True)
        if one.because is None:
            return replace(one, because=stale)
        return one if one.position is None else replace(one, because=f"{one.because}; {stale}")

    def _question(self, contract: Contract) -> Question:
        now = self._shared.edge.now()
        return Question(self._context.actor, now, check_every=check_every_of(self._shared, contract))


def _check(contract: Contract, incarnation: int | None) -> None:
    # To look again is what leads a run out that is held: only what waits for nothing is in the way.
    refusal = barred(contract.with_fields({"held": None, "suspended": None}), incarnation)
    if refusal is None and contract.fork_of is not None:
        refusal = Refusal("effects_disabled", f"{contract.run!r} is a fork, which performs nothing")
    if refusal is not None:
        raise refusal_error(refusal)


def _rested(contract: Contract) -> Iterator[Observation]:
    """Yield the observations that something rests on, but for the checks of sources, in their order."""
    rested = rested_on(contract)
    checks = {check_key(source) for source in sources_of(contract)}
    checks.update(check_key(seen.source) for seen in contract.sources)
    for seen in contract.observations:
        if f"observation:{seen.key}" in rested and seen.key not in checks:
            yield seen


def _why_stale(contract: Contract, seen: Observation, question: Question) -> str | None:
    """Say why an observation must not be relied on; None: it may."""
    if seen.invalidated is not None:
        return f"it does not hold any more: {seen.invalidated}"
    until = seen_until(seen, question, contract)
    if until is None:
        return None
    if seen.observed_at is not None and seen.observed_at > question.now:
        return f"it was seen at {write_time(seen.observed_at)}, which is still to come by this clock"
    if seen.fresh_for == 0:
        return "its tool says that no answer is used again, so nothing should rest on one"
    return "it is stale" if until.year == 1 else f"it is stale since {write_time(until)}"


def _is_unchecked(contract: Contract, source: str, question: Question) -> bool:
    """Tell whether a source is to be read before anything relies on it."""
    seen = last_check(contract, source)
    if seen is not None and _why_stale(contract, seen, question) is not None:
        return True
    wanted = question.check_every.get(source)
    return wanted is not None and is_due(contract, source, wanted, question.latest(contract))
