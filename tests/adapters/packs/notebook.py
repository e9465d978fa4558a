"""A store of packs that is a dict, and a codec for JSON that is strict."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

from ledger.adapters.packs import Memo, Packed, Split, Unpacked, pack, refers_to, unpack
from ledger.errors import UndecodableRecord


class Strict:
    """Writes and reads JSON; lists are stored by element."""

    def dumps(self, value: Any, path: str) -> bytes:
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def loads(self, content: bytes) -> Any:
        try:
            return json.loads(content.decode("utf-8", "surrogatepass"))
        except (RecursionError, ValueError) as error:
            raise UndecodableRecord(f"no value: {error}") from None

    def split(self, value: Any) -> Split | None:
        return Split("list", value) if isinstance(value, list) else None

    def join(self, tag: str, elements: list[Any]) -> Any:
        if tag != "list":
            raise UndecodableRecord(f"no such kind of list: {tag!r:.50}")
        return elements


class Telling(Strict):
    """Tells of many values at once what they are, unless one of them is `null`."""

    def image(self, values: list[Any], before: Any = None) -> Any:
        found = None if None in values else json.dumps(values)
        return before if found == before else found


CODEC = Strict()


class Notebook:
    """Keeps packs, and counts how they are read."""

    def __init__(self, codec: Strict = CODEC) -> None:
        self.codec = codec
        self.contents: dict[bytes, bytes] = {}
        self.rounds: list[set[bytes]] = []

    def save(
        self, values: Mapping[str, Any], *, memo: Memo | None, line: str | None = None, head: bytes = b"head"
    ) -> bytes:
        """Write a state, store it, note it in the memo; return its digest."""
        packed = pack(values, head, self.codec, memo=memo, line=line)
        digest = self.store(packed)
        if memo is not None:
            packed.note(memo, line, digest)
        return digest

    def store(self, packed: Packed) -> bytes:
        return self.put(packed.content)

    def put(self, content: bytes) -> bytes:
        digest = hashlib.sha256(content).digest()
        self.contents[digest] = content
        return digest

    def fetch(self, digests: Collection[bytes]) -> dict[bytes, bytes]:
        self.rounds.append(set(digests))
        return {digest: self.contents[digest] for digest in digests if digest in self.contents}

    def read(self, digest: bytes, **more: Any) -> Unpacked:
        return unpack(digest, self.contents[digest], self.fetch, self.codec, **more)

    def needed(self, digest: bytes) -> set[bytes]:
        return refers_to(digest, self.contents[digest], self.fetch)

    def only(self, digests: Collection[bytes]) -> Notebook:
        """Return one that keeps these packs alone."""
        less = Notebook(self.codec)
        less.contents = {digest: self.contents[digest] for digest in digests}
        return less
