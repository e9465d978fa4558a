"""The run of a thread, inside of its graph: for nodes, tools, subgraphs, and whatever else has a config."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, cast

import anyio.to_thread
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.config import get_config

from ledger import AsyncLedger, AsyncRun, Ledger, Run
from ledger.adapters.langgraph.acting import aacting_run, acting_run
from ledger.adapters.langgraph.configs import place_of
from ledger.adapters.langgraph.earlier import Earlier, earlier_of
from ledger.adapters.langgraph.following import Following
from ledger.adapters.langgraph.results import Codec
from ledger.adapters.threads import Entry, Threads
from ledger.aio.ledger import leave
from ledger.canonical import invalid
from ledger.errors import ApprovalDenied, InvalidInput, Superseded

CHECKPOINTER = "__pregel_checkpointer"
ENTERED = "__pregel_ledger"
"""Where the config of an invocation holds what its loop entered with. What begins so LangGraph keeps out of
metadata, and of the configs that it streams."""


@dataclass(slots=True)
class Entered:
    """What the loop of a graph goes on with: the thread's run, in the incarnation that it entered."""

    entry: Entry
    earlier: Earlier | None = None
    """The runs of the thread before it; None: it is the first."""
    message: str | None = None
    """What the gate told of the time before, where it let the run go on."""
    awaited: dict[Any, AsyncRun] = field(default_factory=dict)
    """The same incarnation for event loops."""
    line: str = ""
    """The namespace of its own graph: a node's where that calls it on another thread, with its own config."""
    others: dict[tuple[str, str], Entered] = field(default_factory=dict)
    """What graphs entered that its nodes call on other threads, by thread and line."""
    following: Following | None = None
    """Follows its loop; None: nothing is said of it."""
    ended: bool = False
    """Its loop has ended: the next graph that is called in its place enters by itself."""
    stale: Any = None
    """The plain answer that stood beside its checkpoint when it entered: an earlier question was meant."""
    resumed: Any = None
    """What this invocation was resumed with, where a plain answer stood there; None: nothing."""
    denied: dict[Any, ApprovalDenied] = field(default_factory=dict)
    """What a person said no to in this invocation that no record here could hold, by tool and arguments."""
    stopped: dict[Any, Exception] = field(default_factory=dict)
    """What stopped this invocation, by the act that it is about: what stands around a call may keep it."""
    told: dict[str, Any] = field(default_factory=dict)
    """What this invocation answers plainly, by the interrupt that asked for an approval."""
    acting: Run = field(init=False)
    """The run as nodes act through it: what earlier runs of the thread did is not done again."""

    def __post_init__(self) -> None:
        self.acting = acting_run(self.entry.run, self.earlier)

    def within(self, thread: str, ns: str) -> Entered | None:
        """Return what the graph entered that a node calls on another thread, for what runs inside of it."""
        found = [
            one
            for (name, line), one in list(self.others.items())
            if name == thread and (not line or ns == line or ns.startswith(f"{line}|"))
        ]
        return max(found, key=lambda one: len(one.line), default=None)

    @property
    def thread(self) -> str:
        """The thread."""
        return self.entry.thread

    @property
    def run(self) -> Run:
        """Its run."""
        return self.entry.run


class Faces:
    """The faces of one ledger for event loops: one for each loop, until that is closed."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._faces: dict[asyncio.AbstractEventLoop, AsyncLedger] = {}
        self._mutex = threading.Lock()

    def here(self) -> AsyncLedger:
        """Return the face of the loop that is running."""
        loop = asyncio.get_running_loop()
        with self._mutex:
            for other in [known for known in self._faces if known.is_closed()]:
                leave(self._faces.pop(other))
            face = self._faces.get(loop)
            if face is None:
                face = self._faces[loop] = AsyncLedger(self._ledger)
            return face

    def close(self) -> None:
        """Let their threads end."""
        with self._mutex:
            for face in self._faces.values():
                leave(face)
            self._faces.clear()


class Saver(Protocol):
    """What is asked of `LedgerSaver` by those that it does not know."""

    ledger: Ledger
    faces: Faces
    threads: Threads

    @property
    def codec(self) -> Codec:
        """What writes and reads the values of its graphs."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Load a checkpoint."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Load a checkpoint."""


def ledger_run(config: RunnableConfig | None = None) -> Run:
    """Return the run of the thread that a graph is working on, in the incarnation that the graph entered.

    It is for code inside of a graph: nodes, tools and subgraphs of any depth. What is said through it is
    `Superseded` once another process, or a person, has let the thread go on elsewhere. What was done in a run
    of the thread that was closed before, and whose checkpoints the graph goes on from, is not done again.

    Args:
        config: as the node or tool was given it; None: that of the code that is running.

    Raises:
        InvalidInput: this is no node of a graph, or its graph is compiled without a `LedgerSaver`.
    """
    config = given(config)
    entered = entered_with(config)
    return (_looked_up(saver_of(config), config) if entered is None else entered).acting


async def aledger_run(config: RunnableConfig | None = None) -> AsyncRun:
    """Return the run of the thread that a graph is working on, for an event loop; as `ledger_run`.

    Raises:
        InvalidInput: this is no node of a graph, or its graph is compiled without a `LedgerSaver`.
        Superseded: the thread was let go on elsewhere since the graph entered it.
    """
    config = given(config)
    saver, entered = saver_of(config), entered_with(config)
    if entered is None:
        found = await anyio.to_thread.run_sync(partial(_looked_up, saver, config))
        face = saver.faces.here()
        return aacting_run(await face.run(found.run.id, actor=found.run.actor), found.earlier, face)
    loop = asyncio.get_running_loop()
    known = entered.awaited.get(loop)
    if known is None:
        run, face = entered.run, saver.faces.here()
        known = await face.run(run.id, actor=run.actor)
        if known.incarnation != run.incarnation:
            raise Superseded(
                f"{run.id!r} goes on elsewhere, as incarnation {known.incarnation}; this graph entered "
                f"{run.incarnation}",
                rule="superseded",
                position=None,
                evidence={"run": run.id, "incarnation": known.incarnation},
            )
        known = entered.awaited[loop] = aacting_run(known, entered.earlier, face)
    return known


def _looked_up(saver: Saver, config: RunnableConfig) -> Entered:
    """Return the present run of a thread, which is opened where there is none."""
    entry = saver.threads.writing(place_of(config).thread)
    return Entered(entry, earlier_of(saver.ledger, saver.threads, entry))


def entered_with(config: RunnableConfig) -> Entered | None:
    """Return what the loop of this config's graph entered with; None where that is not known."""
    said = configurable(config)
    known, thread = said.get(ENTERED), str(said.get("thread_id"))
    if not isinstance(known, Entered) or known.thread == thread:
        return known if isinstance(known, Entered) else None
    return known.within(thread, str(said.get("checkpoint_ns") or ""))


def following_of(config: RunnableConfig, line: str) -> Following | None:
    """Return what follows the loop that saves on a line; None: it is the loop of a graph inside, or none."""
    entered = entered_with(config)
    return entered.following if entered is not None and entered.line == line else None


def check_goes_on(config: RunnableConfig, act: Any = None) -> None:
    """Raise again what stopped the graph in this invocation, whoever kept it to themselves.

    Args:
        config: of the task.
        act: what is about to be done: where it is what stopped the graph, it may be tried once more.
    """
    entered = entered_with(config)
    for stopped, error in [] if entered is None else list(entered.stopped.items()):
        if act is None or stopped != act:
            raise error


def entry_of(config: RunnableConfig) -> Entry | None:
    """Return the run as the loop of this config's graph entered it; None: no graph is running."""
    entered = entered_with(config)
    return None if entered is None else entered.entry


def saver_of(config: RunnableConfig) -> Saver:
    """Return the `LedgerSaver` of the graph that is running.

    Raises:
        InvalidInput: this is no node of a graph, or its graph is compiled without one.
    """
    saver = configurable(config).get(CHECKPOINTER)
    if saver is None:
        raise _outside("no graph that keeps its state is running here")
    if not hasattr(saver, "threads"):
        raise _outside(f"the graph keeps its state with a {type(saver).__name__}, which knows no run")
    return cast(Saver, saver)


def configurable(config: RunnableConfig) -> Mapping[str, Any]:
    """Return what a config says of this invocation."""
    return config.get("configurable") or {}


def given(config: RunnableConfig | None) -> RunnableConfig:
    """Return a config, or that of the code that is running.

    Raises:
        InvalidInput: no graph is running here.
    """
    if config is not None:
        return config
    try:
        return get_config()
    except RuntimeError:
        raise _outside("no graph is running here") from None


def _outside(what: str) -> InvalidInput:
    return invalid(
        "config",
        f"{what}: compile the graph with checkpointer=LedgerSaver(…), and ask inside of a node or tool, with "
        "the config that it is given",
    )
