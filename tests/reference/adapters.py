"""The page of the adapters: what programs call that keep an agent's states here, in the words of the code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from ledger.adapters import checkpointer, langgraph
from ledger.adapters.langgraph.middleware import LedgerMiddleware
from ledger.adapters.mcp.tools import Tool, tools
from ledger.adapters.threads import Threads, dropping, listing
from ledger.errors import LedgerError
from tests.reference.fields import Field, facts, fields, inputs
from tests.reference.signatures import called, described, members
from tests.reference.words import first, oneline, page, table

INTRODUCTION = """\
How they are used stands under [LangGraph](../how-to/langgraph.md), [the
checkpointer](../how-to/checkpointer.md), [letting go of states](../how-to/threads.md) and
[MCP](../how-to/mcp.md). Errors that are not here stand under [the library](library.md#errors).

    from ledger.adapters.langgraph import LedgerSaver                    # extra: langgraph
    from ledger.adapters.langgraph.middleware import LedgerMiddleware    # extra: langchain
    from ledger.adapters.checkpointer import Checkpointer                # none, or msgpack, redis

Fields in *italics* may be None or empty."""


def adapters_page() -> str:
    """Write the classes, functions, values and errors of the adapters."""
    return page("The adapters", *_parts())


def _parts() -> Iterator[str]:
    yield INTRODUCTION
    yield "## `ledger.adapters.langgraph`"
    yield from _class(langgraph.LedgerSaver)
    yield from _class(LedgerMiddleware)
    yield from _class(langgraph.LedgerToolCalls)
    yield _given(langgraph.Gate)
    for name in langgraph.__all__:
        if inspect.isfunction(getattr(langgraph, name)):
            yield _function(getattr(langgraph, name))
    yield from _errors(langgraph)
    yield "## `ledger.adapters.checkpointer`"
    yield _words(checkpointer.Checkpointer)
    yield from described(checkpointer.Checkpointer, "####")
    yield _words(checkpointer.AsyncCheckpointer)
    yield table(("Write", "It gives"), map(_awaited, members(checkpointer.AsyncCheckpointer)))
    for kind in (checkpointer.Loaded, checkpointer.Checkpoint, checkpointer.Summary):
        yield _returned(kind)
    yield from _class(checkpointer.RedisCache)
    yield _words(checkpointer.Cache)
    yield from described(checkpointer.Cache, "####")
    boundaries = ", ".join(f"`{one}`" for one in checkpointer.BOUNDARIES)
    yield f"### `BOUNDARIES`\n\nWhere a state may be saved: {boundaries}."
    yield from _errors(checkpointer)
    yield "## `ledger.adapters.threads`"
    yield _constructed(Threads)
    for name in ("prune", "delete", "drop"):
        yield _function(getattr(dropping, name))
    yield _function(listing.list_threads)
    yield _returned(dropping.Freed)
    yield _returned(listing.ThreadSummary)
    yield "## `intent-ledger mcp`"
    yield (
        "A program, not a library: these are the tools that it offers to clients. What each takes, its "
        "client is told by its schema."
    )
    yield table(("Tool", "What it does", ""), map(_tool, tools().values()))


def _class(kind: type) -> Iterator[str]:
    """Yield the sections of a class; methods that are awaited instead have a sentence together."""
    yield _constructed(kind)
    names = {name for name, _ in members(kind)}
    twins = sorted(name for name in names if name[0] == "a" and name[1:] in names)
    for section in described(kind, "####"):
        if not section.startswith(tuple(f"#### `{kind.__name__}.{name}`" for name in twins)):
            yield section
    if twins:
        written = ", ".join(f"`{name}`" for name in twins)
        yield f"Awaited, with what the one without the `a` takes and does: {written}."


def _constructed(kind: type) -> str:
    init: Callable[..., Any] = vars(kind)["__init__"]
    return called(kind.__name__, init, _words(kind), kind.__name__)


def _function(function: Callable[..., Any]) -> str:
    return called(function.__name__, function, f"### `{function.__name__}`")


def _words(kind: type) -> str:
    return f"### `{kind.__name__}`\n\n{inspect.getdoc(kind) or ''}"


def _given(kind: type) -> str:
    return "\n\n".join((_words(kind), *inputs(fields(kind))))


def _returned(kind: type) -> str:
    return "\n\n".join((_words(kind), *facts(fields(kind), Field.may_be_none)))


def _awaited(member: tuple[str, Any]) -> tuple[str, str]:
    """Say how a member is used in an event loop; the other face says what it does."""
    name, function = member
    where = f"saves.{name}(…)" if len(inspect.signature(function).parameters) > 1 else f"saves.{name}()"
    answer = inspect.get_annotations(inspect.unwrap(function))["return"]
    if inspect.isasyncgenfunction(function):
        return f"`async for … in {where}`", "a page of messages, one after another"
    if inspect.iscoroutinefunction(function):
        start = "AsyncCheckpointer.open(…)" if name == "open" else where
        given = {"None": "nothing", "Self": "`AsyncCheckpointer`"}.get(answer, f"`{answer}`")
        return f"`await {start}`", given
    if name == "streaming":
        return f"`with {where}:`", "nothing, at once"
    return f"`{where}`", "nothing, at once"


def _errors(module: Any) -> Iterator[str]:
    kinds = [getattr(module, name) for name in module.__all__]
    errors = [one for one in kinds if inspect.isclass(one) and issubclass(one, LedgerError)]
    if errors:
        yield table(
            ("Error", "Code", "Retryable", "What to do"),
            (
                (f"`{one.__name__}`", f"`{one.code}`", "yes" if one.retryable else "no", first(one))
                for one in errors
            ),
        )


def _tool(tool: Tool) -> tuple[str, ...]:
    return f"`{tool.name}`", oneline(tool.about), "records nothing" if tool.reads else ""
