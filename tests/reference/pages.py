"""The reference pages, written from the code: what commands come to, and what events are and leave."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from pydantic.fields import FieldInfo

from ledger import commands as c
from ledger import errors, values
from ledger import events as e
from ledger.record import MAX_RECORD_BYTES
from ledger.run import lifecycle
from ledger.run.decide import RULES, may_refuse, may_yield
from ledger.run.sources import SOURCE_FOLDS, SOURCE_RULES
from ledger.run.state import FOLDS
from ledger.values import Value
from tests.reference.library import library_page

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"

WRITTEN = "<!-- Written by `python -m tests.reference`; a test compares this page with the code. -->"

# What bars a command by its kind alone stands once, above the table.
BARS = ("not_for_agents", "run_not_found", "superseded", "run_is_closed", "run_is_held", "not_supported")
ERRORS = {
    **errors.RULES,
    errors.RunNotFound.code: errors.RunNotFound,
    errors.Superseded.code: errors.Superseded,
}


# --- commands ----------------------------------------------------------------------------------


def commands_page() -> str:
    """Write the table of commands, the events they come to and what refuses them."""
    return _page(
        "Commands",
        """\
A command is a request or a report. A *request* is decided and may be refused. A *remedy* is a request that is
admitted on a suspended or held run too, since it may lead out. A *report* says what already happened; it is
admitted on suspended, held and closed runs and from handles of an older incarnation. The rules stand in
`ledger/run/decide.py`; whatever way in is used, they are the same.

A repeat yields no event: whoever says the same again about what is open is told where it stands. Every
command also takes `about`, opaque references to the subjects it speaks of.""",
        "## What bars a command before its own rule",
        _table(("Command", "is refused as"), map(_bars, _kinds())),
        "Requests that are not remedies may also reach a limit of the run; then the run is suspended and the "
        "request refused as `RunIsHeld`. In the table that is the event `run.suspended`.",
        "## Every command",
        _table(
            ("Command", "Says", "Kind", "Agents", "Events", "Its own refusals"),
            map(_command, c.COMMAND_CLASSES),
        ),
        "*Agents*: whether an agent may use it, itself or through a service that acts for it. *Later*: this "
        "release knows the command and its record and refuses to perform it, as `NotSupported`.",
        "## The refusals",
        _table(
            ("Error", "Code", "Meaning"), ((f"`{k.__name__}`", f"`{k.code}`", _first(k)) for k in _refusals())
        ),
        "Each carries `rule` (the code), `position` of the event it rests on, and `evidence`. `RunNotFound` "
        "and `Superseded` are not `Refused`: the one is a `NotFound`, the other is `Fenced`.",
    )


def _kinds() -> list[tuple[str, type[c.Command]]]:
    return [
        ("a request", c.MoveCursor),
        ("a remedy", c.CommitPlan),
        ("a report", c.RecordObservation),
        ("opening a run", c.OpenRun),
        ("one that speaks to a source", c.OpenSource),
    ]


def _bars(kind: tuple[str, type[c.Command]]) -> tuple[str, ...]:
    codes = [code for code in may_refuse(kind[1]) if code in BARS and code != "not_for_agents"]
    return kind[0], _codes(codes) or "–"


def _command(kind: type[c.Command]) -> tuple[str, ...]:
    known = kind in RULES or kind in SOURCE_RULES
    own = (RULES.get(kind) or SOURCE_RULES[kind]).refusals if known else ()
    return (
        f"`{kind.name}` `{kind.__name__}`",
        _first(kind),
        "report" if kind.report else "remedy" if kind.remedy else "request",
        _agents(kind),
        ", ".join(f"`{event.name}`" for event in may_yield(kind)) if known else "*later*",
        _codes(own) or "–",
    )


def _agents(kind: type[c.Command]) -> str:
    when = kind.not_for_agents
    if when is None:
        return "yes"
    return (
        "no" if not when else "not with " + ", ".join(f"`{name}={value!s}`" for name, value in when.items())
    )


def _codes(codes: Iterable[str]) -> str:
    return ", ".join(f"`{ERRORS[code].__name__}`" for code in codes)


def _refusals() -> list[type[errors.LedgerError]]:
    met = {code for kind in c.COMMAND_CLASSES for code in may_refuse(kind)}
    return [kind for code, kind in ERRORS.items() if code in met]


# --- events ------------------------------------------------------------------------------------


def events_page() -> str:
    """Write every event with its fields and what it leaves in the contract."""
    return _page(
        "Events",
        f"""\
An event is a fact in the past tense, known by its name and version; both stay for ever. A record of at most
{MAX_RECORD_BYTES // 1024} KiB holds one event, who wrote it and when, and the hash of the record before.

Fields in *italics* may be absent, which means None or none.""",
        *(_event(kind) for kind in e.EVENT_CLASSES),
        "## Types",
        "The parts that several events share, and the kinds of fields.",
        *(_part(part) for part in _parts()),
        _table(("Kind", "Meaning"), _aliases()),
    )


def _event(kind: type[e.Event]) -> str:
    facts = [f"`{kind.__name__}`, version {kind.version}."]
    if kind.keyed_by is not None:
        facts.append(f"Found again by its `{kind.keyed_by[1]}`.")
    if kind.binds_terms:
        facts.append("Its record carries the terms before it.")
    lines = [f"## {kind.name}", f"{_first(kind)} *{' '.join(facts)}*", f"**Leaves:** {_leaves(kind)}"]
    return "\n\n".join((*lines, *_fields(kind)))


def _leaves(kind: type[e.Event]) -> str:
    if kind is e.RunOpened:
        return _first(lifecycle.opened)
    fold = FOLDS.get(kind) or SOURCE_FOLDS.get(kind)
    return "It has no place inside a run or a source." if fold is None else _first(fold)


def _fields(kind: type[Value]) -> Iterator[str]:
    kinds, words = _said_types(kind), _words(kind)
    rows = [
        _field(name, field, kinds[name], words.get(name, "")) for name, field in kind.model_fields.items()
    ]
    if rows:
        yield _table(("Field", "Kind", "Meaning"), rows)


def _field(name: str, field: FieldInfo, said: str, words: str) -> tuple[str, ...]:
    said = said.removesuffix(" | None")
    said = re.sub(r"^Annotated\[(.+?), (Field|StringConstraints)\(.*\)\]$", r"\1", said)
    said = re.sub(r"^tuple\[(\w+), \.\.\.\]$", r"list of \1", said)
    said = re.sub(r"Literal\[(.*)\]", lambda found: " or ".join(re.findall(r"\w+", found[1])), said)
    shown = f"`{name}`" if field.is_required() else f"*`{name}`*"
    return shown, said, words


def _said_types(kind: type[Value]) -> dict[str, str]:
    """Read the kinds of fields as the source writes them, before aliases are resolved."""
    said: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base is not Value and issubclass(base, Value):
            said.update(inspect.get_annotations(base))
    return said


def _words(kind: type[Value]) -> dict[str, str]:
    """Read the words below the fields of a class, which Python does not keep."""
    (stated,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(stated, ast.ClassDef)
    return dict(_with_words(stated.body))


def _with_words(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, below in pairwise(body):
        targets = (
            statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        )
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            yield from (
                (one.id, _oneline(str(below.value.value))) for one in targets if isinstance(one, ast.Name)
            )


def _parts() -> list[type[Value]]:
    """Find the values that events are made of, in the order in which their modules state them."""
    shared: list[type[Value]] = [e.Parent, e.Reason, e.InheritedEffect, e.Dropped, e.GrantOrigin]
    own = [
        kind
        for module in _value_modules()
        for kind in vars(module).values()
        if inspect.isclass(kind) and issubclass(kind, Value) and kind.__module__ == module.__name__
    ]
    return [*shared, *(kind for kind in own if kind is not Value)]


def _value_modules() -> list[ModuleType]:
    """List the modules of `ledger.values`, in the order in which the package names them."""
    homes = dict.fromkeys(
        node.module for node in ast.parse(inspect.getsource(values)).body if isinstance(node, ast.ImportFrom)
    )
    return [import_module(home) for home in homes if home is not None]


def _part(kind: type[Value]) -> str:
    return "\n\n".join((f"### {kind.__name__}", _first(kind), *_fields(kind)))


def _aliases() -> Iterator[tuple[str, ...]]:
    """List the named kinds of `ledger.values`, and the closed choices."""
    for module in _value_modules():
        for name, words in _with_words(ast.parse(inspect.getsource(module)).body):
            if not name.isupper():
                yield name, words
    for kind in map(partial(getattr, values), values.__all__):
        if inspect.isclass(kind) and issubclass(kind, StrEnum) and kind is not StrEnum:
            choices = ", ".join(f"`{choice.value}`" for choice in kind)
            yield kind.__name__, f"{_first(kind)} One of {choices}."


# --- words -------------------------------------------------------------------------------------


def _page(title: str, *parts: str) -> str:
    return "\n\n".join((f"# {title}", WRITTEN, *parts)) + "\n"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _first(thing: object) -> str:
    """Take the first paragraph of a docstring as one line."""
    return _oneline((inspect.getdoc(thing) or "").split("\n\n")[0])


def _oneline(text: str) -> str:
    return " ".join(text.split())


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "events.md": events_page,
    "library.md": lambda: _page("The library", *library_page()),
}
"""The pages by file name."""
