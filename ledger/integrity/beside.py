"""What a store keeps beside the events, by its names: each belongs to a stream that is there."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ledger.integrity.findings import Check, Notes
from ledger.integrity.reader import Reader, Storage

_DIGEST_BYTES = 32


def damage(storage: Storage, whole: Notes) -> None:
    """Note what the database itself finds wrong."""
    found = list(storage.damage())
    whole.checked[Check.STORE] += 1
    for what in found:
        whole.altered(Check.STORE, None, f"the database finds this wrong: {what}")


def sight(storage: Storage, whole: Notes, *, everything: bool) -> None:
    """Note what this reader is not shown: of that nothing can be told."""
    hidden = list(storage.unseen(whole.tenant))
    if everything and not storage.sees_every_tenant():
        hidden.append(
            "an event given to another tenant is not seen: ask as a role to which every tenant is open"
        )
    whole.checked[Check.STORE] += 1
    for what in hidden:
        whole.unsupported(Check.STORE, None, what)


def left_behind(reader: Reader, storage: Storage, whole: Notes, known: Collection[str]) -> Iterator[str]:
    """Note names that are none, and yield streams of which a snapshot is kept and no event.

    Who takes one adds it to what is known, so that it comes once.
    """
    for what, tenant, name in storage.kept():
        proper = (
            type(name) is bytes and len(name) == _DIGEST_BYTES if what == "content" else type(name) is str
        )
        if not whole.expect(
            Check.STORE, type(tenant) is str, None, "a {} is kept under the tenant {!r}", what, tenant
        ):
            continue
        if tenant != whole.tenant:
            continue
        whole.expect(Check.STORE, proper, None, "a {} is kept under the name {!r}", what, name)
        if what != "snapshot" or type(name) is not str or name in known:
            continue
        # A run that was opened since the streams were listed has its events by now.
        if not reader.read(whole.tenant, name, limit=1):
            yield name
