"""Saving and loading checkpoints: what both faces of the `Checkpointer` do."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from ledger.adapters.checkpointer import reading
from ledger.adapters.checkpointer.backend import Backend, New, Stored
from ledger.adapters.checkpointer.boundaries import Boundary, check_boundary
from ledger.adapters.checkpointer.codec import DataCodec, Written
from ledger.adapters.checkpointer.data import check_data
from ledger.adapters.checkpointer.errors import CheckpointNotFound, CorruptCheckpoint
from ledger.adapters.checkpointer.messages import (
    Archive,
    Message,
    Summary,
    arrange,
    check_messages,
    split_after,
)
from ledger.adapters.checkpointer.options import Options
from ledger.adapters.checkpointer.reading import Reader, not_ours
from ledger.adapters.checkpointer.streams import Streams
from ledger.adapters.checkpointer.values import Checkpoint, Loaded, checkpoint_of, new_name, number_of
from ledger.adapters.packs import Unpacked
from ledger.canonical import invalid
from ledger.errors import StateMoved

OWN: Final = "="
"""In front of the names of a state's own values, which so are none of the two below."""
ARCHIVE: Final = "archive"
SUMMARIES: Final = "summaries"
KNOWN: Final = 256
"""Threads whose archive is remembered."""


class Tail(NamedTuple):
    """What the next checkpoint goes on from, beside the state."""

    id: str | None
    archive: Archive = Archive()
    summaries: tuple[Summary, ...] = ()
    good: str | None = None
    """The checkpoint that was loaded in the place of this one, which is damaged."""


class Engine:
    """Keeps the states of threads in a back end. Programs' threads may share it."""

    def __init__(self, backend: Backend, codec: DataCodec, options: Options) -> None:
        self.backend = backend
        self.streams = Streams(backend.place())
        self._reader = Reader(backend)
        self._codec = codec
        self._options = options
        self._tails: OrderedDict[str, Tail] = OrderedDict()
        self._mutex = threading.Lock()

    # --- saving -----------------------------------------------------------------------------------

    def save(self, thread: str, state: Any, at: object, parent: str | None) -> str:
        """Save a state on its parent; return the id of the checkpoint."""
        boundary = check_boundary(at)
        self.streams.refuse(thread)
        own = self._checked(state)
        newest = self._newest(thread, parent)
        tail = self._tail(thread, newest)
        return self._keep(thread, boundary, own, tail, newest)

    def summarise(self, thread: str, text: str, through: str, at: object, parent: str | None) -> str:
        """Let a summary stand for the messages up to one; return the id of the checkpoint."""
        boundary = check_boundary(at)
        self.streams.refuse(thread)
        check_data(text, "text", self._options.format)
        field = self._options.messages
        if field is None or type(text) is not str or not text.strip():
            raise invalid("text", "a summary is a text that is not blank, of messages that have a field")
        newest = self._newest(thread, parent)
        if newest is None:
            raise CheckpointNotFound(f"thread {thread!r:.200} has no checkpoint", thread=thread, id="")
        loaded = self._loaded(thread, newest)
        messages = check_messages(loaded.state.get(field, []), f"state.{field}")
        told, kept = split_after(messages, through, f"state.{field}")
        tail = self._tail(thread, newest)
        tail = tail._replace(
            archive=tail.archive.with_messages(told, self._codec),
            summaries=(*tail.summaries, Summary(text, through)),
        )
        return self._keep(thread, boundary, {**loaded.state, field: kept}, tail, newest)

    def _checked(self, state: Any) -> dict[str, Any]:
        if type(state) is not dict:
            raise invalid("state", f"a state is a dict of named values, not {type(state).__name__}")
        check_data(state, "state", self._options.format)
        field = self._options.messages
        if field is not None and field in state:
            check_messages(state[field], f"state.{field}")
        return state

    def _newest(self, thread: str, parent: str | None) -> Stored | None:
        """Find the newest checkpoint, which the parent has to be.

        Raises:
            StateMoved: it is another one.
        """
        _check_id(parent, "parent")
        newest = self.backend.find(thread)
        known = None if newest is None else newest.id
        if known != parent:
            said = (
                "nothing was loaded of it here"
                if parent is None
                else f"this one goes on from {parent!r:.200}"
            )
            raise StateMoved(
                f"the newest checkpoint of thread {thread!r:.200} is {known!r:.200}, and {said}: load it, "
                "decide again, and save",
                run=thread,
                expected=number_of(parent) or 0,
                actual=number_of(known) or 0,
                dropped=None,
            )
        return newest

    def _keep(
        self, thread: str, boundary: Boundary, own: dict[str, Any], tail: Tail, newest: Stored | None
    ) -> str:
        before = number_of(tail.id)
        if before is None:
            raise not_ours(thread, tail.id)
        id = new_name(before + 1, boundary, self.backend.new_id())
        own, archive = self._arranged(own, tail.archive)
        values = {OWN + name: value for name, value in own.items()}
        if len(archive):
            values[ARCHIVE] = archive.entries
        if tail.summaries:
            values[SUMMARIES] = [summary._asdict() for summary in tail.summaries]
        head = {"archived": len(archive), "from": tail.good, "id": id, "thread": thread, "v": reading.VERSION}
        new = New(
            id,
            values,
            json.dumps(head).encode(),
            whole=before % self._options.every == 0,
            but=(ARCHIVE,),
            rests=boundary == "before_wait",
        )
        self.backend.save(thread, new, newest, anew=tail.good is not None)
        self._remember(thread, Tail(id, archive, tail.summaries))
        return id

    def _arranged(self, own: dict[str, Any], archive: Archive) -> tuple[dict[str, Any], Archive]:
        field = self._options.messages
        if field is None or field not in own:
            return own, archive
        messages, archive = arrange(own[field], archive, self._options.window, self._codec)
        return {**own, field: messages}, archive

    # --- loading ----------------------------------------------------------------------------------

    def load(self, thread: str, *, fallback: bool) -> Loaded | None:
        """Load the newest state, or the newest that can be read; None where there is none."""

        def read(newest: Stored) -> Loaded:
            try:
                return self._loaded(thread, newest)
            except CorruptCheckpoint as corrupt:
                good = None if corrupt.good is None else self.backend.find(thread, corrupt.good)
                if good is None or not fallback:
                    raise
            tail = self._read_tail(thread, good)
            self._remember(thread, tail._replace(id=newest.id, good=good.id))
            return self._loaded(thread, good)._replace(fell_back_from=newest.id)

        return self._reader.look(thread, None, read)

    def load_checkpoint(self, thread: str, id: str) -> Loaded:
        """Load a checkpoint by its id."""
        if id is None:
            raise invalid("checkpoint_id", "name a checkpoint; `load` has the newest")
        _check_id(id, "checkpoint_id")
        loaded = self._reader.look(thread, id, partial(self._loaded, thread))
        if loaded is None:
            raise CheckpointNotFound(
                f"thread {thread!r:.200} has no checkpoint {id!r:.200}", thread=thread, id=id
            )
        return loaded

    def checkpoints(self, thread: str, *, before: str | None, limit: int | None) -> list[Checkpoint]:
        """List checkpoints, the newest first."""
        if limit is not None and (type(limit) is not int or limit < 0):
            raise invalid("limit", f"so many at most: 0 or more, not {limit!r:.50}")
        _check_id(before, "before")
        found = (checkpoint_of(one) for one in self.backend.all(thread))
        return list(islice((one for one in found if before is None or one.id < before), limit))

    def archive(self, thread: str, *, page: int) -> Iterator[list[Message]]:
        """Yield the pages of the archive, the newest first; on each the oldest message first."""
        if type(page) is not int or page < 1:
            raise invalid("page", f"a page has one message or more, not {page!r:.50}")

        def read(newest: Stored) -> list[Message]:
            messages: list[Message] = self._reader.sound(thread, newest, {ARCHIVE}).values.get(ARCHIVE, [])
            return messages

        entries = self._reader.look(thread, None, read) or []
        for end in range(len(entries), 0, -page):
            yield entries[max(0, end - page) : end]

    def delete(self, thread: str, *, by: str | None, reason: str) -> bool:
        """Give up all checkpoints of a thread, and its archive."""
        with self._mutex:
            self._tails.pop(thread, None)
        return self.backend.delete(thread, by=by, reason=reason)

    def _loaded(self, thread: str, stored: Stored) -> Loaded:
        read = self._reader.sound(thread, stored, _AllBut((ARCHIVE,)))
        head = json.loads(read.head)
        return Loaded(
            state={name[len(OWN) :]: value for name, value in read.values.items() if name.startswith(OWN)},
            checkpoint=checkpoint_of(stored),
            summaries=_summaries(read),
            archived=head["archived"],
        )

    # --- what the next one goes on from -----------------------------------------------------------

    def _tail(self, thread: str, newest: Stored | None) -> Tail:
        if newest is None:
            return Tail(None)
        with self._mutex:
            known = self._tails.get(thread)
        if known is not None and known.id == newest.id:
            return known
        return self._read_tail(thread, newest)

    def _read_tail(self, thread: str, stored: Stored) -> Tail:
        read = self._reader.sound(thread, stored, {ARCHIVE, SUMMARIES})
        messages: list[Message] = read.values.get(ARCHIVE, [])
        entries = [Written(message["id"], self._codec.dumps(message, ARCHIVE)) for message in messages]
        return Tail(stored.id, Archive(entries), _summaries(read))

    def _remember(self, thread: str, tail: Tail) -> None:
        with self._mutex:
            self._tails[thread] = tail
            self._tails.move_to_end(thread)
            if len(self._tails) > KNOWN:
                self._tails.popitem(last=False)


class _AllBut(tuple[str, ...]):
    """Every name but these."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return not super().__contains__(name)


def _check_id(id: object, path: str) -> None:
    if id is not None and not isinstance(id, str):
        raise invalid(path, f"a checkpoint is named by a text, not {type(id).__name__}")


def _summaries(read: Unpacked) -> tuple[Summary, ...]:
    return tuple(Summary(**summary) for summary in read.values.get(SUMMARIES, ()))
