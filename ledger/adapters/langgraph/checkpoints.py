"""Checkpoints as saved states of the runs of threads: one at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from ledger.adapters.langgraph.codec import GraphCodec
from ledger.adapters.langgraph.configs import Place, state_name
from ledger.adapters.langgraph.heads import (
    Head,
    Write,
    check_version,
    is_head,
    pending,
    read_head,
    read_parts,
    write_head,
    write_part,
)
from ledger.adapters.packs import Unpacked
from ledger.adapters.threads import Entry, Located, Threads, ThreadStates, run_name
from ledger.adapters.threads.naming import line_name
from ledger.application.saved_states import SavedPart
from ledger.canonical import invalid
from ledger.errors import IntegrityError, RunIsClosed, StateMoved, Superseded

Parts = Sequence[tuple[SavedPart, bytes | None]]
"""What tasks wrote; None: such a content is gone."""

TRIES = 4
COUNTERS = "counters_since_delta_snapshot"


class Checkpoints:
    """Saves and reads the checkpoints of threads."""

    def __init__(self, threads: Threads, codec: GraphCodec) -> None:
        self.threads = threads
        self.codec = codec
        self.states = ThreadStates(threads, codec)
        self._kept: tuple[Place, int] | None = None
        """A checkpoint that was found not to be given up when what tasks wrote was last kept, and the run."""

    # --- saving -----------------------------------------------------------------------------------

    def save(
        self,
        at: Place,
        head: Head,
        values: Mapping[str, Any],
        seen: int | None,
        entry: Entry | None = None,
        *,
        rests: bool = False,
    ) -> int:
        """Save a checkpoint, and return where it stands.

        Args:
            at: what it goes on from.
            head: what it is without its values.
            values: its values.
            seen: where its parent was seen to be the latest; None: it is a branch.
            entry: the run as a graph entered it; None: no graph is running.
            rests: no node is at work after this.

        Raises:
            Superseded: the run that was entered goes on elsewhere.
            StateMoved: somebody else went on from there, or it was given up.
            InvalidInput: a value is no data.
        """
        place, written = head.place, write_head(self.codec, head)
        assert place.state is not None
        for attempt in range(TRIES):
            try:
                _, position = self.states.save(
                    place.thread,
                    place.state,
                    values,
                    written,
                    line=place.ns,
                    parent=at.state,
                    seen=seen,
                    entry=entry,
                    rests=rests,
                )
                return position
            except Superseded:
                if entry is not None or attempt + 1 == TRIES:
                    raise
                self.threads.rejoin(place.thread)
            except StateMoved:
                if seen is None or at.state is None or attempt + 1 == TRIES or self.was_here(at):
                    raise
                # What it goes on from was never here: nobody could have seen it as the latest.
                seen = None
        raise AssertionError("a try ends by returning or raising")

    def carried(
        self,
        at: Place,
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
        changed: Collection[str],
    ) -> dict[str, Any]:
        """Return the values of delta channels that are what they were when the parent took them.

        So that one that is not written to any more is not looked for along all of its thread.
        """
        counted, versions = metadata.get(COUNTERS) or {}, checkpoint["channel_versions"]
        still = {
            channel
            for channel, (updates, *_) in counted.items()
            if updates == 0
            and channel in versions
            and channel not in changed
            and channel not in checkpoint["channel_values"]
        }
        parent = self.find(at) if still and at.state is not None else None
        return {} if parent is None else self.states.read(parent, names=still).values

    def keep(
        self,
        at: Place,
        writes: Sequence[tuple[str, Any]],
        task: str,
        task_path: str,
        given: Entry | None = None,
        *,
        rests: bool = False,
    ) -> None:
        """Keep what a task wrote after a checkpoint; `given` is the run as a graph entered it.

        `rests`: no node is at work after this.

        Raises:
            Superseded: the run that was entered goes on elsewhere.
            StateMoved: the run was closed, and the checkpoint given up.
            InvalidInput: no checkpoint is named, or a value is no data.
        """
        if at.state is None:
            raise invalid(
                "checkpoint_id", "what a task wrote belongs to a checkpoint, and the config names none"
            )
        content = write_part(self.codec, writes, task, task_path)
        entry = self.threads.writing(at.thread) if given is None else given
        for attempt in range(TRIES):
            self._check_kept(at, entry)
            try:
                entry.run.save_state_part(
                    at.state, state_name(task), content, line=line_name(at.ns), rests=rests
                )
                return
            except RunIsClosed as closed:
                if attempt + 1 == TRIES or (given is not None and closed.evidence.get("successor")):
                    raise
                entry = self.threads.open(at.thread)
            except Superseded:
                if given is not None or attempt + 1 == TRIES:
                    raise
                self.threads.rejoin(at.thread)
                entry = self.threads.writing(at.thread)

    def _check_kept(self, at: Place, entry: Entry) -> None:
        """Refuse what a task wrote after a checkpoint that was given up with an earlier run."""
        place = at, entry.generation
        if entry.generation == 1 or place == self._kept:
            return
        if self.was_here(at) and self.find(at) is None:
            raise gone(at, "what a task wrote after it is not kept")
        self._kept = place

    # --- reading ----------------------------------------------------------------------------------

    def newest(self, at: Place) -> Located | None:
        """Find the latest checkpoint of a line."""
        return self.states.newest(at.thread, at.ns)

    def find(self, at: Place) -> Located | None:
        """Find the checkpoint that a place names."""
        return None if at.state is None else self.states.find(at.thread, at.state, at.ns)

    def was_here(self, at: Place) -> bool:
        """Tell whether the checkpoint that a place names was ever saved, given up or not."""
        return at.state is not None and self.states.was_here(at.thread, at.state, at.ns)

    def head(self, found: Located) -> Head | None:
        """Read a checkpoint without its values; None: it is a state of another program."""
        head = self.states.read(found, names=()).head
        return read_head(self.codec, head) if is_head(head) else None

    def load(self, found: Located, *, latest: bool = False) -> CheckpointTuple:
        """Read a checkpoint, and what was written after it.

        Args:
            found: where it is.
            latest: it was looked for as the latest, and somebody may go on from there.

        Raises:
            UndecodableRecord, IntegrityError: it cannot be read, or is not what was written.
        """
        return self._tuple(found, *self.states.read_all(found, learn=latest), latest=latest)

    def load_own(self, found: Located) -> CheckpointTuple | None:
        """Read a checkpoint as `load` does; None: it is a state of another program."""
        unpacked, parts = self.states.read_all(found)
        return self._tuple(found, unpacked, parts) if is_head(unpacked.head) else None

    def _tuple(
        self,
        found: Located,
        unpacked: Unpacked,
        parts: Parts,
        *,
        latest: bool = False,
    ) -> CheckpointTuple:
        head = read_head(self.codec, unpacked.head)
        check_version(head)
        place = head.place
        assert place.id is not None
        later = (self.states.parts_in(entry, found) for entry in self.states.later(found))
        return CheckpointTuple(
            config=place.config(place.id, seen=found.seen if latest else None),
            checkpoint={**head.checkpoint, "channel_values": unpacked.values},  # type: ignore[typeddict-item]
            metadata=head.metadata,  # type: ignore[arg-type]
            parent_config=None if not head.parent else place.config(head.parent),
            pending_writes=pending(self.codec, self._writes(found, [parts, *later])),
        )

    def written(
        self, found: Sequence[Located], channels: Collection[str]
    ) -> Iterator[tuple[dict[str, Any], list[Write]]]:
        """Read the values of some channels in checkpoints, with what tasks wrote after each.

        Args:
            found: the checkpoints, few at a time.
            channels: those whose values are read.
        """
        for _, some in groupby(found, key=lambda one: one.entry.run.id):
            group = list(some)
            later = [self.states.parts_in_each(entry, group) for entry in self.states.later(group[0])]
            # Who found what they looked for asks for no more of them, whether those can be read or not.
            for at, one in enumerate(self.states.together(group, parts=True)):
                unpacked, parts = self.states.read_all(one, names=channels)
                yield unpacked.values, self._writes(one, [parts, *(more[at] for more in later)])

    def _writes(self, found: Located, kept: Iterable[Parts]) -> list[Write]:
        """Return what was written after a checkpoint, as it is kept in its run and in those after that."""
        return read_parts(self.codec, [one for parts in kept for one in _whole(found, parts)])


def delta_channels(head: Head) -> set[str]:
    """Return the delta channels that were written to before a checkpoint."""
    return set(head.metadata.get(COUNTERS) or ()) & set(head.checkpoint.get("channel_versions", ()))


def gone(at: Place, then: str) -> StateMoved:
    """Say that a checkpoint was given up, and what follows."""
    return StateMoved(
        f"checkpoint {at.id!r:.200} of thread {at.thread!r:.100} was given up, and {then}: load the latest",
        run=run_name(at.thread, 1),
        expected=0,
        actual=0,
        dropped=None,
    )


def _whole(found: Located, parts: Parts) -> list[bytes]:
    whole: list[bytes] = []
    for part, content in parts:
        if content is None:
            raise IntegrityError(
                f"what task {part.task!r} wrote after {found.state.id!r} of {part.run!r} is gone",
                digest=part.digest.hex(),
            )
        whole.append(content)
    return whole
