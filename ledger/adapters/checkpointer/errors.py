"""What a `Checkpointer` raises beside the errors of the ledger.

Refused
└── MidStream                 tokens stream: save at the next boundary
NotFound
└── CheckpointNotFound        no such checkpoint in the thread
IntegrityError
└── CorruptCheckpoint         the newest one cannot be read: mend it, or ask for the one before
StoreError
└── UndecodableRecord
    └── NewerFormat           written by a later release: upgrade
"""

from __future__ import annotations

from ledger.errors import IntegrityError, NotFound, Refused, UndecodableRecord


class MidStream(Refused):
    """Tokens stream in this thread, so its state is half of one: end the stream, then save."""

    code = "mid_stream"
    thread: str


class CheckpointNotFound(NotFound):
    """The thread has no such checkpoint: it never had, or it was deleted."""

    code = "checkpoint_not_found"
    thread: str
    id: str


class CorruptCheckpoint(IntegrityError):
    """The newest checkpoint is not what was written, or rests on what is not; `id` names it.

    `good` is the newest one before it that can be read, None where there is none. It is loaded by
    `load(thread, fallback=True)`, never by itself: what was done after it is not in it.
    """

    code = "corrupt_checkpoint"
    thread: str
    id: str
    good: str | None


class NewerFormat(UndecodableRecord):
    """A later release wrote this checkpoint: upgrade. No older one is loaded in its place."""

    code = "newer_format"
    format: int | str
    """As the checkpoint names it."""
    known: int | str
    """What this release knows of its kind."""
