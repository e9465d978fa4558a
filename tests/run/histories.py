"""Random histories of a run: of any events, as an import may bring them, and of decided commands."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st

from ledger.commands import Command
from ledger.events import EVENT_CLASSES, Event, RunOpened
from ledger.run.contract import Contract
from ledger.run.sources import SourceState
from ledger.testing import History, given, given_source
from ledger.values import Actor
from tests.strategies import FEW, NOON, Vocabulary, commands, event

INSIDE: tuple[type[Event], ...] = tuple(
    kind
    for kind in EVENT_CLASSES
    if kind is not RunOpened and not kind.name.startswith(("source.", "foreign."))
)
"""Events that have a place inside a run."""


def inside(words: Vocabulary = FEW) -> st.SearchStrategy[Event]:
    """Events that have a place inside a run, of every class."""
    return st.sampled_from(INSIDE).flatmap(lambda kind: event(kind, words))


@st.composite
def histories(draw: st.DrawFn, words: Vocabulary = FEW, longest: int = 12) -> History[Contract | None]:
    """Draw runs of any events in any order, with time that moves on between them."""
    history = given(draw(event(RunOpened, words)), at=NOON)
    for one in draw(st.lists(inside(words), max_size=longest)):
        history = history.later(seconds=draw(st.integers(0, 3600))).also(one)
    return history


ACTORS = st.sampled_from(
    [Actor("human:kim"), Actor("agent:refunds"), Actor("service:api", on_behalf_of=("agent:refunds",))]
)


@st.composite
def decided(draw: st.DrawFn, longest: int = 20) -> History[Contract | None]:
    """Draw runs of what commands were decided to yield, sources moving beside them."""
    history = given(at=NOON)
    sources: dict[str, History[SourceState]] = {}
    for command in draw(st.lists(commands(FEW), min_size=1, max_size=longest)):
        actor, span = draw(ACTORS), timedelta(seconds=draw(st.integers(0, 3600)))
        history = history.by(actor).at(history.now + span)
        if command.stream == "source":
            name = draw(st.sampled_from(["policy:refunds", "policy:mail"]))
            source = sources.get(name) or given_source(name, at=NOON)
            sources[name] = source.by(actor).at(history.now).when(command).after
            history = history.beside(sources[name])
        else:
            history = told(history, command)
    return history


def told(history: History[Contract | None], command: Command) -> History[Contract | None]:
    """Decide a command and append what it comes to."""
    return history.when(command).after
