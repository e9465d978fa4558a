"""What a printed command line leaves open, and that nobody may send it as it stands.

A way out is printed to be copied. What only its reader knows stands there in capitals, and would otherwise be
recorded as what somebody called NAME approved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

WHO = "human:NAME"
OPEN = frozenset(
    {
        "AMOUNT",
        "FILE",
        "JSON",
        "KEY",
        "KIND:NAME",
        "MODULE",
        "NAME",
        "NEW-ID",
        "REVISION",
        "SCOPE",
        "SESSION",
        "TEXT",
        "TIME",
        "TOOL",
        "VALUE",
        WHO,
    }
)
"""What is to be filled in, as the value of an option.

ID and RUN are not among them: they stand for what is there already, and a run may be called so.
"""

_BEHIND = re.compile(r"""[^\s=]+=(?:AMOUNT|VALUE)|\{"revision": "REVISION"\}""")


def check_filled_in(context: typer.Context, before: Iterable[str | None] = ()) -> None:
    """Refuse a command line that holds what was to be filled in; `before` stood before the command.

    Raises:
        typer.BadParameter: it names every place.
    """
    found = list(_open_places(context))
    found += [f"--actor {text}" for text in before if text in OPEN]
    if found:
        left = ", ".join(dict.fromkeys(found))
        raise typer.BadParameter(f"what stands in capitals is to be filled in: {left}")


def _open_places(context: typer.Context) -> Iterator[str]:
    for parameter in context.command.params:
        if parameter.name in ("run", "as_json"):
            continue
        for text in _texts(context.params.get(parameter.name or "")):
            if text in OPEN or _BEHIND.fullmatch(text):
                named = parameter.opts[0] if parameter.param_type_name == "option" else ""
                words = getattr(parameter, "help", None) or ""
                yield f"{named} {text}".strip() + (f" ({words.rstrip('.')})" if words else "")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
