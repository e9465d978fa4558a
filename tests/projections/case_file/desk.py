"""Who works at the refund desk, and the words they often use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ledger.canonical import canonical_text
from ledger.events import (
    ConstraintAccepted,
    EffectIntended,
    EffectStarted,
    EffectSucceeded,
    Event,
    RunOpened,
)
from ledger.run.keys import act_key, effect_key
from ledger.values import Actor, Change, Payload, Recovery, Rule, Runtime, Source
from tests.projections.case_file.pen import TENANT, Pen, when

AGENT = Actor("agent:desk", session="s-1", authenticated_by="mtls")
"""The agent that works on refunds, at its usual post."""
KIM = Actor("human:kim", session="web-7", authenticated_by="oidc", role="lead")
"""Leads the desk."""
LEE = Actor("human:lee", session="web-9", authenticated_by="oidc", role="reviewer")
"""Reviews for compliance."""
SAM = Actor("human:sam")
"""Works at the desk; nobody proved who wrote as Sam."""
RELAY = Actor("service:relay", authenticated_by="token", on_behalf_of=("human:kim",))
"""Carries what people do in another program into the ledger."""

MODEL_4 = Runtime(model="atlas-4", prompt="p-2026-02", tool_schema="t-7")
MODEL_5 = Runtime(model="atlas-5", prompt="p-2026-03", tool_schema="t-7")

REFUNDS = "$source:policy:refunds"
PRIVACY = "$source:policy:privacy"

LIMIT_100 = "Never refund more than 100 EUR"
LIMIT_50 = "Never refund more than 50 EUR"


def args_of(**args: Any) -> str:
    """Write arguments as records hold them."""
    return canonical_text(args)


def opened(goal: str, **more: Any) -> RunOpened:
    """Begin a run of the desk."""
    return RunOpened(goal=goal, **{"owner": "human:kim", "runtime": MODEL_4, **more})


def accepted(
    id: str,
    text: str,
    *,
    revision: str | None = None,
    source_position: int | None = None,
    rule: Rule | None = None,
    **more: Any,
) -> ConstraintAccepted:
    """Accept a constraint; with a revision it comes from the policy of refunds."""
    source = None if revision is None else Source("policy", "refunds", revision=revision)
    fields: dict[str, Any] = {
        "accepted_by": "agent:desk",
        "asserted_by": "human:kim",
        "id": id,
        "rule": rule,
        "source": source,
        "source_position": source_position,
        "published": None if revision is None else True,
        "text": text,
        **more,
    }
    return ConstraintAccepted(**fields)


def key_of(root: str, step: str, tool: str, occurrence: str | None = None, **args: Any) -> str:
    """Name an act of the story as the ledger does."""
    return effect_key(TENANT, root, step, tool, occurrence, args_of(**args))


class Act:
    """One act of a run: what it says when it is intended, when it starts, and when it has succeeded."""

    def __init__(
        self,
        run: str,
        step: str,
        tool: str,
        args: Mapping[str, Any],
        *,
        root: str | None = None,
        occurrence: str | None = None,
        recovery: Recovery = Recovery.QUERYABLE,
        **more: Any,
    ) -> None:
        text = json.dumps(args, sort_keys=True, separators=(",", ":"))
        self.run = run
        self.root = root or run
        self.key = effect_key(TENANT, self.root, step, tool, occurrence, text)
        self.act = act_key(TENANT, self.root, tool, text)
        self._intent: dict[str, Any] = {
            "act": self.act,
            "args": text,
            "key": self.key,
            "key_scheme": "v1",
            "occurrence": occurrence,
            "recovery": recovery,
            "step": step,
            "tool": tool,
            "tool_schema": "5" * 64,
            **more,
        }

    def intended(self, **more: Any) -> EffectIntended:
        """Say that the run is about to act."""
        return EffectIntended(**{**self._intent, **more})

    def started(self, attempt: int = 1, *, until: str, worker: str = "w-1") -> EffectStarted:
        """Say that a worker calls."""
        return EffectStarted(
            attempt=attempt, key=self.key, lease_until=when(until), root=self.root, worker=worker
        )

    def succeeded(self, attempt: int = 1) -> EffectSucceeded:
        """Say that the outside said yes."""
        result = Payload(json_text='{"done":true}')
        return EffectSucceeded(attempt=attempt, key=self.key, result=result)


def done(pen: Pen, act: Act, actor: Actor = AGENT, *, until: str, **more: Any) -> None:
    """Write an act that succeeds at once: three events, at one time."""
    events: tuple[Event, ...] = (act.intended(**more), act.started(until=until), act.succeeded())
    pen.say(act.run, actor, *events)


RELAXED, TIGHTENED, REWORDED = Change.RELAXED, Change.TIGHTENED, Change.REWORDED
