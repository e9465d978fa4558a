"""Random questions to the gate, about random runs and sources."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache

from hypothesis import strategies as st

from ledger import commands as c
from ledger.gate import Question
from ledger.run.contract import Contract
from ledger.run.sources import SourceState
from ledger.testing import History, given_source
from ledger.values import Actor, Runtime
from tests.run.histories import SOURCES, decided, histories
from tests.strategies import ANY, FEW, NOON, Vocabulary, actors, command, moments
from tests.strategies import model as values

Run = History[Contract | None]

HUGE = 2**53 - 1
SECONDS = st.sampled_from([0, 1, 60, 3600, 90_000, HUGE])
NEAR = st.integers(-100_000, 200_000).map(lambda seconds: NOON + timedelta(seconds=seconds))


@cache
def runs() -> st.SearchStrategy[Run]:
    """Draw runs of any events and of decided commands; in the former anything may be said of anything."""
    return st.one_of(histories(FEW), decided(), histories(ANY, longest=8))


@cache
@st.composite
def sources(draw: st.DrawFn) -> Mapping[str, SourceState]:
    """Draw sources that published and withdrew something, under the names that runs use."""
    found: dict[str, SourceState] = {}
    for name in draw(st.lists(SOURCES, unique=True)):
        source = given_source(name, at=NOON)
        speaking = st.one_of(command(c.PublishRevision, FEW), command(c.WithdrawAtSource, FEW))
        for one in draw(st.lists(speaking, max_size=4)):
            source = source.by("service:test").when(one).after
        found[name] = source.state
    return found


@st.composite
def questions(draw: st.DrawFn, run: Run, words: Vocabulary = ANY) -> Question:
    """Draw what a run may be asked: by anybody, at any time, about anything it holds."""
    contract = run.contract
    when = st.one_of(NEAR, moments()) if words is ANY else NEAR
    names = sorted({item.source.stream for item in contract.constraints if item.source is not None})
    keys = [effect.key for effect in contract.effects]
    known = Actor(contract.alive.by, session=contract.alive.session)
    return Question(
        actor=draw(st.one_of(st.just(known), actors(words))),
        now=draw(when),
        check_every=draw(st.dictionaries(st.sampled_from(names), SECONDS)) if names else {},
        idle_seconds=draw(st.none() | SECONDS),
        lease_now=draw(st.none() | when),
        leases=draw(st.dictionaries(st.sampled_from(keys), when)) if keys else {},
        live_seconds=draw(SECONDS),
        runtime=draw(st.none() | values(Runtime, words)),
        sources=draw(sources()),
        take_over=draw(st.booleans()),
    )
