"""The tools file: how each tool of a recorded agent behaves toward the outside.

    {"tools": {"search_rooms": {"recovery": "read_only", "fresh_for": 300},
               "book_room":    {"recovery": "queryable", "failed_if": "^Error"}}}

A transcript does not say whether a call changed anything, so somebody who knows the tools has to. A tool that
is not declared is taken for one that can be neither asked nor repeated.
"""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from ledger.canonical import invalid, load_text
from ledger.values import Id, Recovery, Seconds, Value, explain


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


# What each declaration is about, so that one that would have no effect is refused.
_BELONGS_TO = {
    "dedupes_for": Recovery.IDEMPOTENT,
    "fresh_for": Recovery.READ_ONLY,
    "settle_seconds": Recovery.QUERYABLE,
}


class Tool(Value):
    """What is declared of one tool."""

    dedupes_for: Seconds | None = None
    """How long the outside remembers a key; of an idempotent tool."""
    failed_if: Annotated[str, AfterValidator(_pattern)] | None = None
    """A result in which this regular expression is found is a definite refusal: nothing happened."""
    fresh_for: Seconds | None = None
    """How long what a read-only tool answers may be relied on; None: for ever."""
    recovery: Recovery
    settle_seconds: Seconds | None = None
    """How long a sent request may still land; of a queryable tool."""

    @model_validator(mode="after")
    def _fitting(self) -> Tool:
        for name, recovery in _BELONGS_TO.items():
            if getattr(self, name) is not None and self.recovery is not recovery:
                raise ValueError(f"{name} is of {recovery} tools, this one is {self.recovery}")
        return self

    def failed(self, result: str) -> bool:
        """Tell whether a result says that nothing happened."""
        return self.failed_if is not None and re.search(self.failed_if, result) is not None


UNDECLARED = Tool(recovery=Recovery.AT_MOST_ONCE)
"""What is known of a tool that nobody declared."""


class Tools(Value):
    """The declarations of a tools file."""

    comment: Any = Field(default=None, alias="$comment", exclude=True)
    tools: dict[Id, Tool]

    @field_validator("tools", mode="before")
    @classmethod
    def _known(cls, tools: Any) -> Any:
        if isinstance(tools, dict):
            for name, declared in tools.items():
                _refuse_unknown(name, declared)
        return tools

    def of(self, tool: str) -> Tool:
        """Return what is declared of a tool."""
        return self.tools.get(tool, UNDECLARED)

    @classmethod
    def parse(cls, text: str | bytes) -> Tools:
        """Read the content of a tools file.

        Raises:
            InvalidInput: not JSON, or a declaration is unknown or malformed; `path` names it.
        """
        value = load_text(text, path="tools file")
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise explain(error) from None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Tools:
        """Read a tools file.

        Raises:
            InvalidInput: it cannot be read, or says something unknown; `path` names it.
        """
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise invalid(str(path), error.strerror or str(error)) from None
        return cls.parse(content)


def _refuse_unknown(tool: str, declared: object) -> None:
    """Say what was probably meant by a declaration that does not exist."""
    if not isinstance(declared, dict):
        return
    unknown = next((name for name in declared if name not in Tool.model_fields), None)
    if unknown is None:
        return
    meant = get_close_matches(str(unknown), Tool.model_fields, n=1)
    hint = f"; did you mean {meant[0]!r}?" if meant else f"; known are {', '.join(Tool.model_fields)}"
    raise ValueError(f"{tool!r} declares {unknown!r}, which is unknown{hint}")
