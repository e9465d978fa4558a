"""The outside that a replay acts on: tools as a program declares them, and what a tools file says of them.

A recorded result says by its words that it was refused (`failed_if`), where a program raises. Here a function
may do either: what it returns is refused where the tools file says so, what it raises where its own tool
declares the exception (`definite_errors`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from ledger.adapters.transcripts import tools as declarations
from ledger.canonical import canonical_text, invalid
from ledger.errors import InvalidInput
from ledger.gateway.answers import Outcome
from ledger.gateway.tools import Function, Tool
from ledger.values import Recovery


class RefusedOutside(Exception):
    """The outside said no, and did nothing; its words are the message."""


class ReadFailed(Exception):
    """What only reads raised; the exception is its cause."""


class Outside:
    """The tools that a replay calls, by name."""

    def __init__(self, tools: Iterable[Tool], declared: declarations.Tools) -> None:
        """Put together what acts and what is declared of it.

        Raises:
            InvalidInput: a tool has no function, two have one name, or the declarations contradict each
                other.
        """
        self.calls = 0
        """How often a function was called."""
        self._declared = declared
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise invalid("outside", f"two tools are named {tool.name!r}")
            self._tools[tool.name] = self._bound(tool, declared.tools.get(tool.name))

    def find(self, name: str) -> Tool | None:
        """Return the tool of a name; None where the outside offers none."""
        return self._tools.get(name)

    def refuses(self, name: str, answer: str) -> bool:
        """Tell whether an answer of a tool is a refusal, by the tools file."""
        return self._declared.of(name).failed(answer)

    def _bound(self, tool: Tool, declared: declarations.Tool | None) -> Tool:
        if tool.function is None:
            raise invalid("outside", f"{tool.name!r} has no function")
        if tool.is_async:
            raise invalid("outside", f"{tool.name!r} is awaited, and nobody awaits here")
        if declared is None:
            declared = declarations.Tool(recovery=tool.recovery)
        elif tool.classified and tool.recovery is not declared.recovery:
            one, other = declared.recovery.value, tool.recovery.value
            raise invalid("tools", f"{tool.name!r} is {one} there, and the outside declares it {other}")
        more: dict[str, Any] = {"recovery": declared.recovery, "classified": True}
        for name in ("dedupes_for", "fresh_for", "settle_seconds"):
            said = getattr(declared, name)
            if said is not None:
                more[name] = said
        more["function"] = self._watched(tool, tool.function, declared)
        if declared.recovery is not Recovery.READ_ONLY:
            more["definite_errors"] = (*tool.definite_errors, RefusedOutside)
        return tool.with_declared(**more)

    def _watched(self, tool: Tool, function: Function, declared: declarations.Tool) -> Function:
        """Count the calls of a function, and raise what its words say."""
        reads = declared.recovery is Recovery.READ_ONLY

        # It keeps the signature of the function, by which arguments are checked.
        @functools.wraps(function)
        def call(**args: Any) -> Any:
            self.calls += 1
            try:
                value = function(**args)
            except Exception as error:
                if not reads:
                    raise
                raise ReadFailed(str(error)) from error
            words = text_of(value.result if isinstance(value, Outcome) else value)
            if declared.failed(words):
                raise RefusedOutside(words)
            return value

        return call


def text_of(value: Any) -> str:
    """Write what a tool answered as the words of a result: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return canonical_text(value)
    except InvalidInput:
        return f"[a {type(value).__name__}, which is no JSON]"
