"""One example of each kind of reason, as parts of a history that can be put together with others.

A program worked on a run from `START` on, in session s-1. An hour later the run was stopped, another hour
later something was said to it or to its sources, and after three hours somebody else asks whether it may go
on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ledger import commands as c
from ledger import events as e
from ledger.run.contract import Contract
from ledger.run.decision import Admitted, Judgement
from ledger.run.sources import SourceState
from ledger.testing import START, Decided, History, given, given_source
from ledger.values import Actor, Limits, Published, Runtime, Step
from ledger.values import Source as Pointer
from tests.run import examples as x

Run = History[Contract | None]
Source = History[SourceState]

HOUR = timedelta(hours=1)
STOPPED, SAID, ASKED = START + HOUR, START + 2 * HOUR, START + 3 * HOUR

PROGRAM = Actor("agent:refunds", session="s-1")
"""Who worked on the run."""
SOMEBODY_ELSE = Actor("agent:refunds", session="s-2")
"""Who asks to go on with it: the same agent, in another process."""
KIM = Actor("human:kim")


@dataclass(frozen=True)
class Scene:
    """A run that was stopped, and how the gate is asked about it."""

    run: Run
    runtime: Runtime | None = None
    sources: Mapping[str, Source] = field(default_factory=dict)
    take_over: bool = False

    def judged(self) -> Judgement:
        """Ask the gate without recording what it says."""
        return self.run.judged(runtime=self.runtime, take_over=self.take_over)

    def asked(self) -> Decided[Contract | None]:
        """Ask it, and have it recorded."""
        return self.run.when(c.ResumeRun(runtime=self.runtime, take_over=self.take_over))

    def kinds(self) -> set[str]:
        """Ask it for the kinds of its reasons."""
        return {reason.kind for reason in self.judged().reasons}

    def after(self, decided: Decided[Contract | None]) -> Scene:
        """Go on with what a command came to."""
        return replace(self, run=decided.after)

    def told(self, command: c.Command, actor: Actor = KIM) -> Scene:
        """Let somebody say a command to the run, which must be admitted and change something."""
        asker = self.run.actor
        decided = self.run.by(actor).when(command)
        assert isinstance(decided.decision, Admitted), decided.decision
        assert decided.decision.events, decided.decision
        return replace(self, run=decided.after.by(asker))

    def position_of(self, event: e.Event) -> int:
        """Find where an event stands, the last time it was said."""
        return max(record.position for record in self.run.records if record.event == event)


Clear = Callable[[Scene], Scene]


def saying(command: c.Command) -> Clear:
    """Clear a reason by one command of a person."""
    return lambda scene: scene.told(command)


@dataclass(frozen=True)
class Case:
    """A history that shows one kind of reason, and the event that clears it."""

    kind: str
    clear: Clear
    above: Mapping[str, e.Event] = field(default_factory=dict)
    """What was said to runs that it is a part of."""
    all_rest_on: tuple[str, ...] = ()
    """What every step of the plan rests on."""
    asker: Actor | None = None
    asking: Mapping[str, Any] = field(default_factory=dict)
    at: e.Event | None = None
    """The event whose position the reason names; None: none."""
    comes_with: tuple[str, ...] = ()
    """Kinds that are never far from it."""
    done: tuple[e.Event, ...] = ()
    """What the program had said before it stopped."""
    goal_rests_on: tuple[str, ...] = ()
    limits: Limits | None = None
    mentions: tuple[str, ...] = ()
    """Words in which the reason says what it is about."""
    moved: Mapping[str, Callable[[Source], Source]] = field(default_factory=dict)
    """What sources said after the run was stopped."""
    needs: tuple[str, ...] = ()
    runtime: Runtime | None = None
    said: tuple[e.Event, ...] = ()
    """What others said after that."""
    since: datetime | None = None
    sources: tuple[Source, ...] = ()
    """As they stood when the run began."""
    steps: tuple[Step, ...] = ()
    stop: e.RunSuspended | None = x.SUSPENDED
    stays_open: bool = False
    """Nobody stopped the run."""
    who: str | None = None

    def __str__(self) -> str:
        return self.kind


def fits(*cases: Case) -> bool:
    """Tell whether cases can stand in one history: it has one end, and one who asks."""
    askers = {case.asker for case in cases if case.asker is not None}
    limited = any(case.limits is not None for case in cases)
    # Where nothing is left of a plan, no step of it is left to be planned anew.
    planned = any(case.all_rest_on for case in cases) and any(case.steps for case in cases)
    return len(askers) < 2 and not planned and not (limited and any(case.stays_open for case in cases))


def scene(*cases: Case) -> Scene:
    """Put cases together into one history."""
    history = given(_opened(cases), actor=PROGRAM).also(x.granted("base", scopes=("base",)))
    history = history.among(*_above(cases))
    if any(case.steps or case.all_rest_on for case in cases):
        history = history.also(e.PlanCommitted(steps=_steps(cases)))
    for case in cases:
        history = history.also(*case.done)
    needs = tuple(ref for case in cases for ref in case.needs)
    history = history.also(e.CursorMoved(node="work", needs=needs))
    if not any(case.stays_open for case in cases):
        limit = next((case.stop for case in cases if case.limits is not None), x.SUSPENDED)
        assert limit is not None
        history = history.at(STOPPED).also(limit)
    history = history.at(SAID).by(KIM)
    for case in cases:
        history = history.also(*case.said)
    sources = {one.state.source: one for case in cases for one in case.sources}
    for case in cases:
        for name, move in case.moved.items():
            sources[name] = move(sources[name].at(SAID).by(KIM))
    asker = next((case.asker for case in cases if case.asker is not None), SOMEBODY_ELSE)
    asking = {name: value for case in cases for name, value in case.asking.items()}
    if "check_every" in asking:
        asking["check_every"] = {
            k: v for case in cases for k, v in case.asking.get("check_every", {}).items()
        }
    runtime = next((case.runtime for case in cases if case.runtime is not None), None)
    run = history.at(ASKED).by(asker).beside(*sources.values()).asked(**asking)
    return Scene(run, runtime, sources)


TOP, ABOVE = "run-0", "run-0/part"
"""A run of which another one is a part, of which the run that is asked about is one where a case says so."""


def _above(cases: Iterable[Case]) -> Iterable[Run]:
    said = {run: event for case in cases for run, event in case.above.items()}
    if not said:
        return
    for run, opened in ((TOP, x.opened()), (ABOVE, x.opened(parent=_part_of(TOP)))):
        one = given(opened, run=run, actor=PROGRAM).at(SAID).by(KIM)
        yield one.also(said[run]) if run in said else one


def _part_of(run: str) -> e.Parent:
    return e.Parent(position=1, relation="child", root=TOP, run=run)


def _opened(cases: Iterable[Case]) -> e.RunOpened:
    limits = next((case.limits for case in cases if case.limits is not None), None)
    runtime = Runtime(model="m-1", prompt="p-1") if any(case.runtime for case in cases) else None
    rests_on = tuple(ref for case in cases for ref in case.goal_rests_on)
    parent = _part_of(ABOVE) if any(case.above for case in cases) else None
    return x.opened(limits=limits, parent=parent, rests_on=rests_on, runtime=runtime)


def _steps(cases: Iterable[Case]) -> tuple[Step, ...]:
    everywhere = tuple(ref for case in cases for ref in case.all_rest_on)
    steps = (*(step for case in cases for step in case.steps), Step(name="free"))
    return tuple(step.with_fields({"rests_on": (*step.rests_on, *everywhere)}) for step in steps)


def restarted(scene: Scene) -> Scene:
    """Clear what only a successor clears: a person restarts the run, and the successor is asked instead."""
    name = f"{scene.run.stream}-again"
    goal = "Do what can be done" if "goal_refuted" in scene.kinds() else None
    command = c.RestartRun(as_run=name, by="human:kim", goal=goal, reason="it cannot go on")
    after = scene.told(command)
    asker, asking = scene.run.actor, scene.run.asking
    return replace(after, run=after.run.other(name).by(asker).asked(**asking))


def source(name: str, *items: str) -> Source:
    """Return a source as it stood when the run began: one revision of some constraints."""
    published = tuple(Published(id=item, text=f"Mind {item}") for item in items)
    return given_source(name, x.published(*published, revision="1"))


def accepted(item: str, name: str, **more: Any) -> e.ConstraintAccepted:
    """Return the acceptance of one of them."""
    kind, _, rest = name.partition(":")
    pointer = Pointer(kind, rest, revision="1")
    return x.accepted(item, text=f"Mind {item}", source=pointer, source_position=1, published=True, **more)
