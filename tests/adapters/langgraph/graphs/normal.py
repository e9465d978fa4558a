"""What graphs say, without the names that are drawn anew each time.

Ids are numbered in the order in which they are seen, times and the random part of versions are left out.
Everything else is kept with its type, so that what is equal here is equal to whoever reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import StateSnapshot
from pydantic import BaseModel

DRAWN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)")
BY_NAME = frozenset({"channel_values", "channel_versions", "versions_seen", "configurable", "metadata"})
"""Mappings whose order says nothing."""


class Tagged(NamedTuple):
    """A value with the name of its type."""

    kind: str
    value: object


class Normal:
    """Writes what one thread says; the numbers it gives to names last as long as it does."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._written = False

    def __copy__(self) -> Normal:
        other = Normal()
        other._names.update(self._names)
        return other

    def text(self, text: str) -> str:
        return TIME.sub("<time>", DRAWN.sub(self._number, text))

    def _number(self, found: re.Match[str]) -> str:
        return self._names.setdefault(found.group(), f"<{len(self._names)}>")

    def value(self, value: Any) -> object:
        if value is None or type(value) in (bytes, int):
            return value
        if type(value) is str:
            return self.text(value)
        if isinstance(value, StateSnapshot):
            return self.snapshot(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, (set, frozenset)):
            return Tagged(_kind(value), sorted(map(repr, map(self.value, value))))
        if isinstance(value, BaseException):
            return Tagged(_kind(value), [self.text(str(part)) for part in value.args])
        if isinstance(value, Enum):
            return Tagged(_kind(value), value.name)
        if isinstance(value, BaseModel):
            said = self._mapping(self._without_late_id(value))
            return Tagged(_kind(value), (said, self.value(value.__pydantic_extra__)))
        if is_dataclass(value) and not isinstance(value, type):
            return Tagged(_kind(value), [(f.name, self.value(getattr(value, f.name))) for f in fields(value)])
        if type(value) is tuple:
            # LangGraph's own savers give lists for tuples; that ours gives tuples has a test of its own.
            return self.value(list(value))
        if isinstance(value, Iterable):
            return Tagged(_kind(value), list(map(self.value, value)))
        return Tagged(_kind(value), self.text(repr(value)))

    def written(self, value: Any) -> object:
        """Write what a task wrote.

        A message without an id is given one when the graph applies it, which LangGraph does while it is being
        saved: whether it is saved with it, is chance.
        """
        self._written = True
        try:
            return self.value(value)
        finally:
            self._written = False

    def _without_late_id(self, value: BaseModel) -> dict[str, Any]:
        if self._written and isinstance(value, BaseMessage) and (value.id is None or DRAWN.search(value.id)):
            return {**value.__dict__, "id": None}
        return value.__dict__

    def _mapping(self, value: Mapping[Any, Any]) -> object:
        found = []
        for key, item in value.items():
            named = Tagged("name", self.text(key)) if isinstance(key, str) else self.value(key)
            found.append((named, self._under(key, item)))
        return Tagged(_kind(value), found)

    def _under(self, key: Any, item: Any) -> object:
        if key == "channel_versions" and isinstance(item, Mapping):
            return self.by_name({name: _version(said) for name, said in item.items()})
        if key == "versions_seen" and isinstance(item, Mapping):
            seen = {node: {name: _version(at) for name, at in s.items()} for node, s in item.items()}
            return self.by_name({node: self.by_name(said) for node, said in seen.items()})
        if key in BY_NAME and type(item) is dict:
            return self.by_name(item)
        return self.value(item)

    def by_name(self, value: Mapping[str, Any]) -> list[tuple[str, object]]:
        """Write a mapping in the order of its names; those that begin with `__` are a saver's own affair."""
        names = sorted((name for name in value if not name.startswith("__pregel")), key=_undrawn)
        return [(self.text(name), self._under(name, value[name])) for name in names]

    def config(self, config: Any) -> object:
        """Write a config: which thread, line and checkpoint it means."""
        if config is None:
            return None
        named = {name: said for name, said in config["configurable"].items() if not name.startswith("__")}
        return self.by_name(named)

    def metadata(self, metadata: Mapping[str, Any] | None) -> object:
        return None if metadata is None else self.by_name(metadata)

    def snapshot(self, state: StateSnapshot) -> object:
        tasks = [
            {
                "id": self.text(task.id),
                "name": task.name,
                "path": repr(task.path),
                "error": self.value(task.error),
                "interrupts": self.value(task.interrupts),
                "result": self.written(task.result),
                "state": self.config(task.state) if isinstance(task.state, dict) else self.value(task.state),
            }
            for task in state.tasks
        ]
        return {
            "values": self.value(state.values),
            "next": state.next,
            "config": self.config(state.config),
            "metadata": self.metadata(state.metadata),
            "created": state.created_at is not None and self.text(state.created_at),
            "parent": self.config(state.parent_config),
            "tasks": tasks,
            "interrupts": self.value(state.interrupts),
        }

    def kept(self, found: CheckpointTuple) -> object:
        """Write a checkpoint as a saver gives it."""
        return {
            "config": self.config(found.config),
            "checkpoint": self.by_name(dict(found.checkpoint)),
            "metadata": self.metadata(found.metadata),
            "parent": self.config(found.parent_config),
            "writes": [self.written(write) for write in found.pending_writes or ()],
        }


def unordered(value: Any) -> list[str]:
    """Write a value so that neither drawn names nor the order of its parts tell."""
    return sorted(re.findall(r"[^\s,()\[\]]+", re.sub(r"<\d+>", "<id>", repr(Normal().value(value)))))


def _version(version: str | int | float) -> int:
    return int(str(version).split(".", maxsplit=1)[0])


def _undrawn(name: str) -> str:
    return DRAWN.sub("", name)


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
