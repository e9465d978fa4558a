"""Modules that declare tools, named on the command line."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ledger.canonical import invalid
from ledger.gateway.tools import Tool, is_async
from ledger.secrets import Secrets

OPTION = "--tools"


class Declarations(NamedTuple):
    """What a module declares."""

    tools: tuple[Tool, ...] = ()
    secrets: Secrets | None = None
    """Its `Secrets`, as the program that acts uses them; None: it has none."""


def declared_in(module: str | None) -> Declarations:
    """Import a module, a dotted name or the path of a .py file, and return its tools.

    These are what its `tools` holds; without one, every `Tool` at its top level. A `Secrets` at its top level
    says what is redacted and how a `SecretRef` is resolved.

    Raises:
        InvalidInput: there is no such module, it cannot be imported, or it declares no tools; or two of the
            same name.
    """
    if module is None:
        return Declarations()
    found = _imported(module)
    tools = _unlike_names(module, _tools_of(found, module))
    secrets = [value for value in vars(found).values() if isinstance(value, Secrets)]
    if len(secrets) > 1 and any(one is not secrets[0] for one in secrets):
        raise invalid(OPTION, f"{module} holds several Secrets: which of them counts?")
    return Declarations(tools, secrets[0] if secrets else None)


def _tools_of(found: ModuleType, module: str) -> list[Tool]:
    listed = getattr(found, "tools", None)
    if listed is None or isinstance(listed, ModuleType | Tool) or not isinstance(listed, Iterable):
        tools = [value for value in vars(found).values() if isinstance(value, Tool)]
    else:
        tools = list(listed)
        for one in tools:
            if not isinstance(one, Tool):
                raise invalid(OPTION, f"`tools` of {module} holds {one!r:.50}, which is no ledger.Tool")
    if not tools:
        raise invalid(
            OPTION, f"{module} declares no tools: it holds no ledger.Tool at its top level, nor in `tools`"
        )
    return tools


def _unlike_names(module: str, tools: Iterable[Tool]) -> tuple[Tool, ...]:
    known: dict[str, Tool] = {}
    for one in tools:
        if known.setdefault(one.name, one) is not one:
            raise invalid(OPTION, f"{module} declares two tools that are named {one.name!r}")
    return tuple(known.values())


# --- importing -------------------------------------------------------------------------------------


def _imported(module: str) -> ModuleType:
    path = Path(module)
    is_file = path.suffix == ".py"
    if is_file and not path.is_file():
        raise invalid(OPTION, f"there is no file {module}")
    # As for a program that is started there: its neighbours can be imported, also later.
    folder = str(path.absolute().parent if is_file else Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return _run(path) if is_file else importlib.import_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever their module raises
        raise invalid(OPTION, _why_not(module, error)) from None


def _run(path: Path) -> ModuleType:
    """Import a file under its own name, as its neighbours would."""
    name = path.stem
    known = sys.modules.get(name)
    if known is not None:
        if getattr(known, "__file__", None) == str(path.absolute()):
            return known
        raise ImportError(f"another module is named {name!r} already: rename the file")
    spec = importlib.util.spec_from_file_location(name, path.absolute())
    assert spec is not None, "a file with the suffix .py has a loader"
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    try:
        spec.loader.exec_module(found)
    except BaseException:
        del sys.modules[name]
        raise
    return found


def _why_not(module: str, error: BaseException) -> str:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is not None and f"{module}.".startswith(f"{missing}."):
        return f"there is no module {missing!r} here, nor installed (looked for {module!r})"
    if isinstance(error, SystemExit):
        return f"importing {module} ends the program: keep that out of its top level"
    place = ""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename != __file__]
    if frames and not frames[-1].filename.startswith("<"):
        place = f" ({frames[-1].filename}, line {frames[-1].lineno})"
    said = Secrets().redact_text(str(error))
    return f"importing {module} failed with {type(error).__name__}: {said}{place}"


# --- what is awaited -------------------------------------------------------------------------------


def awaited(tool: Tool, runner: asyncio.Runner) -> Tool:
    """Return a tool whose coroutine functions run in an event loop, so that a thread can call them."""
    return replace(tool, function=_plain(tool.function, runner), probe=_plain(tool.probe, runner))


def _plain(function: Callable[..., Any] | None, runner: asyncio.Runner) -> Callable[..., Any] | None:
    if function is None or not is_async(function):
        return function

    def run(*given: Any, **named: Any) -> Any:
        # What the caller's context tells, as which effect this is, is told in the loop too.
        return runner.run(_call(function, given, named), context=contextvars.copy_context())

    # It has the signature of the function, and none of its marks.
    return functools.update_wrapper(run, function, updated=())


async def _call(function: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return await function(*given, **named)
