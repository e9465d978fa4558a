"""What a program can call, build and read stands on the reference pages, found here without the generator."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Coroutine, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

import ledger
from ledger.adapters.checkpointer import Checkpointer
from ledger.adapters.langgraph import LedgerSaver, LedgerToolCalls
from ledger.adapters.langgraph.middleware import LedgerMiddleware
from ledger.application.all_sources import Readable, Sources
from ledger.application.effects import Registered
from ledger.commands import COMMAND_CLASSES, Command
from ledger.run.decide import RULES
from ledger.run.sources import SOURCE_RULES
from ledger.values import Value
from tests.reference.pages import FOLDER

HANDLES: dict[str, type] = {
    "Ledger": ledger.Ledger,
    "Run": ledger.Run,
    "SourceHandle": ledger.SourceHandle,
    "Sources": Sources,
}


@cache
def text(page: str) -> str:
    return (FOLDER / page).read_text(encoding="utf-8")


def section(page: str, heading: str) -> str:
    """Return what stands below a heading up to the next one."""
    found = re.search(rf"^#+ `?{re.escape(heading)}`?\n(.*?)(?=^#|\Z)", text(page), re.MULTILINE | re.DOTALL)
    assert found is not None, f"{page} has no section {heading}"
    return found[1]


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def handles() -> Iterator[tuple[str, Any]]:
    opened = ledger.open_ledger(":memory:")
    yield "Ledger", opened
    yield "Run", opened.open_run("r", goal="g")
    yield "SourceHandle", opened.source("policy:p")
    yield "Sources", opened.sources


def methods() -> Iterator[tuple[str, Any]]:
    yield "open_ledger", ledger.open_ledger
    yield "open_async_ledger", ledger.open_async_ledger
    for handle, kind in HANDLES.items():
        for name in sorted(public(kind)):
            if callable(getattr(kind, name)):
                yield f"{handle}.{name}", getattr(kind, name)


def test_every_public_member_of_a_handle_has_a_section_with_words() -> None:
    for kind, handle in handles():
        for name in public(handle):
            assert section("library.md", f"{kind}.{name}").strip().endswith((".", ")"))


@pytest.mark.parametrize(("name", "function"), [pytest.param(*one, id=one[0]) for one in methods()])
def test_a_signature_on_the_page_is_the_one_of_the_code(name: str, function: Callable[..., Any]) -> None:
    (shown,) = re.findall(r"```python\n(.*?)\n```", section("library.md", name), re.DOTALL)
    line, _, remark = shown.partition("  #")
    (stated,) = ast.parse(f"def {line}: ...").body
    assert isinstance(stated, ast.FunctionDef)
    expected = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    positional = [one.name for one in expected if one.kind is one.POSITIONAL_OR_KEYWORD]
    by_name = [one.name for one in expected if one.kind is one.KEYWORD_ONLY]
    assert [one.arg for one in stated.args.args] == positional
    assert [one.arg for one in stated.args.kwonlyargs] == by_name
    assert (stated.args.kwarg is None) == all(one.kind is not one.VAR_KEYWORD for one in expected)
    assert [default(one) for one in (*stated.args.defaults, *stated.args.kw_defaults)] == [
        default_of(one) for one in expected if one.kind is one.KEYWORD_ONLY or one.default is not one.empty
    ]
    assert bool(remark) == (name == "open_async_ledger")


def default(stated: ast.expr | None) -> object:
    if stated is None:
        return inspect.Parameter.empty
    return stated.id if isinstance(stated, ast.Name) else ast.literal_eval(stated)


def default_of(parameter: inspect.Parameter) -> object:
    is_function = inspect.isfunction(parameter.default)
    return parameter.default.__name__ if is_function else parameter.default


def test_every_error_a_docstring_names_stands_in_the_section_and_in_the_table() -> None:
    table = section("library.md", "Errors")
    for name, function in methods():
        _, _, raised = (inspect.getdoc(function) or "").partition("Raises:\n")
        for error in re.findall(r"^    (\w+):", raised, re.MULTILINE):
            assert f"- `{error}`: " in section("library.md", name)
            assert f"| `{error}` |" in table


# --- event loops -------------------------------------------------------------------------------


def in_a_loop(look: Callable[[dict[str, Any]], Coroutine[Any, Any, None]]) -> None:
    async def program() -> None:
        async with ledger.open_async_ledger(":memory:") as opened:
            run, source = await opened.open_run("r", goal="g"), await opened.source("policy:p")
            handles = {"AsyncLedger": opened, "AsyncRun": run, "AsyncSourceHandle": source}
            await look(handles | {"AsyncSources": opened.sources})

    anyio.run(program)


def written(kind: str, name: str) -> str:
    """Return how the page writes the use of a member."""
    used = re.findall(
        rf"^\| `((?:await |async for … in |async with )?[\w.]+\.{name}\b.*?)` \|",
        section("library.md", kind),
        re.MULTILINE,
    )
    assert len(used) == 1, f"{kind}.{name} stands {len(used)} times"
    return str(used[0])


def way_of(member: Callable[..., Any]) -> str:
    """Tell how a method is used, by what it is or returns."""
    if inspect.isasyncgenfunction(member):
        return "async for … in "
    at_once = {Registered: "ledger", Readable: "ledger.sources"}
    for home, where in at_once.items():
        if getattr(member, "__func__", None) is vars(home).get(member.__name__):
            return f"{where}.{member.__name__}("
    answer = str(inspect.signature(member).return_annotation)
    return "async with " if answer.startswith("AbstractAsyncContextManager[") else "await "


def test_every_public_member_for_event_loops_is_written_as_it_is_used() -> None:
    async def look(opened: dict[str, Any]) -> None:
        for kind, handle in opened.items():
            for name in public(handle):
                use = written(kind, name)
                found = getattr(handle, name)
                if not inspect.isroutine(found):
                    assert use.startswith("await ") == inspect.isawaitable(found)
                    assert not use.endswith(")")
                    if inspect.isawaitable(found):
                        await found
                else:
                    assert use.startswith(way_of(found)), use

    in_a_loop(look)


def test_what_the_page_says_is_awaited_is_awaited() -> None:
    async def look(opened: dict[str, Any]) -> None:
        run, source = opened["AsyncRun"], opened["AsyncSourceHandle"]
        assert (await run.promise("a", "b", owed_to="customer:1")).position == run.position == 2
        assert (await run.contract).position == 2
        assert (await source.publish("1", {"a": "b"})).position == (await source.state).position
        records = opened["AsyncLedger"].log("r")
        assert [record.position async for record in records] == [1, 2]

    in_a_loop(look)


def test_what_acts_in_a_loop_is_used_as_the_page_writes_it() -> None:
    async def look(opened: dict[str, Any]) -> None:
        handle, run = opened["AsyncLedger"], opened["AsyncRun"]
        assert written("AsyncLedger", "tool") == "ledger.tool(…)"
        greet = handle.tool(lambda: "hello", name="greet")
        assert written("AsyncLedger", "register") == "ledger.register(…)"
        assert handle.register(greet) is greet
        assert written("AsyncRun", "perform") == "await run.perform(…)"
        assert await run.perform(greet) == "hello"
        assert written("AsyncRun", "effect") == "async with run.effect(…) as …"
        async with run.effect("mail", {"to": "kim"}) as effect:
            effect.succeed({"sent": True})
        assert [record.name async for record in handle.log("r")].count("effect.succeeded") == 2

    in_a_loop(look)


# --- values ------------------------------------------------------------------------------------


def field_names(kind: type) -> list[str]:
    if issubclass(kind, BaseModel):
        return list(kind.model_fields)
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind) if field.init]
    return list(vars(kind)["_fields"])


def reached(kind: Any, met: dict[str, type]) -> dict[str, type]:
    """Collect the values that the fields of a value are made of."""
    for part in typing.get_args(kind):
        reached(part, met)
    if inspect.isclass(kind) and issubclass(kind, Value) and kind.__name__ not in met:
        met[kind.__name__] = kind
        for field in kind.model_fields.values():
            reached(field.annotation, met)
    return met


def values() -> dict[str, type]:
    from ledger.application.checking import Checked
    from ledger.application.readers import Reader
    from ledger.run.sources import SourceState
    from ledger.stores.base import Blob

    met = reached(ledger.Contract, {})
    models: tuple[type, ...] = (ledger.RunQuery, ledger.RunSummary, ledger.Actor, ledger.Rule)
    models += (ledger.Brief, ledger.Carve, ledger.Diff, ledger.Reason)
    for model in models:
        reached(model, met)
    others: tuple[type, ...] = (ledger.Stated, ledger.Record, ledger.Loaded, ledger.Page, SourceState, Blob)
    others += (ledger.Resumption, ledger.Refreshed, ledger.Permission, ledger.Reading, Checked, Reader)
    return met | {kind.__name__: kind for kind in others}


@pytest.mark.parametrize("name", values())
def test_every_field_of_a_value_stands_on_a_page(name: str) -> None:
    pages = ("contract.md", "events.md", "brief.md", "effects.md")
    page = next(page for page in pages if re.search(rf"^#+ `?{name}`?$", text(page), re.MULTILINE))
    shown = re.findall(r"^\| \*?`(\w+)`\*? \|", section(page, name), re.MULTILINE)
    assert shown == field_names(values()[name])


@pytest.mark.parametrize("name", ["Contract", "Effect", "Observation", "RunQuery", "RunSummary", "Stated"])
def test_properties_and_methods_of_values_have_sections(name: str) -> None:
    kind = values()[name]
    shared = public(Value) | public(tuple) | set(field_names(kind))
    own = {member: getattr(kind, member) for member in public(kind) - shared}
    used = [member for member, it in own.items() if isinstance(it, property) or callable(it)]
    assert used
    for member in used:
        assert section("contract.md", f"{name}.{member}").strip()


@pytest.mark.parametrize("name", ledger.__all__)
def test_every_exported_name_stands_on_a_page(name: str) -> None:
    pages = text("library.md") + text("brief.md") + text("contract.md") + text("effects.md")
    assert re.search(rf"^(#+ |\| )`{name}`", pages, re.MULTILINE) or f"`{name}`" in section(
        "library.md", "The library"
    )


# --- adapters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["checkpointer", "langgraph"])
def test_every_name_that_an_adapter_exports_stands_on_its_page(name: str) -> None:
    shown = re.findall(r"^(?:#+ |\| )`(\w+)`", text("adapters.md"), re.MULTILINE)
    assert set(import_module(f"ledger.adapters.{name}").__all__) - {"Boundary"} <= set(shown)


@pytest.mark.parametrize("kind", [LedgerSaver, LedgerMiddleware, LedgerToolCalls, Checkpointer])
def test_every_method_of_an_adapter_stands_on_its_page(kind: type) -> None:
    page = text("adapters.md")
    own = {name for name, one in vars(kind).items() if not name.startswith("_") and inspect.isfunction(one)}
    assert own
    assert [
        name for name in own if f"{kind.__name__}.{name}`\n" not in page and f"`{name}`" not in page
    ] == []


# --- commands ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", COMMAND_CLASSES, ids=lambda kind: kind.__name__)
def test_every_field_of_a_command_stands_on_the_page_with_its_default(kind: type[Command]) -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| .+? \| (required|`.+?`) \| ", section("commands.md", kind.__name__), re.MULTILINE
    )
    own = {name: field for name, field in kind.model_fields.items() if name != "about"}
    assert [name for name, _ in rows] == list(own)
    for name, said in rows:
        assert (said == "required") == own[name].is_required()
        if said != "required":
            assert ast.literal_eval(said.strip("`")) == own[name].default


@pytest.mark.parametrize("kind", [*RULES, *SOURCE_RULES], ids=lambda kind: kind.__name__)
def test_a_command_that_is_performed_names_the_method_that_says_it(kind: type[Command]) -> None:
    (names,) = re.findall(r"Said with (.+?)\.$", section("commands.md", kind.__name__), re.MULTILINE)
    for name in re.findall(r"`(\w+\.\w+)`", names):
        handle, method = name.split(".")
        assert callable(getattr(HANDLES[handle], method))
