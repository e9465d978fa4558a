"""Which checkpoints others are read with, so that pruning and deleting leave them where they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from ledger.adapters.langgraph.codec import GraphCodec
from ledger.adapters.langgraph.heads import Head, is_head, read_head
from ledger.adapters.threads import Located, ThreadStates
from ledger.errors import Refused

_COUNTERS = "counters_since_delta_snapshot"


class StillNeeded(Refused):
    """Checkpoints that are to be deleted are what others are read with; nothing was deleted.

    `evidence` names the `thread`, and one that stays (`checkpoint`) with one that it needs (`needed`). Delete the
    newer ones too, or the whole thread.
    """

    code = "still_needed"


class Needs:
    """Tells which checkpoints of a thread the others need."""

    def __init__(self, states: ThreadStates, codec: GraphCodec) -> None:
        self._states = states
        self._codec = codec

    def head(self, one: Located) -> Head | None:
        """Read a checkpoint without its values; None: it is none of LangGraph's."""
        head = self._states.read(one, names=()).head
        return read_head(self._codec, head) if is_head(head) else None

    def needed(self, states: Sequence[Located], kept: Collection[Located]) -> Iterator[Located]:
        """Yield the ancestors that are walked through when kept checkpoints are read.

        A delta channel has a value only in some checkpoints; in the others it is put together from what was
        written after their ancestors, back to the nearest that has a value.

        Args:
            states: all of a thread.
            kept: those of them that stay.
        """
        for _, above in self.needs(states, kept):
            yield above

    def needs(self, states: Sequence[Located], kept: Iterable[Located]) -> Iterator[tuple[Located, Located]]:
        """Yield each of the kept checkpoints with those that it is read with, each of these once."""
        by_name = {(one.state.line, one.state.id): one for one in reversed(states)}
        done: dict[tuple[str | None, str], set[str]] = {}
        for one in kept:
            wanted, child = self._deltas(one), one
            while wanted and child.state.parent is not None:
                name = child.state.line, child.state.parent
                above = by_name.get(name)
                if above is None:
                    break
                known = done.setdefault(name, set())
                if wanted <= known:
                    break
                if not known:
                    yield one, above
                known |= wanted
                wanted = wanted - self._valued(above, wanted)
                child = above

    def _deltas(self, one: Located) -> set[str]:
        """Return the delta channels of which a checkpoint has no value."""
        head = self.head(one)
        if head is None:
            return set()
        counted = head.metadata.get(_COUNTERS)
        deltas = set(counted or ()) & set(head.checkpoint.get("channel_versions", ()))
        return deltas - self._valued(one, deltas) if deltas else deltas

    def _valued(self, one: Located, channels: set[str]) -> set[str]:
        return set(self._states.read(one, names=channels).values)
