"""A desk that asks before it pays: what tests of approvals begin with."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from ledger import Actor, Ledger
from ledger.events import (
    ApprovalAnswered,
    ApprovalRequested,
    EffectIntended,
    EffectStarted,
    Event,
    RunOpened,
)
from ledger.run.keys import act_key, effect_key, runtime_digest
from ledger.values import Recovery, Runtime
from tests.projections.conftest import SetClock
from tests.projections.questions.telling import Teller, written

AGENT = Actor("agent:desk", session="s-1", on_behalf_of=("human:max",))
KIM = Actor("human:kim", session="web-7", authenticated_by="oidc", role="lead")
RELAY = Actor("service:relay", authenticated_by="token", on_behalf_of=("human:kim",))
GATEWAY = Actor("service:gateway", on_behalf_of=("agent:desk",))
START = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
OLD, NEW = Runtime(model="m-4", prompt="p-1"), Runtime(model="m-5")
SCHEMA = "5" * 64


def args_of(amount: int) -> str:
    return f'{{"amount":{amount}}}'


def key_of(run: str, amount: int = 120, tool: str = "pay") -> str:
    return effect_key("default", run, None, tool, None, args_of(amount))


def at(seconds: float) -> str:
    """Write a time so many seconds after the beginning."""
    return written(START + timedelta(seconds=seconds))


class Desk(Teller):
    """Says what a desk says: each saying is a minute after the one before."""

    def __init__(self, ledger: Ledger, clock: SetClock) -> None:
        super().__init__(ledger, clock, AGENT)
        self._begun: Counter[str] = Counter()

    def open(self, run: str, *more: Event) -> Desk:
        self.say(run, RunOpened(goal="Pay", runtime=OLD), *more, by=KIM)
        return self

    def intend(self, run: str, amount: int = 120, tool: str = "pay", **more: Any) -> EffectIntended:
        fields: dict[str, Any] = {
            "act": act_key("default", run, tool, args_of(amount)),
            "args": args_of(amount),
            "key": key_of(run, amount, tool),
            "key_scheme": "v1",
            "recovery": Recovery.QUERYABLE,
            "tool": tool,
            "tool_schema": SCHEMA,
        }
        return EffectIntended(**{**fields, **more})

    def ask(self, run: str, id: str = "ok", amount: int = 120, writer: Actor = AGENT, **more: Any) -> int:
        """Intend an act and ask about it; the position of the request is that of the intent and one."""
        fields: dict[str, Any] = {
            "expires_at": self.clock.now + timedelta(hours=1),
            "id": id,
            "key": key_of(run, amount),
            "runtime_digest": runtime_digest(OLD),
            "tool_schema": SCHEMA,
            **more,
        }
        return self.say(run, self.intend(run, amount), ApprovalRequested(**fields), by=writer, after=60)

    def answer(
        self, run: str, id: str = "ok", answer: str = "approved", writer: Actor = KIM, **more: Any
    ) -> int:
        fields: dict[str, Any] = {"answer": answer, "by": "human:kim", "id": id, **more}
        return self.say(run, ApprovalAnswered(**fields), by=writer, after=60)

    def act(self, run: str, amount: int = 120, tool: str = "pay", **more: Any) -> int:
        """Intend an act on an approval, and begin with it."""
        intended = self.intend(run, amount, tool, **{"approval": "ok", **more})
        return self.say(run, intended, self.start(intended.key), after=60)

    def start(self, key: str) -> EffectStarted:
        """Begin with the next attempt."""
        self._begun[key] += 1
        until = self.clock.now + timedelta(hours=1)
        return EffectStarted(attempt=self._begun[key], key=key, lease_until=until, root="r", worker="w-1")
