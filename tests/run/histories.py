"""Random histories of a run: of any events, as an import may bring them, and of decided commands."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from ledger import commands as c
from ledger import events as e
from ledger.run.contract import Contract
from ledger.run.decide import RULES
from ledger.run.sources import SourceState
from ledger.testing import History, given, given_source
from ledger.values import Actor
from tests.strategies import FEW, NOON, Vocabulary, command, event

INSIDE: tuple[type[e.Event], ...] = tuple(
    kind
    for kind in e.EVENT_CLASSES
    if kind is not e.RunOpened and not kind.name.startswith(("source.", "foreign.", "ledger."))
)
"""Events that have a place inside a run."""

# What opens something comes more often than what ends it, so that there is something to end.
_OPENING = (
    e.ConstraintAccepted,
    e.AssumptionMade,
    e.AuthorityGranted,
    e.EffectIntended,
    e.EffectStarted,
    e.ObservationRecorded,
    e.PlanCommitted,
)

_BETWEEN: tuple[type[e.Event], ...] = (e.EffectUnknown, e.EffectDisputed)
_OUTCOMES: tuple[type[e.Event], ...] = (e.EffectSucceeded, e.EffectFailed, e.EffectReconciled)

_ASKING: tuple[type[c.Command], ...] = (
    *(kind for kind in RULES if kind not in (c.CloseRun, c.OpenRun, c.RestartRun)),
    *(c.AcceptConstraint, c.GrantAuthority, c.MakeAssumption, c.OpenObligation, c.RecordMessage) * 2,
    *(c.CommitPlan, c.MoveCursor, c.RecordObservation),
    *(c.OpenSource, c.PublishRevision, c.PublishRevision, c.WithdrawAtSource),
)

ACTORS = st.sampled_from(
    [
        Actor("human:kim"),
        Actor("human:kim", authenticated_by="oidc"),
        Actor("service:api", on_behalf_of=("agent:refunds",)),
        Actor("agent:refunds"),
    ]
)
SPANS = st.sampled_from([0, 1, 3600, 90_000])


@cache
def inside(words: Vocabulary = FEW) -> st.SearchStrategy[e.Event]:
    """Draw events that have a place inside a run, of every class."""
    return st.sampled_from(_OPENING * 2 + INSIDE).flatmap(lambda kind: event(kind, words))


@cache
@st.composite
def acts(draw: st.DrawFn, words: Vocabulary = FEW) -> tuple[e.Event, ...]:
    """Draw an effect from its intent to an outcome, on an authority it draws on."""
    grant = draw(event(e.AuthorityGranted, words))
    assert isinstance(grant, e.AuthorityGranted)
    key = draw(words.digest)
    between = draw(st.lists(st.sampled_from(_BETWEEN), max_size=2))
    kinds: tuple[type[e.Event], ...] = (e.EffectIntended, e.EffectStarted, *between)
    more = {"key": key, "attempt": 1, "authority": (grant.id,)}
    life = [draw(event(kind, words)) for kind in (*kinds, draw(st.sampled_from(_OUTCOMES)))]
    return (grant, *(one.model_copy(update=_known(type(one), more)) for one in life))


def _known(kind: type[e.Event], fields: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if name in kind.model_fields}


@cache
def _some(words: Vocabulary) -> st.SearchStrategy[tuple[e.Event, ...]]:
    """Draw an event, or now and then the events of an effect."""
    singly: st.SearchStrategy[tuple[e.Event, ...]] = inside(words).map(lambda one: (one,))
    return st.one_of(singly, singly, singly, acts(words))


@cache
@st.composite
def histories(draw: st.DrawFn, words: Vocabulary = FEW, longest: int = 12) -> History[Contract | None]:
    """Draw runs of any events in any order, with time that moves on between them."""
    history = given(draw(event(e.RunOpened, words)), at=NOON)
    for some in draw(st.lists(_some(words), min_size=longest // 2, max_size=longest)):
        history = history.later(seconds=draw(SPANS)).also(*some)
    return history


@cache
def asked() -> st.SearchStrategy[c.Command]:
    """Draw commands that this release performs."""
    return st.sampled_from(_ASKING).flatmap(lambda kind: command(kind, FEW))


SOURCES = st.sampled_from(["policy:refunds", "policy:mail"])


@cache
@st.composite
def decided(draw: st.DrawFn, longest: int = 30) -> History[Contract | None]:
    """Draw runs of what commands were decided to yield, with sources that move beside them."""
    history = given(at=NOON).when(draw(command(c.OpenRun, FEW))).after
    sources: dict[str, History[SourceState]] = {}
    for one in draw(st.lists(asked(), min_size=longest // 2, max_size=longest)):
        history = history.by(draw(ACTORS)).later(seconds=draw(SPANS))
        if one.stream == "source":
            name = draw(SOURCES)
            source = sources.get(name) or given_source(name)
            sources[name] = source.by(history.actor).at(history.now).when(one).after
            history = history.beside(sources[name])
        else:
            history = history.when(about_what_waits(history, one)).after
        history = _going_on(history, one)
    return history


def about_what_waits(history: History[Contract | None], one: c.Command) -> c.Command:
    """Speak of what waits for a person, whose names are digests that nobody guesses."""
    approvals = history.contract.approvals
    if approvals and isinstance(one, c.AnswerApproval):
        return one.with_fields({"id": approvals[-1].id})
    if approvals and isinstance(one, c.RequestApproval):
        return one.with_fields({"key": approvals[-1].key})
    return one


def _going_on(history: History[Contract | None], one: c.Command) -> History[Contract | None]:
    """Resume a run that was stopped once it was asked for something, so that most of it goes on."""
    contract = history.contract
    if contract.status not in ("suspended", "held") or isinstance(one, c.SuspendRun | c.ResumeRun):
        return history
    incarnation = contract.incarnation + 1
    return history.also(e.RunResumed(gap_seconds=0, incarnation=incarnation, prompt_digest="d" * 64))
