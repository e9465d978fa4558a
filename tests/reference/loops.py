"""The async classes: the same names, and what of them is awaited."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import ledger
from ledger.aio import AsyncLedger, AsyncRun, AsyncSourceHandle
from ledger.aio.sources import AsyncSources
from ledger.application.all_sources import Readable
from ledger.application.effects import Registered
from tests.reference.signatures import called, members, said
from tests.reference.words import table

KINDS: tuple[type, ...] = (AsyncLedger, AsyncRun, AsyncSourceHandle, AsyncSources)
HANDLES = {
    "AsyncLedger": "ledger",
    "AsyncRun": "run",
    "AsyncSourceHandle": "source",
    "AsyncSources": "ledger.sources",
}
"""The name that stands for one in what programs write."""


def loops_section() -> Iterator[str]:
    """Yield the parts of the section."""
    yield "## In an event loop"
    yield (
        "The same names on asyncio and on trio; arguments, errors and answers are those of `Ledger`, `Run` "
        "and `SourceHandle` above. The tables say what is awaited."
    )
    heading, answer = "### `open_async_ledger`", "AsyncLedger  # to be awaited or entered"
    yield called("open_async_ledger", ledger.open_async_ledger, heading, answer)
    for kind in KINDS:
        yield f"### `{kind.__name__}`"
        yield inspect.getdoc(kind) or ""
        yield table(("Write", "It gives"), (row(kind, name, member) for name, member in members(kind)))


def row(kind: type, name: str, member: Any) -> tuple[str, str]:
    """Say how a member is used, and what that gives."""
    where = f"{HANDLES[kind.__name__]}.{name}"
    if isinstance(member, property):
        answer = said(member.fget, "return")
        awaited = re.fullmatch(r"Awaitable\[(.+)\]", answer)
        return (f"`await {where}`", f"`{awaited[1]}`") if awaited else (f"`{where}`", f"`{answer}`, at once")
    answer = said(member, "return")
    shown = f"{where}({'…' if len(inspect.signature(member).parameters) > 1 else ''})"
    if inspect.isasyncgenfunction(member):
        records = re.fullmatch(r"AsyncGenerator\[(.+), None\]", answer)
        assert records is not None
        return f"`async for … in {shown}`", f"`{records[1]}`, one after another"
    block = re.fullmatch(r"AbstractAsyncContextManager\[(.+)\]", answer)
    if block is not None:
        return f"`async with {shown} as …`", f"`{block[1]}`"
    if name in vars(Registered) | vars(Readable):
        return f"`{shown}`", f"`{answer}`, at once"
    # What else both faces share is no coroutine function: on this face it returns one.
    return f"`await {shown}`", "nothing" if answer == "None" else f"`{answer}`"
