"""What the configurations that LangGraph passes say: which thread, which line, and what was loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig

from ledger.adapters.threads.naming import thread_name
from ledger.canonical import invalid

SEEN = "__ledger_seen"
"""Key under which a configuration says as what its checkpoint was loaded: a *mark*, or False where it was
addressed by its id. LangGraph passes it on to the next `put`, and keeps it out of the metadata."""

RESTS = "__ledger_rests"
"""Key under which a configuration says that nobody is at work on its thread: it is brought from elsewhere."""

_MANY = (Mapping, list, tuple, set, frozenset)
_RUNTIME = "__pregel_runtime"
_REPLAY = "__pregel_replay_state"
_TASK = "__pregel_task_id"


class Place(NamedTuple):
    """Where a checkpoint is, or is looked for."""

    thread: str
    ns: str
    id: str | None

    @property
    def state(self) -> str | None:
        """Name of the saved state that keeps it."""
        return None if self.id is None else state_name(self.id)

    def config(self, id: str, *, seen: int | None = None) -> RunnableConfig:
        """Return the configuration of a checkpoint here; `seen` where it was loaded as the latest."""
        given: dict[str, Any] = {"thread_id": self.thread, "checkpoint_ns": self.ns, "checkpoint_id": id}
        if seen is not None:
            given[SEEN] = [self.thread, self.ns, seen]
        return {"configurable": given}


def place_of(config: Mapping[str, Any] | None) -> Place:
    """Read where a configuration points to.

    Raises:
        InvalidInput: it names no thread, or what it names is malformed.
    """
    given = configurable(config)
    return Place(
        thread_of(given.get("thread_id")),
        _text(given.get("checkpoint_ns") or "", "checkpoint_ns"),
        _text(given["checkpoint_id"], "checkpoint_id") if given.get("checkpoint_id") else None,
    )


def configurable(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return what of a configuration is the graph's own."""
    given = None if config is None else config.get("configurable")
    # Most are dictionaries, and asking whether something is a mapping takes longer than all the rest.
    return given if type(given) is dict or isinstance(given, Mapping) else {}


def thread_of(given: Any) -> str:
    """Return a thread as a text: what is none is named by what `str` says of it, as LangGraph itself does.

    Raises:
        InvalidInput: it names none.
    """
    if not isinstance(given, str) and given is not None and not isinstance(given, _MANY):
        given = str(given)
    if not isinstance(given, str) or not given.strip():
        raise invalid(
            "thread_id",
            'a checkpoint belongs to a thread: pass config={"configurable": {"thread_id": …}}'
            + ("" if given is None else f", a text that is not blank, not {given!r:.50}"),
        )
    return str(given)


def state_name(id: str) -> str:
    """Return the name of the saved state of a checkpoint."""
    return thread_name(id)


def seen_in(config: Mapping[str, Any], place: Place, source: Any) -> int | None:
    """Tell at which position the parent of a checkpoint was seen to be the latest; None: it is a branch.

    A fork or an update is a branch, and so is what goes on from a checkpoint that was addressed by its id.
    """
    if source in ("fork", "update"):
        return None
    given = configurable(config)
    mark = given.get(SEEN)
    if isinstance(mark, (list, tuple)) and len(mark) == 3 and tuple(mark[:2]) == place[:2]:
        return mark[2] if type(mark[2]) is int else None
    if mark is False or given.get(_REPLAY) is not None or _RUNTIME not in given:
        return None
    # A loop that found none when it looked for the latest: it says so by its silence.
    return 0


def is_loop(config: Mapping[str, Any]) -> bool:
    """Tell whether it is a running graph that asks, and not a program that looks."""
    return _RUNTIME in configurable(config)


def is_root_loop(config: Mapping[str, Any]) -> bool:
    """Tell whether a graph that begins to run asks for the checkpoint it goes on from."""
    given = configurable(config)
    return _RUNTIME in given and given.get(_TASK) is None and not given.get("checkpoint_ns")


def _text(given: Any, name: str) -> str:
    if not isinstance(given, str):
        raise invalid(name, f"it is a text, not {given!r:.50}")
    return given
