"""Copying the states of a thread to another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ledger.adapters.packs import Memo, pack
from ledger.adapters.threads.located import Located
from ledger.adapters.threads.naming import thread_name
from ledger.adapters.threads.raw import RAW
from ledger.adapters.threads.states import ThreadStates
from ledger.adapters.threads.threads import Threads
from ledger.application.saved_states import SavedPart, SavedState
from ledger.canonical import invalid
from ledger.errors import IntegrityError

Head = Callable[[SavedState, bytes], bytes]
"""Writes what stands beside the values of a state anew, e.g. where it names the thread."""


def copy(threads: Threads, thread: str, to: str, *, head: Head | None = None) -> int:
    """Copy the states of a thread and what was kept of the work after each, in their order; return how many.

    Nothing else is copied: an effect that was performed, or approved, in the one is neither in the other. The
    copy shares no storage with what it was made from, and its states are stored one on another as those are.
    Nobody is at work on it: it rests.

    Args:
        threads: the runs of threads.
        thread: the thread; of one that is not there nothing is copied.
        to: where to; a thread that has no states, and to which nobody else saves meanwhile.
        head: writes the head of each state anew.

    Raises:
        InvalidInput: the target has states, or is the thread itself.
        StateMoved: somebody else saves to the target.
        UndecodableRecord, IntegrityError: a state cannot be read. Then, as where it is cut short, the target
            has the states before it: delete it and copy again.
    """
    states = ThreadStates(threads, RAW)
    if thread_name(thread) == thread_name(to):
        raise invalid("to", "a thread is not copied onto itself")
    found = list(states.all(thread))
    if next(states.all(to), None) is not None:
        raise invalid("to", f"thread {to!r:.100} has states already: copy to one that has none")
    if not found:
        return 0
    run = threads.open(to).run
    memo = Memo(None if (saved := run.contract.saved) is None else saved.dropped)
    newest: dict[str | None, tuple[str, int]] = {}
    for one in reversed(found):
        state, read = one.state, states.read(one)
        written = read.head if head is None else head(state, read.head)
        packed = pack(read.values, written, RAW, memo=memo, line=state.line)
        # What went on from the newest state of its line goes on from the copy of that.
        last, seen = newest.get(state.line, (None, run.position))
        goes_on = not state.branch and last == state.parent
        stated = run.save_state(
            state.id,
            packed.content,
            line=state.line,
            parent=state.parent,
            branch=not goes_on,
            seen=seen if goes_on else None,
            dropped=memo.dropped,
            whole=packed.whole,
            rests=True,
        )
        newest[state.line] = state.id, stated.position
        for record in stated.records:
            digest = record.event.content.digest  # type: ignore[attr-defined]
            packed.note(memo, state.line, bytes.fromhex(digest))
        for part, content in _parts(states, one):
            run.save_state_part(state.id, part.task, content, line=state.line, rests=True)
    return len(found)


def _parts(states: ThreadStates, found: Located) -> Iterator[tuple[SavedPart, bytes]]:
    """Read what was kept of the work after a state, in its own run and in those after it."""
    for entry in (found.entry, *states.later(found)):
        for part, content in states.parts_in(entry, found):
            if content is None:
                raise IntegrityError(
                    f"the content of a part of state {found.state.id!r} of {part.run!r} is gone",
                    digest=part.digest.hex(),
                )
            yield part, content
