"""The messages of a state: one of each id, the newest of them in the state, the older ones in an archive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ledger.adapters.checkpointer.codec import DataCodec, Written
from ledger.canonical import invalid

Message = dict[str, Any]


class Summary(NamedTuple):
    """What stands for messages that left the state."""

    text: str
    through: str
    """Id of the last message that it tells of."""


class Archive:
    """Messages that left the state, one of each id, in the order in which they left. It is not changed."""

    def __init__(self, entries: Sequence[Written] = ()) -> None:
        self.entries = list(entries)
        self._places = {entry.id: place for place, entry in enumerate(self.entries)}

    def __contains__(self, id: str) -> bool:
        return id in self._places

    def __len__(self) -> int:
        return len(self.entries)

    def with_messages(self, messages: Iterable[Message], codec: DataCodec) -> Archive:
        """Return an archive with these messages too; one that it has is replaced by its later version."""
        entries, places = list(self.entries), dict(self._places)
        for message in messages:
            written = Written(message["id"], codec.dumps(message, "archive"))
            place = places.get(written.id)
            if place is None:
                places[written.id] = len(entries)
                entries.append(written)
            else:
                entries[place] = written
        new = Archive()
        new.entries, new._places = entries, places
        return new


class Arranged(NamedTuple):
    """Messages that stay in the state, and the archive with those that do not."""

    messages: list[Message]
    archive: Archive


def check_messages(messages: Any, path: str) -> list[Message]:
    """Make sure that each message has an id by which it is known again.

    Raises:
        InvalidInput: it is no list of such messages; `path` says where.
    """
    if type(messages) is not list:
        raise invalid(path, "messages are a list; name another field by messages=…, or none by messages=None")
    for number, message in enumerate(messages):
        if type(message) is not dict:
            raise invalid(f"{path}[{number}]", f"a message is a dict, not {type(message).__name__}")
        id = message.get("id")
        if type(id) is not str or not id:
            raise invalid(f"{path}[{number}].id", "a message has an id, a text that stays the same")
    return messages


def one_of_each(messages: Iterable[Message]) -> list[Message]:
    """Return one message of each id: the last one that is given, in the place of the first."""
    return list({message["id"]: message for message in messages}.values())


def arrange(messages: Iterable[Message], archive: Archive, window: int | None, codec: DataCodec) -> Arranged:
    """Keep the newest messages in the state and put the others into the archive.

    One that is in the archive stays there, in its later version.
    """
    all = one_of_each(messages)
    kept = [message for message in all if message["id"] not in archive]
    leaving = [message for message in all if message["id"] in archive]
    if window is not None and len(kept) > window:
        leaving += kept[: len(kept) - window]
        kept = kept[len(kept) - window :]
    return Arranged(kept, archive.with_messages(leaving, codec) if leaving else archive)


def split_after(messages: list[Message], through: str, path: str) -> tuple[list[Message], list[Message]]:
    """Part messages after the one with an id.

    Raises:
        InvalidInput: none has it.
    """
    for number, message in enumerate(messages):
        if message["id"] == through:
            return messages[: number + 1], messages[number + 1 :]
    raise invalid("through", f"no message of {path} has the id {through!r:.200}: it left, or never was")
