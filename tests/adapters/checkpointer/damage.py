"""Meddling with what is kept of a checkpoint, as a disk that forgets or a hand that slips."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from ledger.adapters.checkpointer import Checkpoint
from ledger.stores.memory import MemoryStore
from tests.adapters.checkpointer.conftest import Place

How = Callable[[bytes], bytes | None]
"""Makes other bytes of a content; None: it is gone."""


def flipped(content: bytes) -> bytes:
    """Change one bit in the middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def gone(content: bytes) -> None:
    """Take it away."""


def damage(place: Place, checkpoint: Checkpoint, how: How) -> None:
    """Damage the content of a checkpoint where it is kept."""
    if place.ledger is None:
        _file(place.folder, checkpoint, how)
    elif isinstance(place.ledger.store, MemoryStore):
        kinds = place.ledger.store._tables.blobs["default", bytes.fromhex(checkpoint.digest)]
        (blob,) = kinds.values()
        content = how(blob.content)
        if content is None:
            kinds.clear()
        else:
            kinds[blob.kind] = blob._replace(content=content)
    else:
        _row(place.folder.parent / "ledger.db", bytes.fromhex(checkpoint.digest), how)


def _file(folder: Path, checkpoint: Checkpoint, how: How) -> None:
    (path,) = folder.glob(f"threads/*/packs/{checkpoint.id}.*")
    content = how(path.read_bytes())
    if content is not None:
        path.write_bytes(content)  # the same file has its place
        return
    (place,) = (one for one in path.parent.parent.glob("places/*") if one.samefile(path))
    assert place.name == checkpoint.id.partition("-")[0]
    path.unlink()


def _row(path: Path, digest: bytes, how: How) -> None:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        (content,) = connection.execute("SELECT content FROM blobs WHERE digest = ?", (digest,)).fetchone()
        for name, _ in rows:
            connection.execute(f'DROP TRIGGER "{name}"')
        new = how(content)
        if new is None:
            connection.execute("DELETE FROM blobs WHERE digest = ?", (digest,))
        else:
            connection.execute("UPDATE blobs SET content = ? WHERE digest = ?", (new, digest))
        for _, statement in rows:
            connection.execute(statement)
    connection.close()
