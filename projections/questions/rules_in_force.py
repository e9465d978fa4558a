"""Which rules bound a run: as the record had it at a position, and as is known now of a moment.

By the *record*, what the run had accepted last under an id binds, until it is withdrawn, and within the valid
time that it names: what claims are held to.

By the *corrected* view, an acceptance binds from its own time on (`valid_from`, else when it was asserted or
accepted), even if it was recorded later, until its `valid_until`, until it is withdrawn, or until the time of
a later acceptance under the same id: of several that had begun, the one that was recorded last is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ledger.values import Rule
from projections.questions.base import Asked

_RUNS = 500


class Acceptance(NamedTuple):
    """A constraint as a run accepted it."""

    run: str
    position: int
    at: str
    id: str
    text: str
    rule: str | None
    source: str | None
    revision: str | None
    asserted_by: str
    asserted_at: str | None
    valid_from: str | None
    valid_until: str | None

    @property
    def begins(self) -> str:
        """From when on it binds, by its own time."""
        return self.valid_from or min(self.at, self.asserted_at or self.at)

    def is_valid(self, moment: str) -> bool:
        """Tell whether a moment lies in the valid time that it names."""
        begun = self.valid_from is None or self.valid_from <= moment
        return begun and (self.valid_until is None or moment < self.valid_until)


class Withdrawal(NamedTuple):
    """The end of a constraint."""

    position: int
    at: str


class Bound(NamedTuple):
    """A rule that binds an act, with the acceptance that brought it."""

    acceptance: Acceptance
    rule: Rule


class RulesOfRun:
    """The acceptances of one run, in their order, by the constraints they are of."""

    def __init__(self) -> None:
        self.accepted: defaultdict[str, list[Acceptance]] = defaultdict(list)
        self.withdrawn: defaultdict[str, list[Withdrawal]] = defaultdict(list)
        self._rules: dict[str, Rule] = {}

    def recorded(self, position: int, at: str) -> Iterator[Bound]:
        """Return what bound the run at a position, when it was `at` by the ledger's clock, by the record."""
        for id, accepted in self.accepted.items():
            last = next((one for one in reversed(accepted) if one.position < position), None)
            if last is None or not last.is_valid(at):
                continue
            if not any(last.position < end.position < position for end in self.withdrawn[id]):
                yield from self._bound(last)

    def corrected(self, moment: str) -> Iterator[Bound]:
        """Return what bound the run at a moment, by what is known now."""
        for id, accepted in self.accepted.items():
            last = next((one for one in reversed(accepted) if one.begins <= moment), None)
            if last is None or (last.valid_until is not None and last.valid_until <= moment):
                continue
            if not any(last.position < end.position and end.at <= moment for end in self.withdrawn[id]):
                yield from self._bound(last)

    def _bound(self, acceptance: Acceptance) -> Iterator[Bound]:
        text = acceptance.rule
        if text is not None:
            if text not in self._rules:
                self._rules[text] = Rule.model_validate_json(text)
            yield Bound(acceptance, self._rules[text])


def rules_of(asked: Asked, runs: Iterable[str]) -> Mapping[str, RulesOfRun]:
    """Read the rules of some runs."""
    wanted = sorted(set(runs))
    found = {run: RulesOfRun() for run in wanted}
    for first in range(0, len(wanted), _RUNS):
        some = tuple(wanted[first : first + _RUNS])
        for row in asked.select(_ACCEPTED, runs=some):
            one = Acceptance(*row)
            found[one.run].accepted[one.id].append(one)
        for run, id, position, at in asked.select(_WITHDRAWN, runs=some):
            found[run].withdrawn[id].append(Withdrawal(position, at))
    return found


_ACCEPTED = """
    SELECT a.run, a.position, a.at, a.id, a.text, a.rule, a.source, a.revision, a.asserted_by, a.asserted_at,
        a.valid_from, a.valid_until
    FROM {constraints.acceptances} AS a
    WHERE a.run IN :runs
    ORDER BY a.run, a.position
"""
_WITHDRAWN = """
    SELECT w.run, w.id, w.position, w.at FROM {constraints.withdrawals} AS w
    WHERE w.run IN :runs
    ORDER BY w.run, w.position
"""
