"""The page of the library: what programs call and what is raised, in the words of the code."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import ledger
from ledger import errors
from ledger.application.all_sources import Sources
from ledger.application.ledger import Ledger
from ledger.application.runs import Run
from ledger.application.sources import SourceHandle
from tests.reference.loops import loops_section
from tests.reference.signatures import called, described
from tests.reference.words import first, page, table

INTRODUCTION = """\
What `ledger` exports is public, and so are `ledger.errors` (what is raised), `ledger.commands` (what `Run.do`
takes), `ledger.events` (what a record holds) and `ledger.testing` (given, when, then).

    from ledger import Actor, Source, open_ledger
    from ledger.errors import ContractChanged, RunExists

What calls return stands under [the contract, and other values](contract.md); `Actor`, `Source`, `Step`,
`Rule`, `Runtime`, `Limits`, `Published` and the closed choices `Change`, `Ending`, `Recovery` and `Verdict`
stand under [Types](events.md#types)."""

KINDS: tuple[type, ...] = (Ledger, Run, SourceHandle, Sources)


def library_page() -> str:
    """Write the signatures and the errors."""
    return page("The library", *_parts())


def _parts() -> Iterator[str]:
    yield INTRODUCTION
    yield "## Opening"
    yield called("open_ledger", ledger.open_ledger, "### `open_ledger`")
    for kind in KINDS:
        yield f"## `{kind.__name__}`"
        yield inspect.getdoc(kind) or ""
        yield from described(kind)
    yield from loops_section()
    yield "## Errors"
    yield "Each carries `data`, a stable `code`, and `retryable`: whether repeating the same call may help."
    yield table(("Error", "Code", "Retryable", "What to do"), map(_error, _errors()))


def _errors() -> Iterator[type[errors.LedgerError]]:
    for kind in vars(errors).values():
        if inspect.isclass(kind) and issubclass(kind, errors.LedgerError):
            yield kind


def _error(kind: type[errors.LedgerError]) -> tuple[str, ...]:
    return f"`{kind.__name__}`", f"`{kind.code}`", "yes" if kind.retryable else "no", first(kind)
