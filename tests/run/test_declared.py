"""Everything that a rule declares is shown by an example: no event and no refusal stands there unproven."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ledger.commands import Command
from ledger.events import Event
from ledger.run.decide import RULES, may_refuse, may_yield
from ledger.run.decision import Refusal
from ledger.run.sources import PREFIX, SOURCE_RULES
from ledger.testing import Decided, History

HERE = Path(__file__).parent
ALL_RULES = {**RULES, **SOURCE_RULES}


def examples() -> Iterator[Callable[[], None]]:
    """Find the tests of single rules that draw nothing at random, each with each of its parameters."""
    for file in sorted(HERE.glob("test_*.py")):
        if file.stem in (Path(__file__).stem, "test_decide"):
            continue
        for name, test in vars(import_module(f"tests.run.{file.stem}")).items():
            if name.startswith("test_") and not hasattr(test, "hypothesis"):
                yield from (partial(test, **values) for values in parameters(test))


def parameters(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """List what pytest would call a test with."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    choices = []
    for mark in marks:
        names = mark.args[0] if isinstance(mark.args[0], tuple) else (mark.args[0],)
        rows = [row if len(names) > 1 else (row,) for row in mark.args[1]]
        choices.append([dict(zip(names, row, strict=True)) for row in rows])
    for chosen in product(*choices):
        values = {name: value for one in chosen for name, value in one.items()}
        if values.keys() == inspect.signature(test).parameters.keys():
            yield values


def test_every_declared_event_and_refusal_is_reached_by_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    events: dict[type[Command], set[type[Event]]] = defaultdict(set)
    refusals: dict[type[Command], set[str]] = defaultdict(set)
    decide = History.when

    def watched(history: History[Any], command: Command, **more: Any) -> Decided[Any]:
        decided = decide(history, command, **more)
        kind = type(command)
        if history.stream.startswith(PREFIX) == (kind.stream == "source"):
            events[kind].update(map(type, decided.decision.events))
            if isinstance(decided.decision, Refusal):
                refusals[kind].add(decided.decision.rule)
            else:
                for theirs in decided.decision.beside.values():
                    events[kind].update(map(type, theirs))
        return decided

    monkeypatch.setattr(History, "when", watched)
    for example in examples():
        example()
    unproven = {
        kind.name: (
            sorted(event.name for event in set(ruling.events) - events[kind]),
            sorted(set(ruling.refusals) - refusals[kind]),
        )
        for kind, ruling in ALL_RULES.items()
    }
    assert [(name, *both) for name, both in unproven.items() if both != ([], [])] == []
    for kind in events.keys() | refusals.keys():
        assert events[kind] <= set(may_yield(kind))
        assert refusals[kind] <= set(may_refuse(kind))
