"""What a program says of its own state: kept as blobs, each named by an event. Both faces have these."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from ledger import commands as c
from ledger.application.payloads import Packed, pack_content
from ledger.canonical import invalid
from ledger.errors import IntegrityError
from ledger.values import SavedName

C = type[c.Command]
R = TypeVar("R")

KIND = "state"
"""Class of the contents."""


class StateSayings(ABC, Generic[R]):
    """What is said of saved states; each method answers `R`."""

    @property
    @abstractmethod
    def id(self) -> str:
        """The id of the run."""

    @abstractmethod
    def _say(self, kind: C, *, blobs: Packed | None = None, **fields: Any) -> R:
        """Build a command, decide it and append what it yields."""

    def save_state(
        self,
        id: str,
        content: bytes,
        *,
        line: str | None = None,
        parent: str | None = None,
        branch: bool = False,
        seen: int | None = None,
        dropped: int | None = None,
        whole: bool = True,
        rests: bool = False,
    ) -> R:
        """Keep the state that the program is in; it is durable when this returns.

        Args:
            id: names the state; said again it is the newer one that is read. The same id with the same
                content, right after, is a repeat.
            content: the state, in whatever form the program reads it back; no secret is looked for in it.
            line: which of the histories that the program keeps side by side; None: its main one.
            parent: the state that it goes on from.
            branch: it goes on from a state that need not be the newest of its line.
            seen: position of the run when the parent was seen to be the newest of its line.
            dropped: `contract.saved.dropped` when what the content rests on was read.
            whole: the content rests on no other.
            rests: the program waits for somebody after this, and nothing is at work: whoever wants to go on
                with the run need not take it over.

        Raises:
            StateMoved: another state is the newest of the line, or states were dropped since: read again.
            RunIsClosed: the run has ended.
            Superseded: the run was resumed elsewhere.
            InvalidInput: an id is malformed, or the content is no bytes.
        """
        return self._say(
            c.SaveState,
            blobs=(packed := packed_state(self.id, line, id, content)),
            id=id,
            content=packed.payload,
            line=line,
            parent=parent,
            branch=branch,
            seen=seen,
            dropped=dropped,
            whole=whole,
            rests=rests,
        )

    def save_state_part(
        self, state: str, task: str, content: bytes, *, line: str | None = None, rests: bool = False
    ) -> R:
        """Keep what a part of the work after a saved state came to, before the next state is saved.

        Args:
            state: the state.
            task: names the piece of work.
            content: what it came to, in whatever form the program reads it back.
            line: the line that the state is on.
            rests: as `save_state` takes it.

        Raises:
            RunIsClosed: the run has ended.
            Superseded: the run was resumed elsewhere.
            InvalidInput: an id is malformed, or the content is no bytes.
        """
        return self._say(
            c.SaveStatePart,
            blobs=(packed := packed_part(self.id, line, state, task, content)),
            state=state,
            task=task,
            content=packed.payload,
            line=line,
            rests=rests,
        )

    def drop_states(
        self,
        *,
        by: str,
        reason: str,
        states: Iterable[SavedName] = (),
        all: bool = False,
        kept: Iterable[SavedName] = (),
        upto: int | None = None,
        also_in: str | None = None,
    ) -> R:
        """Say that saved states are given up: those that are named, or all but those that are kept.

        From then on they are not read any more; their contents stay until they are freed.

        Args:
            by: who decided it, `kind:name`.
            reason: why, in words.
            states: those that are given up.
            all: all are, but those that are kept.
            kept: those that stay, of all.
            upto: position of the run at which was decided what stays; what is saved after it stays as well.
            also_in: a later run whose program may be about to go on from them: whoever saves there has to
                look again, as here. One that is not there is passed over.

        Raises:
            NotForAgents: an agent gives them up.
            InvalidInput: more than 500 are named, or a name is malformed.
        """
        return self._say(
            c.DropStates,
            by=by,
            reason=reason,
            states=tuple(states),
            all=all,
            kept=tuple(kept),
            upto=upto,
            also_in=also_in,
        )


def packed_state(run: str, line: str | None, id: str, content: bytes) -> Packed:
    """Pack the content of a state."""
    return _packed((run, line, id), content)


def packed_part(run: str, line: str | None, state: str, task: str, content: bytes) -> Packed:
    """Pack the content of a part of the work after a state."""
    return _packed((run, line, state, task), content)


def _packed(place: tuple[str | None, ...], content: bytes) -> Packed:
    """Pack a content with its place in front, so that no two states share one.

    Contents of states are freed with what rests on them in their run, and nobody else may rest on them.
    """
    if not isinstance(content, bytes):
        raise invalid("content", f"a state is given as bytes, not {type(content).__name__}")
    return pack_content(json.dumps(place).encode() + b"\n" + content, KIND)


def unframed(run: str, content: bytes) -> bytes:
    """Return a content without its place.

    Raises:
        IntegrityError: it is none of a state of the run, whatever names it.
    """
    if not content.startswith(b"[" + json.dumps(run).encode() + b", "):
        raise IntegrityError(f"what is named as a state of {run!r} is the content of something else", run=run)
    return content[content.index(b"\n") + 1 :]
