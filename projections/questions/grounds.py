"""What rested on what in a run, at any of its positions, and what of it turned out wrong.

Everything that one run said of grounds is read once, by plain queries, and walked through here. A recursive
query says the same, but with tables just filled PostgreSQL compares each of its rows with each other one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ledger.run.observations import SET_BACK
from projections.questions.base import Asked

_READ_AT_ONCE = 500


class Ground(NamedTuple):
    """Something that was rested on."""

    ref: str
    position: int | None
    """Where it was stated; None: nothing is known of it."""


class Decision(NamedTuple):
    """Something that was decided, and what it named as its grounds."""

    position: int
    what: str
    refs: tuple[str, ...]


class Wrong(NamedTuple):
    """That something turned out wrong."""

    position: int
    at: str
    by: str | None
    evidence: str


class Grounds:
    """What a run said of grounds. A question that uses it uses assumptions, effects, goals and observations.

    What holds at a position is what was stated last under a name up to there: an assumption, the attempt of
    an effect, the plan in force. Of observations it is, as in the contract, the one that was seen last. What
    was stated later only is what was meant by who named it before.
    """

    def __init__(self, asked: Asked, run: str) -> None:
        self._asked = asked
        self._run = run
        self._at: dict[int, str] = {}
        self._texts: dict[int, str] = {}
        self._stated: dict[str, list[int]] = defaultdict(list)
        self._wrong: dict[str, list[Wrong]] = defaultdict(list)
        self._refs: dict[tuple[int, str], dict[str, None]] = defaultdict(dict)
        self._began: dict[str, list[int]] = defaultdict(list)
        self._load_assumptions()
        self._load_observations()
        self._load_refs()
        self._load_effects()

    @property
    def decisions(self) -> Iterator[Decision]:
        """What was decided on some grounds, in order."""
        for (position, what), refs in sorted(self._refs.items()):
            yield Decision(position, what, tuple(refs))

    def at(self, position: int) -> str:
        """Tell when what stands there was recorded."""
        return self._at[position]

    def stood(self, ref: str, position: int) -> Ground:
        """Tell what held under a name at a position."""
        plan = ref.startswith("plan:")
        stated = self._stated.get("plan" if plan else ref, [])
        before = bisect_right(stated, position)
        if before:
            return Ground(ref, stated[before - 1])
        return Ground(ref, stated[0] if stated and not plan else None)

    def basis(self, decision: Decision) -> dict[Ground, bool]:
        """List what a decision rested on, and whether it named that itself.

        An act is done: it rested on what stood when it was intended, whatever came of that until a later
        decision rests on the act.
        """
        found = {self.stood(ref, decision.position): True for ref in decision.refs}
        todo = [(ground, decision.position) for ground in found]
        walked = set(todo)
        while todo:
            ground, place = todo.pop()
            found.setdefault(ground, False)
            if ground.position is None:
                continue
            if ground.ref.startswith("effect:"):
                place = ground.position
            for ref in self._refs.get((ground.position, ground.ref), ()):
                one = self.stood(ref, place), place
                if one not in walked:
                    walked.add(one)
                    todo.append(one)
        return found

    def wrong(self, ground: Ground) -> Wrong | None:
        """Tell what refuted an assumption first, or invalidated an observation while it held."""
        if ground.position is None:
            return None
        until = None
        if ground.ref.startswith("observation:"):
            stated = self._stated[ground.ref]
            behind = bisect_right(stated, ground.position)
            until = stated[behind] if behind < len(stated) else None
        for wrong in self._wrong.get(ground.ref, ()):
            if wrong.position > ground.position:
                return wrong if until is None or wrong.position < until else None
        return None

    def ran(self, decision: Decision) -> int | None:
        """Tell where the attempt that was intended there began; None: it did not, or is no effect."""
        began = self._began.get(decision.what, [])
        behind = bisect_right(began, decision.position)
        if behind == len(began):
            return None
        intents = self._stated[decision.what]
        following = bisect_right(intents, decision.position)
        if following < len(intents) and intents[following] < began[behind]:
            return None
        return began[behind]

    def texts(self, grounds: Iterable[Ground]) -> dict[int, str]:
        """Return the words of assumptions, values of observations and tools of effects, by position."""
        seen = sorted(
            {
                ground.position
                for ground in grounds
                if ground.position is not None and ground.ref.startswith("observation:")
            }
        )
        texts = dict(self._texts)
        for begin in range(0, len(seen), _READ_AT_ONCE):
            found = self._asked.select(
                """
                SELECT o.position, o.value FROM {observations.observations} AS o
                WHERE o.run = :run AND o.position IN :positions AND o.value IS NOT NULL
                """,
                run=self._run,
                positions=tuple(seen[begin : begin + _READ_AT_ONCE]),
            )
            texts.update(found)
        return texts

    def _select(self, query: str) -> list[tuple[int, str, str, str | None, str | None]]:
        found = self._asked.select(query, run=self._run)
        for position, at, *_ in found:
            self._at[position] = at
        return found

    def _load_assumptions(self) -> None:
        made = """
            SELECT a.position, a.at, a.id, a.text, NULL FROM {assumptions.assumptions} AS a
            WHERE a.run = :run ORDER BY a.position
        """
        for position, _, id, text, _ in self._select(made):
            self._stated[f"assumption:{id}"].append(position)
            self._texts[position] = str(text)
        refuted = """
            SELECT r.position, r.at, r.id, r.by, r.evidence FROM {assumptions.refutations} AS r
            WHERE r.run = :run ORDER BY r.position
        """
        for position, at, id, by, evidence in self._select(refuted):
            self._wrong[f"assumption:{id}"].append(Wrong(position, at, by, str(evidence)))

    def _load_observations(self) -> None:
        invalidated = """
            SELECT i.position, i.at, i.key, i.by, i.reason FROM {observations.invalidations} AS i
            WHERE i.run = :run ORDER BY i.position
        """
        set_back = set()
        for position, at, key, by, reason in self._select(invalidated):
            self._wrong[f"observation:{key}"].append(Wrong(position, at, by, str(reason)))
            if reason == SET_BACK:
                set_back.add((position, key))
        recorded = """
            SELECT o.position, o.at, o.key, o.observed_at, NULL FROM {observations.observations} AS o
            WHERE o.run = :run ORDER BY o.position
        """
        held: dict[str, str | None] = {}
        for position, _, key, seen, _ in self._select(recorded):
            # What was seen before what is known changes nothing, unless that was seen in the future.
            last = held.get(key)
            if last is None or (seen is not None and seen >= last) or (position - 1, key) in set_back:
                held[key] = seen
                self._stated[f"observation:{key}"].append(position)

    def _load_refs(self) -> None:
        plans = """
            SELECT p.position, p.at, NULL, NULL, NULL FROM {goals.plans} AS p
            WHERE p.run = :run ORDER BY p.position
        """
        self._stated["plan"] = [position for position, *_ in self._select(plans)]
        rests = """
            SELECT r.position, r.at, r.what, r.on_ref, NULL FROM {assumptions.rests} AS r
            WHERE r.run = :run ORDER BY r.position, r.n
        """
        for position, _, what, ref, _ in self._select(rests):
            self._refs[position, what][str(ref)] = None

    def _load_effects(self) -> None:
        intents = """
            SELECT i.position, i.at, i.key, i.step, i.tool FROM {effects.intents} AS i
            WHERE i.run = :run ORDER BY i.position
        """
        for position, _, key, step, tool in self._select(intents):
            self._stated[f"effect:{key}"].append(position)
            self._texts[position] = str(tool)
            # An act of a step rests on that step, where the plan in force says what the step rests on.
            planned = self.stood(f"plan:{step}", position)
            if step is not None and planned.position and (planned.position, planned.ref) in self._refs:
                self._refs[position, f"effect:{key}"][planned.ref] = None
        steps = """
            SELECT s.position, s.at, s.key, s.what, NULL FROM {effects.steps} AS s
            WHERE s.run = :run ORDER BY s.position
        """
        for position, _, key, what, _ in self._select(steps):
            # What the ledger did not witness has no start: it ran where something came of it.
            if what in ("started", "succeeded", "unknown"):
                self._began[f"effect:{key}"].append(position)
