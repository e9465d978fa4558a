"""The reference page of the library: what programs call and what is raised, in the words of the code."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import ledger
from ledger import errors
from ledger.application.ledger import Ledger
from ledger.application.runs import Run
from ledger.application.sources import SourceHandle

INTRODUCTION = """\
What `ledger` exports is public, and so are `ledger.errors` (what is raised), `ledger.commands` (what `Run.do`
takes), `ledger.events` (what a record holds) and `ledger.testing` (given, when, then).

    from ledger import Actor, Source, open_ledger
    from ledger.errors import ContractChanged, RunExists"""


def library_page() -> Iterator[str]:
    """Yield the parts of the page."""
    yield INTRODUCTION
    yield "## Opening"
    yield _called("open_ledger", ledger.open_ledger)
    for title, kind in (("Ledger", Ledger), ("Run", Run), ("SourceHandle", SourceHandle)):
        yield f"## {title}"
        yield inspect.getdoc(kind) or ""
        for name, member in vars(kind).items():
            if name.startswith("_"):
                continue
            if isinstance(member, property):
                yield f"### `.{name}`\n\n{inspect.getdoc(member)}"
            elif inspect.isfunction(member):
                yield _called(name, member)
    yield "## Errors"
    yield "Each carries `data`, a stable `code`, and `retryable`: whether repeating the same call may help."
    rows = ["| error | code | retryable | what to do |", "| --- | --- | --- | --- |"]
    for kind in vars(errors).values():
        if inspect.isclass(kind) and issubclass(kind, errors.LedgerError):
            words = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())
            rows.append(
                f"| `{kind.__name__}` | `{kind.code}` | {'yes' if kind.retryable else 'no'} | {words} |"
            )
    yield "\n".join(rows)


def _called(name: str, function: object) -> str:
    assert callable(function)
    parameters = inspect.signature(function).parameters.values()
    said = ", ".join(_parameter(one) for one in parameters if one.name != "self")
    words = (inspect.getdoc(function) or "").replace("Args:\n", "Takes:\n")
    return f"### `{name}({said})`\n\n{_listed(words)}"


def _parameter(one: inspect.Parameter) -> str:
    if one.kind is inspect.Parameter.VAR_KEYWORD:
        return f"**{one.name}"
    return one.name if one.default is inspect.Parameter.empty else f"{one.name}=…"


def _listed(words: str) -> str:
    """Turn the indented entries of a docstring into a list."""
    lines: list[str] = []
    for line in words.splitlines():
        if line.startswith("    ") and not line.startswith("        "):
            lines.append("- " + line.strip())
        elif line.startswith("        "):
            lines.append("  " + line.strip())
        else:
            lines.append(line if not line.endswith(":") or not line.strip() else line + "\n")
    return "\n".join(lines)
