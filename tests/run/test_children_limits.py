"""A child that an agent opens is limited as its parent is, in all that it does not say more strictly."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.run.decision import Refusal
from ledger.testing import given
from ledger.values import Actor, Limits
from tests.run import examples as x
from tests.run.lineages import KIM, PROGRAM, child

LIMITS = Limits(effects=2, wall_seconds=60)
PARENT = given(x.opened(limits=LIMITS), actor=PROGRAM)
FOR_AGENT = Actor("service:api", on_behalf_of=("agent:refunds",))


def limits(run: Any, **more: Any) -> Limits | None:
    found = run.when(child(**more)).after.other("kid").contract.limits
    assert found is None or isinstance(found, Limits)
    return found


@pytest.mark.parametrize("who", [PROGRAM, FOR_AGENT])
@pytest.mark.parametrize(
    ("said", "found"),
    [
        (None, LIMITS),
        (Limits(effects=1), Limits(effects=1, wall_seconds=60)),
        (Limits(effects=2, steps=5), Limits(effects=2, steps=5, wall_seconds=60)),
    ],
)
def test_what_is_not_said_is_as_in_the_parent(who: Actor, said: Limits | None, found: Limits) -> None:
    assert limits(PARENT.by(who), limits=said) == found


@pytest.mark.parametrize(
    ("said", "name"), [(Limits(effects=3), "effects"), (Limits(effects=1, wall_seconds=61), "wall_seconds")]
)
@pytest.mark.parametrize("who", [PROGRAM, FOR_AGENT])
def test_nothing_is_wider_than_in_the_parent(who: Actor, said: Limits, name: str) -> None:
    refusal = PARENT.by(who).when(child(limits=said)).decision
    assert isinstance(refusal, Refusal)
    assert (refusal.rule, refusal.evidence["limit"]) == ("not_for_agents", name)


def test_what_a_service_says_that_an_agent_decided_is_an_agent_s() -> None:
    relayed = PARENT.by(Actor("service:api"))
    assert limits(relayed, by="agent:refunds") == LIMITS
    relayed.when(child(by="agent:refunds", limits=Limits(effects=3))).then_refused("not_for_agents")


def test_a_person_gives_a_child_what_limits_they_want() -> None:
    assert limits(PARENT.by(KIM)) is None
    assert limits(PARENT.by(KIM), limits=Limits(effects=30)) == Limits(effects=30)


def test_where_the_parent_has_none_an_agent_says_what_it_wants() -> None:
    free = given(x.opened(), actor=PROGRAM)
    assert limits(free) is None
    assert limits(free, limits=Limits(effects=30)) == Limits(effects=30)
