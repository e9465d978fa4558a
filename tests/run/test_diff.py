"""Contracts differ in what they hold, not where it was said; their differences lead from one to the other."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given as draws
from hypothesis import strategies as st

from ledger import events as e
from ledger.run.compared import SECTIONS, members_of
from ledger.run.contract import Contract
from ledger.run.diff import Difference, diff, side_of
from ledger.run.tracing import with_origins
from ledger.testing import START, History, given
from ledger.values import Ending, Limits, Runtime, Source, Step, Verdict
from tests.run import examples as x
from tests.run.histories import histories

MIRRORED = {"added": "removed", "removed": "added", "changed": "changed", "moved": "moved"}
LEFT_OUT = {
    "adopted",
    "alive",
    "allowance",
    "at",
    "fork_of",
    "format",
    "freed_from",
    "hash",
    "meanwhile",
    "messages",
    "opened_at",
    "parent",
    "position",
    "predecessor",
    "refuted",
    "resumed_at",
    "resumed_position",
    "review",
    "revoked",
    "run",
    "runtime_position",
    "saved",
    "stopped",
    "summary",
    "tally",
    "tenant",
    "terms",
}
"""Where and when, whose, counts, messages, the program's own states, and what was said meanwhile."""

Told = tuple[str, str | None, str]


def told(*differences: Difference) -> list[Told]:
    return [(one.what, one.id, one.change) for one in differences]


def between(before: list[e.Event], after: list[e.Event]) -> tuple[Difference, ...]:
    """Compare a run before and after some events."""
    history = given(x.opened(), *before)
    return diff(history.contract, history.also(*after).contract)


def plans(*names: str) -> Contract:
    return given(x.opened(), e.PlanCommitted(steps=tuple(Step(name=name) for name in names))).contract


def written(contract: Contract) -> dict[str, dict[Any, Any]]:
    """Write all that is compared of a contract, by kind."""
    return {
        section.what: {key: section.written(one) for key, one in members_of(section, contract).items()}
        for section in SECTIONS
    }


def applied(old: Contract, differences: tuple[Difference, ...]) -> dict[str, dict[Any, Any]]:
    """Go from what is written of a contract to what its differences make of it."""
    members = written(old)
    order = list(members["step"])
    placed: list[tuple[int, Any]] = []
    for one in differences:
        mine = members[one.what]
        if one.what == "step" and one.change != "changed":
            assert isinstance(one.new, dict | None)
            if one.change != "added":
                order.remove(one.key)
            if one.new is not None:
                place = one.new["place"]
                assert isinstance(place, int)
                placed.append((place, one.key))
        if one.change == "removed":
            del mine[one.key]
        elif one.change != "moved":
            content = one.new
            if one.change == "added" and one.what == "step":
                assert isinstance(content, dict)
                content = {name: value for name, value in content.items() if name != "place"}
            mine[one.key] = content
    for place, key in sorted(placed):
        order.insert(place - 1, key)
    members["step"] = {key: members["step"][key] for key in order}
    return members


# --- laws --------------------------------------------------------------------------------------------

PAIRS = st.tuples(histories(longest=8), histories(longest=8)).map(
    lambda two: (two[0].contract, two[1].contract)
)
"""Two runs of few ids, so that they have members in common."""


@draws(history=histories())
def test_a_contract_does_not_differ_from_itself(history: History[Contract | None]) -> None:
    contract = history.contract
    assert diff(contract, contract) == ()
    assert diff(contract, Contract.model_validate_json(contract.model_dump_json())) == ()


@draws(pair=PAIRS)
def test_a_diff_the_other_way_is_its_mirror_image(pair: tuple[Contract, Contract]) -> None:
    forth, back = diff(*pair), diff(*reversed(pair))
    assert [(one.what, one.key, one.change, one.old, one.new) for one in forth] == [
        (one.what, one.key, MIRRORED[one.change], one.new, one.old) for one in back
    ]


@draws(pair=PAIRS)
def test_the_differences_lead_from_one_contract_to_the_other(pair: tuple[Contract, Contract]) -> None:
    old, new = pair
    result, wanted = applied(old, diff(old, new)), written(new)
    assert result == wanted
    assert list(result["step"]) == list(wanted["step"]), "the plan is in order"


@draws(pair=PAIRS)
def test_differences_are_in_order_each_once_and_say_what_differs(pair: tuple[Contract, Contract]) -> None:
    kinds = [section.what for section in SECTIONS]
    found = diff(*pair)
    places = [(kinds.index(one.what), *one.key, one.change == "moved") for one in found]
    assert places == sorted(set(places))
    for one in found:
        assert one.old != one.new
        assert (one.old is None) == (one.change == "added")
        assert (one.new is None) == (one.change == "removed")


@draws(pair=PAIRS)
def test_other_terms_show_as_a_difference_in_what_binds_acts(pair: tuple[Contract, Contract]) -> None:
    old, new = pair
    if old.terms.digest != new.terms.digest:
        assert {one.what for one in diff(old, new)} & {"goal", "constraint", "grant"}


@draws(
    one=st.lists(st.sampled_from("abcdefg"), min_size=1, unique=True),
    other=st.lists(st.sampled_from("abcdefg"), min_size=1, unique=True),
)
def test_as_few_steps_as_can_be_are_said_to_have_moved(one: list[str], other: list[str]) -> None:
    moved = {found.id for found in diff(plans(*one), plans(*other)) if found.change == "moved"}
    common = [name for name in one if name in other]
    best = max(
        (kept for kept in _subsets(common) if kept == [name for name in other if name in kept]), key=len
    )
    assert len(moved) == len(common) - len(best)


def _subsets(names: list[str]) -> list[list[str]]:
    return [[name for n, name in enumerate(names) if mask >> n & 1] for mask in range(1 << len(names))]


@draws(history=histories(), data=st.data())
def test_the_log_names_the_event_that_made_each_difference(
    history: History[Contract | None], data: st.DataObject
) -> None:
    place = data.draw(st.integers(1, history.position))
    old = history.upto(place).contract
    differences = diff(old, history.contract)
    named = with_origins(differences, old, history.records[place:])
    assert [one.with_fields({"origin": None}) for one in named] == [
        one.with_fields({"origin": None}) for one in differences
    ]
    for one in named:
        assert one.origin is not None
        assert one.origin.position is not None
        record = history.records[one.origin.position - 1]
        assert one.origin.position > place
        assert (one.origin.event, one.origin.actor, one.origin.at) == (
            record.name,
            record.actor.id,
            record.at,
        )
        if one.change == "moved":
            continue
        # From that event on it is as it is in the end, and right before it was not.
        before, after = (
            written(history.upto(position).contract)[one.what].get(one.key)
            for position in (record.position - 1, record.position)
        )
        assert before != after
        assert after == written(history.contract)[one.what].get(one.key)


# --- what is compared --------------------------------------------------------------------------------


def test_every_field_of_a_contract_is_compared_or_left_out_on_purpose() -> None:
    compared = {field for section in SECTIONS for field in section.fields}
    assert compared | LEFT_OUT == set(Contract.model_fields)
    assert not compared & LEFT_OUT


CHANGES: list[tuple[list[e.Event], list[e.Event], list[Told]]] = [
    ([], [e.GoalRevised(by="human:kim", reason="asked", text="Other")], [("goal", None, "changed")]),
    ([], [x.accepted()], [("constraint", "limit-100", "added")]),
    ([x.accepted()], [x.accepted(text="At most 50 EUR")], [("constraint", "limit-100", "changed")]),
    ([x.accepted()], [x.accepted(rule=x.AT_MOST_100)], [("constraint", "limit-100", "changed")]),
    (
        [x.accepted(source=x.POLICY, source_position=1, published=True)],
        [x.accepted(source=Source("policy", "refunds", revision="5"), source_position=1, published=True)],
        [("constraint", "limit-100", "changed"), ("source", "policy:refunds", "changed")],
    ),
    ([x.accepted()], [x.accepted(valid_until=START + x.HOUR)], [("constraint", "limit-100", "changed")]),
    ([x.accepted()], [x.accepted()], []),
    (
        [x.accepted()],
        [e.ConstraintWithdrawn(by="human:kim", id="limit-100", reason="gone")],
        [("constraint", "limit-100", "removed")],
    ),
    ([], [e.AssumptionMade(id="a", text="In stock")], [("assumption", "a", "added")]),
    (
        [
            e.PlanCommitted(steps=(Step(name="pay", rests_on=("assumption:a",)),)),
            e.AssumptionMade(id="a", text="In"),
        ],
        [e.AssumptionRefuted(id="a", evidence="an empty shelf")],
        [("assumption", "a", "changed")],
    ),
    ([], [e.ObligationOpened(id="o", owed_to="customer:17", text="Tell")], [("obligation", "o", "added")]),
    (
        [e.ObligationOpened(id="o", owed_to="customer:17", text="Tell")],
        [e.ObligationDischarged(id="o", evidence="mail 42")],
        [("obligation", "o", "removed")],
    ),
    ([], [x.granted()], [("grant", "refunds", "added"), ("authority_needed", None, "changed")]),
    (
        [x.granted()],
        [e.AuthorityRenewed(by="human:kim", id="refunds", session="s-2")],
        [("grant", "refunds", "changed")],
    ),
    (
        [x.granted()],
        [e.AuthorityRevoked(by="human:kim", id="refunds", reason="r")],
        [("grant", "refunds", "removed")],
    ),
    ([], [x.observed()], [("observation", "stock", "added")]),
    (
        [x.observed()],
        [e.ObservationInvalidated(key="stock", reason="miscounted")],
        [("observation", "stock", "changed")],
    ),
    ([], [x.intended()], [("effect", x.ONE, "added")]),
    ([x.intended()], [x.started()], [("effect", x.ONE, "changed")]),
    ([x.intended(), x.started()], [e.EffectSucceeded(attempt=1, key=x.ONE)], [("effect", x.ONE, "removed")]),
    ([], [e.ApprovalRequested(id="ok", key=x.ONE)], [("approval", "ok", "added")]),
    (
        [e.ApprovalRequested(id="ok", key=x.ONE)],
        [e.ApprovalAnswered(answer="denied", by="human:kim", id="ok")],
        [("approval", "ok", "changed")],
    ),
    (
        [],
        [e.RuntimeAdopted(by="human:kim", reason="upgrade", runtime=Runtime(model="m-2", prompt="p-1"))],
        [("runtime", "model", "added"), ("runtime", "prompt", "added")],
    ),
    ([], [e.CursorMoved(node="pay")], [("cursor", None, "added")]),
    ([e.CursorMoved(node="pay")], [e.CursorMoved(node="pay")], []),
    ([], [x.SUSPENDED], [("status", None, "changed")]),
    ([x.SUSPENDED], [x.HELD], [("status", None, "changed")]),
    ([x.HELD], [e.ResumeRefused(reasons=(), verdict=Verdict.RESTART)], [("status", None, "changed")]),
    ([x.SUSPENDED], [x.RESUMED], [("status", None, "changed"), ("incarnation", None, "changed")]),
    ([], [x.CLOSED], [("status", None, "changed")]),
    ([], [x.message()], []),
    ([], [e.ReviewSigned(by="human:kim", hash="e" * 64, head=1, meaning="noted")], []),
]


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES)
def test_what_an_event_changes_shows_and_nothing_else(
    before: list[e.Event], after: list[e.Event], expected: list[Told]
) -> None:
    assert told(*between(before, after)) == expected


def test_what_runs_were_opened_with_is_compared_field_by_field() -> None:
    one = given(
        x.opened(labels={"team": "a", "shop": "x"}, limits=Limits(steps=5, effects=2), owner="human:kim")
    )
    other = given(
        x.opened(labels={"team": "b"}, limits=Limits(steps=9), thread="t", runtime=Runtime(model="m"))
    )
    found = diff(one.contract, other.contract)
    assert [(one.what, one.id, one.old, one.new) for one in found] == [
        ("runtime", "model", None, "m"),
        ("limit", "effects", 2, None),
        ("limit", "steps", 5, 9),
        ("label", "shop", "x", None),
        ("label", "team", "a", "b"),
        ("owner", None, "human:kim", None),
        ("thread", None, None, "t"),
    ]


def test_where_and_when_something_was_said_is_no_difference_between_two_runs() -> None:
    said = [x.accepted(), x.observed(), e.ObligationOpened(id="o", owed_to="customer:17", text="Tell")]
    one = given(x.opened(), *said)
    other = given(x.opened(), x.message(), at=START + x.HOUR).also(*reversed(said))
    assert diff(one.contract, other.contract) == ()


def test_a_revised_goal_shows_both_texts_who_and_why() -> None:
    (found,) = between([], [e.GoalRevised(by="human:kim", reason="customer asked", text="Refund and tell")])
    assert found.old == {"text": "Refund order 17"}
    assert found.new == {"text": "Refund and tell"}
    assert found.fields == ("text",)
    assert found.origin is not None
    assert (found.origin.by, found.origin.reason, found.origin.position) == ("human:kim", "customer asked", 2)


def test_what_is_spent_shows_in_the_grant_and_leaves_the_terms_alone() -> None:
    history = given(x.opened(), x.granted(budget={"EUR": Decimal("100.00")})).also(
        x.intended(authority=("refunds",), reserved=x.EUR_10), x.started()
    )
    later = history.also(e.EffectSucceeded(attempt=1, cost=x.EUR_10, key=x.ONE))
    grant, effect = diff(history.contract, later.contract)
    assert (grant.what, grant.fields) == ("grant", ("reserved", "spent"))
    assert grant.origin is None, "the contract says who granted, not who spent"
    assert (effect.what, effect.change, effect.origin) == ("effect", "removed", None)
    assert side_of(history.contract).terms.digest == side_of(later.contract).terms.digest
    named = with_origins((grant, effect), history.contract, later.records[history.position :])
    assert [one.origin and (one.origin.event, one.origin.position) for one in named] == [
        ("effect.succeeded", 5)
    ] * 2


# --- plans -------------------------------------------------------------------------------------------


def test_the_same_plan_made_again_is_no_difference() -> None:
    steps = (Step(name="look"), Step(name="pay", tool="refund"))
    one = given(x.opened(), e.PlanCommitted(steps=steps, by="agent:a"))
    other = given(x.opened(), x.message(), e.PlanCommitted(steps=(Step(name="old"),))).also(
        e.PlanRevised(reason="made again", steps=steps)
    )
    assert diff(one.contract, other.contract) == ()


PLANS = [
    ("look pay tell", "look tell", [("pay", "removed", {"place": 2}, None)]),
    ("look pay", "check look pay", [("check", "added", None, {"place": 1})]),
    ("look pay tell", "pay tell look", [("look", "moved", {"place": 1}, {"place": 3})]),
    ("look pay tell", "tell look pay", [("tell", "moved", {"place": 3}, {"place": 1})]),
    (
        "look pay",
        "look mail",
        [("mail", "added", None, {"place": 2}), ("pay", "removed", {"place": 2}, None)],
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), PLANS)
def test_steps_are_compared_by_name(
    before: str, after: str, expected: list[tuple[str, str, dict[str, int] | None, dict[str, int] | None]]
) -> None:
    found = diff(plans(*before.split()), plans(*after.split()))
    places = [
        (
            one.id,
            one.change,
            *({"place": side["place"]} if isinstance(side, dict) else None for side in (one.old, one.new)),
        )
        for one in found
    ]
    assert places == expected


def test_a_step_that_changed_and_moved_shows_as_both() -> None:
    one = given(x.opened(), e.PlanCommitted(steps=(Step(name="a"), Step(name="b"), Step(name="c"))))
    other = given(
        x.opened(), e.PlanCommitted(steps=(Step(name="b"), Step(name="c"), Step(name="a", tool="t")))
    )
    changed, moved = diff(one.contract, other.contract)
    assert (changed.change, changed.fields, changed.old, changed.new) == (
        "changed",
        ("tool",),
        {},
        {"tool": "t"},
    )
    assert (moved.change, moved.old, moved.new) == ("moved", {"place": 1}, {"place": 3})


def test_steps_of_one_name_are_told_apart_by_their_number() -> None:
    (found,) = diff(plans("pay", "pay"), plans("pay", "pay", "pay"))
    assert (found.id, found.nth, found.change, found.new) == ("pay", 3, "added", {"place": 3})


def test_a_successor_differs_by_what_it_did_not_take_over() -> None:
    old = given(x.opened(), x.accepted(), x.accepted("kind", text="Be kind"), x.CLOSED)
    new = given(*x.SUCCESSOR_EVENTS, x.accepted("kind", text="Be kind"), run="run-9")
    assert told(*diff(old.contract, new.contract)) == [
        ("constraint", "limit-100", "removed"),
        ("effect", x.ONE, "added"),
        ("status", None, "changed"),
    ]
    found = diff(old.contract, new.contract)[-1]
    assert (found.old, found.new) == ({"outcome": Ending.FAILED, "status": "closed"}, {"status": "open"})
