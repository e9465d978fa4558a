"""The ledgers that savers are tested on: one of each kind for a module, a thread of its own for each test."""

from __future__ import annotations

import itertools
import operator
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, create_checkpoint, empty_checkpoint
from langgraph.graph import START, StateGraph

from ledger import Ledger, open_ledger
from ledger.adapters.langgraph import LedgerSaver
from tests.stores.place import address

KINDS: Final[dict[str, Callable[[Path], str]]] = {
    "memory": lambda folder: ":memory:",
    "sqlite": lambda folder: str(folder / f"{uuid.uuid4().hex}.db"),
    "postgres": lambda folder: address("postgres", folder / uuid.uuid4().hex),
}

_numbers = itertools.count(1)


@contextmanager
def ledger_of(kind: str, folder: Path) -> Iterator[Ledger]:
    """Open an empty ledger."""
    with open_ledger(KINDS[kind](folder)) as ledger:
        yield ledger


@contextmanager
def saver_of(kind: str, folder: Path, **options: Any) -> Iterator[LedgerSaver]:
    """Open a saver on an empty ledger, that asks no gate."""
    with ledger_of(kind, folder) as ledger, LedgerSaver(ledger, gate="off", **options) as saver:
        yield saver


def new_thread() -> str:
    """Name a thread that no other test uses."""
    return f"thread-{next(_numbers)}"


def config_of(thread: object, id: str | None = None, ns: str = "") -> RunnableConfig:
    """Return the configuration of a thread, or of a checkpoint of it."""
    given: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": ns}
    if id is not None:
        given["checkpoint_id"] = id
    return {"configurable": given}


class State(TypedDict):
    said: Annotated[list[str], operator.add]


def graph_of(saver: Any, *nodes: Callable[[State], Any]) -> Any:
    """Compile a graph whose nodes follow one another; it says what it was asked, and what each node says."""
    builder: Any = StateGraph(State)
    before = START
    for number, node in enumerate(nodes):
        builder.add_node(f"n{number}", node)
        builder.add_edge(before, f"n{number}")
        before = f"n{number}"
    return builder.compile(checkpointer=saver)


def one(state: State) -> State:
    return {"said": ["one"]}


def put(saver: LedgerSaver, config: Any, value: Any, source: Any = "loop") -> Any:
    """Save a checkpoint of one value."""
    checkpoint = create_checkpoint(empty_checkpoint(), None, 1)
    checkpoint["channel_values"], checkpoint["channel_versions"] = {"x": value}, {"x": 1}
    return saver.put(config, checkpoint, {"source": source, "step": 1, "parents": {}}, {"x": 1})


def latest(saver: LedgerSaver, thread: str) -> CheckpointTuple:
    found = saver.get_tuple(config_of(thread))
    assert found is not None
    return found
