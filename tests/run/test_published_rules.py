"""A rule that a source publishes with its words binds who accepts the words."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import events as e
from ledger.run.sources import SourceState
from ledger.testing import START, History, given, given_source
from ledger.values import Actor, Change, Operator, Predicate, Published, Rule, Source
from tests.run import examples as x

REFUNDS = Source("policy", "refunds")
TEXT = "Never refund more than 100 EUR"
STRICTER = Rule(require=(Predicate(operator=Operator.AT_MOST, path="/amount", value="50"),))
LAXER = Rule(require=(Predicate(operator=Operator.AT_MOST, path="/amount", value="500"),))
NOTHING = Rule()
FROM: dict[str, Any] = {"source": x.POLICY, "source_position": 1}

AGENT, PERSON = Actor("agent:refunds"), Actor("human:kim")
FOR_AN_AGENT = Actor("service:api", on_behalf_of=("agent:refunds",))


def saying(rule: Rule | None = x.AT_MOST_100, *more: e.Event) -> History[SourceState]:
    return given_source("policy:refunds", x.published(Published(id="limit-100", rule=rule, text=TEXT)), *more)


def beside(who: Actor, source: History[SourceState] | None = None) -> Any:
    return given(x.opened()).beside(source or saying()).by(who)


def accept(**more: Any) -> Any:
    return x.accept(**{"text": TEXT, "accepted_by": "human:lee", "source": REFUNDS, **more})


def accepted(**more: Any) -> e.ConstraintAccepted:
    return x.accepted(**{"text": TEXT, "accepted_by": "human:lee", **FROM, **more})


@pytest.mark.parametrize("who", [AGENT, PERSON, FOR_AN_AGENT])
def test_the_words_of_a_source_bring_its_rule(who: Actor) -> None:
    history = beside(who).when(accept()).then(accepted(published=True, rule=x.AT_MOST_100))
    history.when(accept()).then_stands_at(2)
    history.when(accept(rule=x.AT_MOST_100)).then_stands_at(2)
    history.when(accept(rule=NOTHING)).then_refused("id_in_use", position=2)


def test_words_that_are_published_without_a_rule_have_none() -> None:
    beside(AGENT, saying(None)).when(accept()).then(accepted(published=True))


def test_the_rule_of_another_item_is_not_taken() -> None:
    command = accept(source=Source("policy", "refunds", item="kind"))
    event = accepted(published=False, source=Source("policy", "refunds", revision="4", item="kind"))
    beside(AGENT).when(command).then(event)


UNRULED: list[dict[str, Any]] = [
    {"rule": NOTHING},
    {"rule": LAXER},
    {"rule": Rule(needs_approval=True)},
    {"text": "Refund as you like"},
    {"text": "Refund as you like", "rule": LAXER},
]


@pytest.mark.parametrize("otherwise", UNRULED)
def test_another_rule_is_claimed_by_people_and_refused_to_agents(otherwise: dict[str, Any]) -> None:
    beside(PERSON).when(accept(**otherwise)).then(accepted(published=False, **otherwise))
    for agent in (AGENT, FOR_AN_AGENT):
        beside(agent).when(accept(**otherwise)).then_refused("not_for_agents")


@pytest.mark.parametrize("time", [{"valid_until": START + x.HOUR}, {"valid_from": START + x.HOUR}])
def test_an_agent_does_not_accept_a_published_rule_for_a_time_of_its_own(time: dict[str, Any]) -> None:
    beside(AGENT).when(accept(**time)).then_refused("not_for_agents")
    beside(PERSON).when(accept(**time)).then(accepted(published=True, rule=x.AT_MOST_100, **time))
    beside(AGENT, saying(None)).when(accept(**time)).then(accepted(published=True, **time))
    since = {"valid_from": START}
    beside(AGENT).when(accept(**since)).then(accepted(published=True, rule=x.AT_MOST_100, **since))


@pytest.mark.parametrize("text", [TEXT, "Never refund more than 50 EUR"])
def test_an_agent_may_bind_itself_more_than_the_source_does(text: str) -> None:
    stricter = {"rule": STRICTER, "text": text}
    beside(AGENT).when(accept(**stricter)).then(accepted(published=False, **stricter))


def test_a_rule_that_the_source_adds_later_is_new_words() -> None:
    """Who accepted only words is not bound silently: the run learns of it, and accepts the rule by name."""
    revised = x.published(revision="5").with_fields(
        {"added": (), "reworded": (Published(id="limit-100", rule=x.AT_MOST_100, text=TEXT),)}
    )
    history = given(x.opened(), accepted(published=True)).beside(saying(None, revised)).by(AGENT)
    history.when(accept()).then_refused("id_in_use", position=2)
    now = {
        **FROM,
        "source": Source("policy", "refunds", revision="5"),
        "source_position": 2,
        "published": True,
    }
    event = accepted(**now, rule=x.AT_MOST_100, change=Change.TIGHTENED, supersedes=2)
    history.when(accept(change=Change.TIGHTENED)).then(event)
    history.when(accept(change=Change.REWORDED, rule=NOTHING)).then_refused("not_for_agents", position=2)


def test_a_revision_that_had_another_rule_is_not_taken_for_the_one_that_has_this() -> None:
    revised = x.published(revision="5").with_fields(
        {"added": (), "reworded": (Published(id="limit-100", rule=STRICTER, text=TEXT),)}
    )
    command = accept(source=x.POLICY)
    beside(PERSON, saying(x.AT_MOST_100, revised)).when(command).then_refused("contract_changed")
