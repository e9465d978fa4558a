"""The page of events: what each holds and leaves in the contract, and the types they are made of."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from importlib import import_module
from types import ModuleType

from ledger import events as e
from ledger import values
from ledger.record import MAX_RECORD_BYTES
from ledger.run import lifecycle
from ledger.run.sources import SOURCE_FOLDS
from ledger.run.state import FOLDS
from ledger.values import Value
from tests.reference.fields import Field, facts, fields, with_words
from tests.reference.words import first, page, table


def events_page() -> str:
    """Write every event with its fields and what it leaves in the contract."""
    return page(
        "Events",
        f"""\
An event is a fact in the past tense, known by its name and version; both stay for ever. A record of at most
{MAX_RECORD_BYTES // 1024} KiB holds one event, who wrote it and when, and the hash of the record before.

Fields in *italics* may be absent, which means None or none.""",
        *(_event(kind) for kind in e.EVENT_CLASSES),
        "## Types",
        "The parts that several events share, and the kinds of fields.",
        *(_part(part) for part in _parts()),
        table(("Kind", "Meaning"), _aliases()),
    )


def _event(kind: type[e.Event]) -> str:
    known = [f"`{kind.__name__}`, version {kind.version}."]
    if kind.keyed_by is not None:
        by = " and ".join(f"`{field}`" for field in kind.keyed_by[1:])
        known.append(f"Found again by its {by}." if by else "All of a run are found at once.")
    if kind.binds_terms:
        known.append("Its record carries the terms before it.")
    lines = [f"## {kind.name}", f"{first(kind)} *{' '.join(known)}*", f"**Leaves:** {_leaves(kind)}"]
    return "\n\n".join((*lines, *facts(fields(kind), Field.may_be_left_out)))


def _leaves(kind: type[e.Event]) -> str:
    if kind is e.RunOpened:
        return first(lifecycle.opened)
    fold = FOLDS.get(kind) or SOURCE_FOLDS.get(kind)
    return "It has no place inside a run or a source." if fold is None else first(fold)


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
    return "\n\n".join((f"### {kind.__name__}", first(kind), *facts(fields(kind), Field.may_be_left_out)))


def _aliases() -> Iterator[tuple[str, ...]]:
    """List the named kinds of `ledger.values`, and the closed choices."""
    for module in _value_modules():
        for name, words in with_words(ast.parse(inspect.getsource(module)).body):
            if not name.isupper():
                yield name, words
    for kind in map(partial(getattr, values), values.__all__):
        if inspect.isclass(kind) and issubclass(kind, StrEnum) and kind is not StrEnum:
            choices = ", ".join(f"`{choice.value}`" for choice in kind)
            yield kind.__name__, f"{first(kind)} One of {choices}."
