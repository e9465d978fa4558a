"""Runs that keep and break rules: what happened, minute by minute from nine o'clock on.

Events are imported, so that acts stand beside rules that would have refused them. Positions stand behind each
line; an act takes three: intent, start, outcome.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from ledger import Actor, Ledger
from ledger import events as e
from ledger.canonical import canonical_text
from ledger.run.keys import act_key, effect_key
from ledger.values import ErrorSaid, Operator, Payload, Predicate, Recovery, Rule, Source
from tests.projections.conftest import SetClock
from tests.projections.questions.telling import Teller

AGENT, KIM = Actor("agent:desk", session="s-1"), Actor("human:kim")


def minute(number: int) -> datetime:
    return datetime(2026, 1, 31, 9, number, tzinfo=UTC)


def written(number: int) -> str:
    """Write a minute as records do."""
    return f"2026-01-31T09:{number:02}:00.000000Z"


def at_most(limit: str) -> Rule:
    return Rule(
        require=(Predicate(operator=Operator.AT_MOST, path="/amount", value=limit),), tools=("refund",)
    )


def accepted(id: str, rule: Rule | None = None, **more: Any) -> e.ConstraintAccepted:
    fields = {"accepted_by": "agent:desk", "asserted_by": "human:kim", "text": f"words of {id}"}
    return e.ConstraintAccepted(id=id, rule=rule, **{**fields, **more})


def key_of(run: str, tool: str, **args: Any) -> str:
    return effect_key("default", run, None, tool, None, canonical_text(args))


class Book:
    """Writes runs into a ledger."""

    def __init__(self, ledger: Ledger, clock: SetClock) -> None:
        self.clock = clock
        self.teller = Teller(ledger, clock, AGENT)

    def at(self, number: int) -> Book:
        self.clock.now = minute(number)
        return self

    def say(self, run: str, *events: e.Event, by: Actor = AGENT) -> int:
        return self.teller.say(run, *events, by=by)

    def act(
        self, run: str, tool: str = "refund", *, intent: dict[str, Any] | None = None, **args: Any
    ) -> str:
        """Say that an act was intended, begun and done; return its key."""
        key = key_of(run, tool, **args)
        self.say(run, *life(run, tool, intent=intent, **args))
        return key


def life(
    run: str, tool: str = "refund", *, intent: dict[str, Any] | None = None, **args: Any
) -> list[e.Event]:
    """Return the intent, the start and the success of an act."""
    key, text = key_of(run, tool, **args), canonical_text(args)
    return [
        e.EffectIntended(
            **{
                "act": act_key("default", run, tool, text),
                "args": text,
                "key": key,
                "key_scheme": "v1",
                "recovery": Recovery.QUERYABLE,
                "tool": tool,
                **(intent or {}),
            }
        ),
        e.EffectStarted(attempt=1, key=key, lease_until=minute(59), root=run, worker="w-1"),
        e.EffectSucceeded(attempt=1, key=key, result=Payload(json_text="true")),
    ]


def strays(plans: list[str]) -> list[str]:
    """Return those steps of plans that read rows of a table by neither a run nor a key."""
    return [plan for plan in plans if "projection_" in plan and not re.search(r"\b(run|key)=\?", plan)]


def opened(goal: str = "Refund") -> e.RunOpened:
    return e.RunOpened(goal=goal)


def recorded(book: Book) -> None:
    """Record rules: in force, superseded, withdrawn, taken up again."""
    book.at(0).say("run-1", opened())  # 1
    book.at(1).act("run-1", amount="500")  # 2: before any rule
    book.at(2).say("run-1", accepted("limit", at_most("100"), source=_source("1"), source_position=0))  # 5
    book.at(3).act("run-1", amount="100.00")  # 6: kept to
    book.at(4).act("run-1", amount="100.01")  # 9: broken
    book.at(5).act("run-1", "mail", amount="900")  # 12: a tool the rule does not speak of
    book.at(6).say("run-1", accepted("limit", at_most("200"), supersedes=5))  # 15
    book.at(7).act("run-1", amount="150")  # 16: kept to
    book.at(8).act("run-1", amount="201")  # 19: broken
    book.at(9).say("run-1", e.ConstraintWithdrawn(by="human:kim", id="limit", reason="enough"))  # 22
    book.at(10).act("run-1", amount="300")  # 23
    book.at(11).say("run-1", accepted("limit", at_most("50")))  # 26
    book.at(12).act("run-1", amount="51")  # 27: broken
    book.at(13).say("run-1", e.EffectIntended(**_intent("run-1", amount="99")))  # 30: never begun


def undecided(book: Book) -> None:
    """Ask for what an effect does not say, and deny a tool."""
    rule = Rule(deny=("delete",), resources=("order:1", "order:2"), tenants=("acme",))
    book.at(14).say("run-2", opened(), accepted("own", rule))  # 1, 2
    book.at(15).act("run-2", "delete", order=1, intent={"resource": "order:1"})  # 3
    book.at(16).act("run-2", "look", order=3, intent={"resource": "order:3"})  # 6
    book.at(17).act("run-2", "look", order=4)  # 9


def approved(book: Book) -> None:
    """Want approvals: given, denied first, not given, too late, after the start, and by who may not."""
    rule = Rule(needs_approval=True, tools=("refund",))
    book.at(18).say("run-3", opened(), accepted("ask", rule))  # 1, 2
    for number, (answer, second) in enumerate(
        [("approved", None), ("denied", "approved"), (None, None)], start=1
    ):
        book.at(18 + number)
        key = key_of("run-3", "refund", amount=number)
        book.say("run-3", e.ApprovalRequested(id=f"a-{number}", key=key, expires_at=minute(40)))
        for one in (answer, second):
            if one is not None:
                book.say("run-3", _answer(f"a-{number}", one), by=KIM)
        book.act("run-3", intent={"approval": f"a-{number}"}, amount=number)
    # 14: asked at 22, answered behind its end at 24, and done all the same
    key = key_of("run-3", "refund", amount=4)
    book.at(22).say("run-3", e.ApprovalRequested(id="a-4", key=key, expires_at=minute(23)))
    book.at(24).say("run-3", _answer("a-4", "approved"), by=KIM)
    book.act("run-3", intent={"approval": "a-4"}, amount=4)
    # approved when it had begun
    key = key_of("run-3", "refund", amount=5)
    begun = life("run-3", intent={"approval": "a-5"}, amount=5)
    book.at(25).say("run-3", e.ApprovalRequested(id="a-5", key=key), *begun[:2])
    book.say("run-3", _answer("a-5", "approved"), by=KIM)
    book.say("run-3", begun[2])
    book.at(26).act("run-3", "mail", amount=6)
    # approved, and begun without saying so; and on the approval of another act
    key = key_of("run-3", "refund", amount=7)
    book.at(27).say("run-3", e.ApprovalRequested(id="a-7", key=key))
    book.say("run-3", _answer("a-7", "approved"), by=KIM)
    book.act("run-3", amount=7)
    book.act("run-3", intent={"approval": "a-7"}, amount=8)
    # by an agent, by who had asked, and by the agent that says it was Kim
    answers = {9: ("agent:checker", KIM), 10: ("human:kim", KIM), 11: ("human:kim", AGENT)}
    for number, (by, writer) in answers.items():
        key = key_of("run-3", "refund", amount=number)
        asked = e.ApprovalRequested(id=f"a-{number}", key=key)
        book.at(28).say("run-3", asked, by=KIM if number == 10 else AGENT)
        book.say("run-3", e.ApprovalAnswered(id=f"a-{number}", answer="approved", by=by), by=writer)
        book.act("run-3", intent={"approval": f"a-{number}"}, amount=number)


def corrected(book: Book) -> None:
    """Accept rules whose own times are not those at which they were recorded."""
    book.at(30).say("run-4", opened())  # 1
    book.at(31).act("run-4", amount="80")  # 2: before anything was asserted
    book.at(33).act("run-4", amount="81")  # 5: asserted, not accepted
    book.at(34).say("run-4", accepted("asserted", at_most("50"), asserted_at=minute(32)))  # 8
    book.at(35).act("run-4", amount="82")  # 9: in force in both views
    # 12: reworded at 36, and valid from 35 on by its own time: 82 was fine
    book.at(36).say("run-4", accepted("asserted", at_most("90"), valid_from=minute(35), supersedes=8))
    book.at(37).act("run-4", amount="91")  # 13: broken in both
    book.at(38).say("run-4", e.ConstraintWithdrawn(by="human:kim", id="asserted", reason="enough"))  # 16
    book.at(39).act("run-4", amount="92")  # 17
    book.at(40).say("run-5", opened(), accepted("ended", at_most("10"), valid_until=minute(41)))  # 1, 2
    book.at(41).act("run-5", amount="83")  # 3: in force by the record only
    # 6: what happened before the end, as the outside said later
    intent, start, _ = life("run-5", amount="84")
    done = e.EffectSucceeded(attempt=1, key=key_of("run-5", "refund", amount="84"), occurred_at=minute(40))
    book.at(42).say("run-5", intent, start, done)


def imported(book: Book) -> None:
    """Import an act that has no start, and one that failed, which was begun as well."""
    book.at(45).say("run-6", opened(), accepted("limit", at_most("10")))  # 1, 2
    intent, _, done = life("run-6", amount="11", intent={"witnessed": False})
    book.at(46).say("run-6", intent, done)  # 3, 4
    intent, start, _ = life("run-6", amount="12")
    failed = e.EffectFailed(
        attempt=1, key=key_of("run-6", "refund", amount="12"), error=ErrorSaid(message="no", type="No")
    )
    book.at(47).say("run-6", intent, start, failed)  # 5


def _source(revision: str) -> Source:
    return Source("policy", "refunds", revision=revision)


def _answer(id: str, answer: Any) -> e.ApprovalAnswered:
    return e.ApprovalAnswered(id=id, answer=answer, by="human:kim")


def _intent(run: str, **args: Any) -> dict[str, Any]:
    intent = life(run, **args)[0]
    return {name: getattr(intent, name) for name in type(intent).model_fields}
