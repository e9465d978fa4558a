"""Whatever is said, a decision rested on what walking through its grounds one by one comes to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import Step, open_ledger
from ledger.events import (
    AssumptionMade,
    AssumptionRefuted,
    CursorMoved,
    EffectIntended,
    EffectStarted,
    Event,
    GoalRevised,
    ObservationInvalidated,
    ObservationRecorded,
    PlanCommitted,
    PlanRevised,
    RunOpened,
)
from ledger.values import Payload, Recovery
from tests.projections.questions.telling import told
from tests.projections.questions.trip import AGENT, minute

KEYS = st.sampled_from(["a" * 64, "b" * 64])
IDS = st.sampled_from(["a", "b"])
NAMES = st.just("k")
REFS = st.lists(
    st.sampled_from(
        [
            *(f"assumption:{one}" for one in "ab"), "observation:k", "run:other",
            "effect:" + "a" * 64, "effect:" + "b" * 64,
        ]
    ),
    max_size=3,
).map(tuple)  # fmt: skip
STEPS = st.builds(lambda s, t: (Step(name="s", rests_on=s), Step(name="t", rests_on=t)), REFS, REFS)


def _intended(key: str, refs: tuple[str, ...], step: str | None) -> EffectIntended:
    return EffectIntended(
        act=key, args="{}", key=key, key_scheme="v1", recovery=Recovery.IDEMPOTENT, rests_on=refs, step=step,
        tool="pay",
    )  # fmt: skip


def _seen(key: str, at: int | None, refs: tuple[str, ...]) -> ObservationRecorded:
    seen = None if at is None else minute(at)
    return ObservationRecorded(
        key=key, observed_at=seen, rests_on=refs, tool="look", value=Payload(json_text="1")
    )


EVENTS = st.one_of(
    st.builds(lambda id, refs: AssumptionMade(id=id, rests_on=refs, text="so"), IDS, REFS),
    st.builds(lambda id: AssumptionRefuted(id=id, evidence="no"), IDS),
    st.builds(lambda refs: CursorMoved(node="n", needs=refs), REFS),
    st.builds(lambda refs: GoalRevised(by="human:kim", reason="r", rests_on=refs, text="t"), REFS),
    st.builds(_seen, NAMES, st.sampled_from([None, 1, 2]), REFS),
    st.builds(lambda key: ObservationInvalidated(key=key, reason="old"), NAMES),
    st.builds(lambda steps: PlanRevised(reason="r", steps=steps), STEPS),
    st.builds(_intended, KEYS, REFS, st.sampled_from([None, "s", "t", "u"])),
    st.builds(
        lambda key: EffectStarted(attempt=1, key=key, lease_until=minute(1), root="run", worker="w"), KEYS
    ),
)


@given(st.builds(RunOpened, goal=st.just("go"), rests_on=REFS), st.lists(EVENTS, max_size=16))
@settings(max_examples=40)
def test_a_basis_is_the_walk_through_all_grounds(opened: RunOpened, events: list[Event]) -> None:
    told_so = [opened, *map(_attempt, events, range(1, len(events) + 1))]
    with open_ledger(":memory:") as ledger:
        ledger.import_events("run", told_so, expected=0, actor=AGENT)
        columns = (
            "position", "what", "on_ref", "on_position", "directly", "refuted_position", "ran_position",
            "effects_after", "effects_after_refuted", "first_after_refuted",
        )  # fmt: skip
        found = told(ledger, "basis-of-decision", *columns, run="run")
    assert sorted(found, key=str) == sorted(History(told_so).answer(), key=str)


def _attempt(event: Event, number: int) -> Event:
    """Give a start a number of its own: no attempt is claimed twice."""
    return event.with_fields({"attempt": number}) if isinstance(event, EffectStarted) else event


class Ground(NamedTuple):
    ref: str
    place: int | None


class History:
    """The events of a run, and what a reader makes of them."""

    def __init__(self, events: list[Event]) -> None:
        self._events = list(enumerate(events, 1))

    def answer(self) -> list[tuple[Any, ...]]:
        basis = [
            (place, what, ground, ground in direct)
            for place, what, direct in self._decisions()
            for ground in self._closure(direct, place)
        ]
        ran: dict[Ground, list[tuple[int, str]]] = {}
        for place, what, ground, _ in basis:
            begun = self._ran(place, what)
            if begun is not None:
                ran.setdefault(ground, []).append((begun, what.removeprefix("effect:")))
        return [
            (
                place, what, *ground, int(direct), self._refuted(ground), self._ran(place, what),
                *self._counted(ground, ran.get(ground, [])),
            )
            for place, what, ground, direct in basis
        ]  # fmt: skip

    def _decisions(self) -> Iterator[tuple[int, str, set[Ground]]]:
        for place, event in self._events:
            for what, refs in self._said(place, event).items():
                yield place, what, {Ground(ref, self._stood(ref, place)) for ref in refs}

    def _said(self, place: int, event: Event) -> dict[str, set[str]]:
        """Return what an event decides, and what each of that names."""
        match event:
            case RunOpened() | GoalRevised():
                return {"goal": set(event.rests_on)}
            case AssumptionMade():
                return {f"assumption:{event.id}": set(event.rests_on)}
            case ObservationRecorded():
                return {f"observation:{event.key}": set(event.rests_on)}
            case CursorMoved():
                return {"cursor": set(event.needs)}
            case PlanCommitted() | PlanRevised():
                return {f"plan:{step.name}": set(step.rests_on) for step in event.steps}
            case EffectIntended():
                plan = self._stood("plan:", place)
                grounds = self._said(plan, self._at(plan)) if plan is not None else {}
                step = f"plan:{event.step}"
                return {f"effect:{event.key}": set(event.rests_on) | ({step} if grounds.get(step) else set())}
        return {}

    def _closure(self, direct: set[Ground], place: int) -> set[Ground]:
        found: set[Ground] = set()
        todo = [(ground, place) for ground in direct]
        walked = set()
        while todo:
            ground, seen_from = one = todo.pop()
            found.add(ground)
            if one in walked or ground.place is None:
                continue
            walked.add(one)
            then = ground.place if ground.ref.startswith("effect:") else seen_from
            refs = self._said(ground.place, self._at(ground.place)).get(ground.ref, ())
            todo += ((Ground(ref, self._stood(ref, then)), then) for ref in refs)
        return found

    def _at(self, place: int) -> Event:
        return self._events[place - 1][1]

    def _stood(self, ref: str, place: int) -> int | None:
        """Return the position of what was said last of this up to a place, else first after it."""
        said = [(at, event) for at, event in self._events if _is_of(event, ref)]
        held: tuple[int, Event] | None = None
        for at, event in said:
            if at <= place and (held is None or _takes_place(event, held[1])):
                held = at, event
        if held is not None:
            return held[0]
        return said[0][0] if said and not ref.startswith("plan:") else None

    def _refuted(self, ground: Ground) -> int | None:
        if ground.place is None:
            return None
        for at, event in self._events[ground.place :]:
            match event:
                case AssumptionRefuted() if ground.ref == f"assumption:{event.id}":
                    return at
                case ObservationInvalidated() if ground.ref == f"observation:{event.key}":
                    return at
                case ObservationRecorded() if ground.ref == f"observation:{event.key}":
                    if _takes_place(event, self._at(ground.place)):
                        return None
        return None

    def _ran(self, place: int, what: str) -> int | None:
        for at, event in self._events[place:] if what.startswith("effect:") else ():
            if isinstance(event, EffectStarted | EffectIntended) and what == f"effect:{event.key}":
                return at if isinstance(event, EffectStarted) else None
        return None

    def _counted(self, ground: Ground, ran: list[tuple[int, str]]) -> tuple[Any, ...]:
        if ground.place is None:
            return None, None, None
        after = len({key for at, key in ran if at > ground.place})
        refuted = self._refuted(ground)
        if refuted is None:
            return after, None, None
        late = sorted((at, key) for at, key in ran if at > refuted)
        return after, len({key for _, key in late}), late[0][1] if late else None


def _is_of(event: Event, ref: str) -> bool:
    """Tell whether an event states what a reference names."""
    match event:
        case AssumptionMade():
            return ref == f"assumption:{event.id}"
        case ObservationRecorded():
            return ref == f"observation:{event.key}"
        case EffectIntended():
            return ref == f"effect:{event.key}"
        case PlanCommitted() | PlanRevised():
            return ref.startswith("plan:")
    return False


def _takes_place(event: Event, held: Event) -> bool:
    """Tell whether what is said once more is what holds from now on: of observations the one seen last."""
    if not isinstance(event, ObservationRecorded) or not isinstance(held, ObservationRecorded):
        return True
    if held.observed_at is None:
        return True
    return event.observed_at is not None and event.observed_at >= held.observed_at
