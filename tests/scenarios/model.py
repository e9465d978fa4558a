"""A stand-in for a model: it follows what it is shown, and nothing else.

It is shown a block that states the contract, where there is one, and the last messages. It works towards the
goal of the block; without a block towards what the last user message asks, as a model does that reads on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ledger import Run
from tests.scenarios.till import Till

ORDER = re.compile(r"order (\d+)")
NEVER = re.compile(r"Never refund order (\d+)")


class Message(NamedTuple):
    role: str
    content: str


def asked(block: str | None, messages: Sequence[Message]) -> list[int]:
    """Return the orders that the model would pay back."""
    goal = _goal(block) if block is not None else _last_wish(messages)
    never = {int(order) for order in NEVER.findall(block or "")}
    return [order for order in map(int, ORDER.findall(goal)) if order not in never]


def _goal(block: str) -> str:
    """Read the goal: what stands under its heading, up to the next one."""
    _, _, rest = block.partition("## Goal\n")
    return rest.partition("\n#")[0]


def _last_wish(messages: Sequence[Message]) -> str:
    return next((one.content for one in reversed(messages) if one.role == "user"), "")


def work(
    run: Run,
    block: str | None,
    messages: Sequence[Message],
    till: Till,
    recovery: str = "queryable",
    then: Callable[[], object] = lambda: None,
) -> None:
    """Do what the model asks for, calling `then` after each order; what was done is found by its key."""
    tool = till.tool(recovery)
    for order in asked(block, messages):
        run.perform(tool, {"order": order}, step=f"pay-{order}")
        run.move(f"paid-{order}")
        then()
