"""What stands beside the values of a checkpoint, and what its tasks wrote: as bytes, and read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.checkpoint.base import WRITES_IDX_MAP, PendingWrite, writes_sort_key
from langgraph.checkpoint.serde.types import ERROR
from langgraph.pregel._checkpoint import LATEST_VERSION

from ledger.adapters.langgraph.codec import GraphCodec
from ledger.adapters.langgraph.configs import Place
from ledger.errors import UndecodableRecord

MAGIC = b"LGC"
VERSION = 1
"""Of what is written here; what a later release writes is refused."""


class Head(NamedTuple):
    """A checkpoint without its values."""

    place: Place
    parent: str | None
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]


class Write(NamedTuple):
    """What a task wrote to a channel."""

    task: str
    path: str
    at: int
    """Its place among those of its task; below 0: it is a mark, of which a task has one of each sort."""
    channel: str
    value: bytes

    @property
    def order(self) -> tuple[str, str, int]:
        """Return where it comes among the writes to one checkpoint."""
        return writes_sort_key(self.path, self.task, self.at)


def write_head(codec: GraphCodec, head: Head) -> bytes:
    """Write what stands beside the values.

    Raises:
        InvalidInput: something in it is no data; `path` names the place.
    """
    thread, ns, id = head.place
    data = {
        "thread": thread,
        "ns": ns,
        "id": id,
        "parent": head.parent,
        "checkpoint": head.checkpoint,
        "metadata": head.metadata,
    }
    return MAGIC + bytes((VERSION,)) + codec.dumps(data, "")


def is_head(content: bytes) -> bool:
    """Tell whether it is of a checkpoint: threads may have states of other programs, too."""
    return content[: len(MAGIC)] == MAGIC


def read_head(codec: GraphCodec, content: bytes) -> Head:
    """Read what stands beside the values.

    Raises:
        UndecodableRecord: it is of another program, or a later format than is known here.
        UnknownType: it holds a value of a type that is not registered.
    """
    data = _read(codec, content, "checkpoint")
    try:
        place = Place(data["thread"], data["ns"], data["id"])
        return Head(place, data["parent"], dict(data["checkpoint"]), dict(data["metadata"]))
    except (KeyError, TypeError, ValueError) as error:
        raise UndecodableRecord(f"the head of a checkpoint is none: {error!r:.200}") from error


def check_version(head: Head) -> None:
    """Refuse a checkpoint that the installed LangGraph cannot go on from.

    Raises:
        UndecodableRecord: its format is later than that.
    """
    version = head.checkpoint.get("v", 1)
    if type(version) is not int or version > LATEST_VERSION:
        raise UndecodableRecord(
            f"checkpoint {head.place.id!r} has the format {version!r:.20}, the installed LangGraph knows "
            f"those up to {LATEST_VERSION}: install the one that wrote it, or a later one"
        )


def write_part(codec: GraphCodec, writes: Sequence[tuple[str, Any]], task: str, task_path: str) -> bytes:
    """Write what a task wrote.

    Raises:
        InvalidInput: something in it is no data; `path` names the channel and the place.
    """
    written = []
    for index, (channel, value) in enumerate(writes):
        # An error is kept as what it says: what raised it may be of any class.
        kept = repr(value) if channel == ERROR and isinstance(value, BaseException) else value
        written.append([WRITES_IDX_MAP.get(channel, index), channel, codec.dumps(kept, channel)])
    data = {"task": task, "path": task_path, "writes": written}
    return MAGIC + bytes((VERSION,)) + codec.dumps(data, "writes")


def read_parts(codec: GraphCodec, contents: Iterable[bytes]) -> list[Write]:
    """Read what the tasks after a checkpoint wrote, in the order in which a graph applies it.

    Of two writes under one index the first stands; of marks like an error or an interrupt, the last.
    """
    found: dict[tuple[str, int], Write] = {}
    for content in contents:
        data = _read(codec, content, "what a task wrote")
        try:
            task, path = data["task"], data["path"]
            for index, channel, value in data["writes"]:
                if index < 0 or (task, index) not in found:
                    found[task, index] = Write(task, path, index, channel, value)
        except (KeyError, TypeError, ValueError) as error:
            raise UndecodableRecord(f"what a task wrote is none: {error!r:.200}") from error
    return sorted(found.values(), key=lambda write: write.order)


def pending(codec: GraphCodec, writes: Iterable[Write]) -> list[PendingWrite]:
    """Return writes as LangGraph has them."""
    return [(write.task, write.channel, codec.loads(write.value)) for write in writes]


def _read(codec: GraphCodec, content: bytes, what: str) -> Mapping[str, Any]:
    if not is_head(content):
        raise UndecodableRecord(
            f"{what} is not of LangGraph's saver: another program keeps states in this thread"
        )
    version = content[len(MAGIC)] if len(content) > len(MAGIC) else 0
    if version != VERSION:
        raise UndecodableRecord(
            f"{what} has the format {version}, this release knows {VERSION}: it was written by a later one"
        )
    data = codec.loads(content[len(MAGIC) + 1 :])
    if not isinstance(data, dict):
        raise UndecodableRecord(f"{what} is none")
    return data
