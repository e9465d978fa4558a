"""Checkpoints in a folder of files, without a ledger: a cursor alone, with all that it does not tell."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

from ledger import Actor
from ledger.adapters.checkpointer.backend import Cache, New, Stored
from ledger.adapters.checkpointer.codec import DataCodec
from ledger.adapters.checkpointer.errors import NewerFormat
from ledger.adapters.checkpointer.folder import (
    Folder,
    ThreadFolder,
    altered,
    content_of,
    pack_of,
    read_content,
    read_header,
)
from ledger.adapters.checkpointer.values import number_of
from ledger.adapters.packs import Memo, Unpacked, pack, unpack
from ledger.application.expiring import for_people
from ledger.canonical import invalid
from ledger.errors import IntegrityError, StateMoved
from ledger.stores.stamps import Clock

VERSION: Final = 1
KNOWN: Final = 256
"""Threads of which is remembered what is stored."""


class _Place(NamedTuple):
    """Where a checkpoint is."""

    number: int
    root: str
    """Id of the first checkpoint that it may rest on: another one where the thread was begun anew."""


@dataclass(slots=True)
class _Known:
    """What is known to be stored of a thread."""

    root: str
    memo: Memo = field(default_factory=Memo)
    files: dict[bytes, Path] = field(default_factory=dict)
    mutex: threading.Lock = field(default_factory=threading.Lock)


class FileBackend:
    """Keeps each checkpoint in a file of its own. Threads and processes may share the folder."""

    def __init__(
        self,
        folder: Folder,
        codec: DataCodec,
        cache: Cache | None,
        *,
        clock: Clock,
        ids: Callable[[], str],
    ) -> None:
        self._folder = folder
        self._codec = codec
        self._cache = cache
        self._clock = clock
        self._ids = ids
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._mutex = threading.Lock()

    def place(self) -> Hashable:
        return self._folder.root.resolve()

    def new_id(self) -> str:
        return self._ids()

    def find(self, thread: str, id: str | None = None) -> Stored | None:
        there = self._folder.thread(_checked(thread))
        if id is None:
            numbers = there.numbers()
            return _stored(there, numbers[-1]) if numbers else None
        number = number_of(id)
        found = None if number is None else _stored(there, number)
        return found if found is not None and found.id == id else None

    def all(self, thread: str) -> Iterator[Stored]:
        there = self._folder.thread(_checked(thread))
        for number in reversed(there.numbers()):
            found = _stored(there, number)
            if found is not None:
                yield found

    def read(self, thread: str, stored: Stored, names: Collection[str] | None = None) -> Unpacked:
        if stored.damaged is not None:
            raise IntegrityError(stored.damaged, digest=stored.digest)
        known = self._of(thread, stored.place.root)
        with known.mutex:
            fetch = partial(self._contents, self._folder.thread(thread), known)
            digest = bytes.fromhex(stored.digest)
            content = fetch([digest]).get(digest)
            if content is None:
                raise IntegrityError(f"the content of checkpoint {stored.id!r} is gone", digest=stored.digest)
            return unpack(digest, content, fetch, self._codec, names=names, memo=known.memo)

    def save(self, thread: str, new: New, after: Stored | None, *, anew: bool) -> None:
        place: _Place = _Place(0, new.id) if after is None else after.place
        # Another root tells everybody to rely on nothing that they know to be stored.
        root = new.id if anew or after is None else place.root
        known = self._of(_checked(thread), root)
        with known.mutex:
            memo = known.memo
            resting = memo.only(None, new.but) if new.whole else memo
            packed = pack(new.values, new.head, self._codec, memo=resting)
            header = {
                "at": self._clock().isoformat(),
                "id": new.id,
                "parent": None if after is None else after.id,
                "root": root,
                "thread": thread,
                "v": VERSION,
                "whole": packed.whole,
            }
            content = content_of(header, packed.content)
            with self._folder.writing(thread):
                numbers = self._folder.thread(thread).numbers()
                newest = numbers[-1] if numbers else 0
                same = newest == place.number and (after is None or self._is(thread, after))
                if not same or not self._folder.add(thread, place.number + 1, new.id, content):
                    raise StateMoved(
                        f"checkpoint {new.id!r} of thread {thread!r:.200} cannot be saved: another one was "
                        "saved, or the thread deleted, since its parent was the newest",
                        run=thread,
                        expected=place.number,
                        actual=newest if newest != place.number else place.number + 1,
                        dropped=None,
                    )
            digest = hashlib.sha256(content).digest()
            packed.note(memo, None, digest)
        if self._cache is not None:
            self._cache.put({digest: content})

    def delete(self, thread: str, *, by: str | None, reason: str) -> bool:
        if by is not None:
            for_people(_actor(by), by, "state.drop")
        with self._folder.writing(_checked(thread)):
            digests = self._folder.thread(thread).named().keys()
            was_there = self._folder.remove(thread, self._ids())
        if self._cache is not None:
            self._cache.drop(digests)
        return was_there

    def close(self) -> None:
        if self._cache is not None:
            self._cache.close()

    def _is(self, thread: str, after: Stored) -> bool:
        """Tell whether the checkpoint is still the one at its place: a thread may have been begun anew."""
        found = _stored(self._folder.thread(thread), after.place.number)
        return found is not None and found.id == after.id

    def _of(self, thread: str, root: str) -> _Known:
        with self._mutex:
            known = self._known.get(thread)
            if known is None or known.root != root:
                known = self._known[thread] = _Known(root)
            self._known.move_to_end(thread)
            if len(self._known) > KNOWN:
                self._known.popitem(last=False)
            return known

    def _contents(
        self, there: ThreadFolder, known: _Known, digests: Collection[bytes]
    ) -> Mapping[bytes, bytes]:
        wanted = set(digests)
        found = dict(self._cache.get(wanted)) if self._cache is not None else {}
        read: dict[bytes, bytes] = {}
        for digest in wanted - found.keys():
            if digest not in known.files:
                known.files = there.named()
            # Whoever asked for what is gone finds that it is missing.
            with suppress(FileNotFoundError, KeyError):
                read[digest] = read_content(known.files[digest], digest)
        if read and self._cache is not None:
            self._cache.put(read)
        return {digest: pack_of(content) for digest, content in (found | read).items()}


def _stored(there: ThreadFolder, number: int) -> Stored | None:
    """Read what a checkpoint's file says of it; None where there is none."""
    try:
        return _read(there.place(number), number)
    except FileNotFoundError:
        return None
    except IntegrityError as error:
        id = there.id_of(number)
        name = f"{number:010}" if id is None else unquote(id)
        return Stored(name, None, None, "", 0, False, _Place(number, name), damaged=str(error))


def _read(path: Path, number: int) -> Stored:
    header = read_header(path)
    fields = header.fields
    if type(fields.get("v")) is int and fields["v"] > VERSION:
        raise NewerFormat(
            f"checkpoint {fields.get('id')!r:.200} is of format {fields['v']}, and this release knows "
            f"{VERSION}: upgrade",
            format=fields["v"],
            known=VERSION,
        )
    try:
        return Stored(
            id=_text(fields["id"]),
            parent=None if fields["parent"] is None else _text(fields["parent"]),
            at=datetime.fromisoformat(fields["at"]),
            digest=header.digest.hex(),
            size=header.size,
            whole=bool(fields["whole"]),
            place=_Place(number, _text(fields["root"])),
        )
    except (KeyError, TypeError, ValueError):
        raise altered(path, "its header is none") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _actor(by: str) -> Actor:
    try:
        return Actor(by)
    except ValueError as error:
        raise invalid("by", f"say who decided it, as `kind:name`, not {by!r:.100}") from error


def _checked(thread: str) -> str:
    if not isinstance(thread, str) or not thread.strip():
        raise invalid("thread_id", f"a thread is named by a text that is not blank, not {thread!r:.50}")
    return thread
