"""Which run a thread is: `thread#generation`."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

from ledger.canonical import invalid

LONGEST = 180
"""Characters of a thread in the id of its runs; a longer one is cut, and told apart by a digest."""


def run_name(thread: str, generation: int) -> str:
    """Return the id of a thread's run.

    What cannot stand in an id, `#` and `%` are written as in addresses, so that no two threads share one.

    Raises:
        InvalidInput: the thread is no text, or empty.
    """
    return f"{thread_name(thread)}#{generation}"


def named_in(run: str) -> str | None:
    """Return the thread as it stands in the id of a run; None: the id is that of no thread's run."""
    name, mark, generation = run.rpartition("#")
    return name if mark and generation.isdecimal() else None


def thread_name(thread: str) -> str:
    """Return a thread as it stands in ids.

    Raises:
        InvalidInput: it is no text, or empty.
    """
    if not isinstance(thread, str) or not thread.strip():
        raise invalid("thread_id", f"a thread is named by a text that is not blank, not {thread!r:.50}")
    # Most are as they are, and all of a text is looked at quicker than its characters one by one.
    is_safe = type(thread) is str and thread.isprintable() and "#" not in thread and "%" not in thread
    name = thread if is_safe else "".join(map(_safe, thread))
    if name.startswith("$"):
        name = "%24" + name[1:]
    if len(name) <= LONGEST:
        return name
    digest = hashlib.sha256(thread.encode("utf-8", "surrogatepass")).hexdigest()
    # The mark of a cut: no other name has a `%` before something that is no digit.
    return f"{name[: LONGEST - 66]}%~{digest}"


def plain_goal(thread: str) -> str:
    """Say what the run of a thread is for, where nobody said it: nobody can confirm this, or take it back."""
    return f"Whatever is asked in the conversation {thread!r:.200}"


def line_name(line: str) -> str | None:
    """Return the name of a line of states: None is the main one, the empty text."""
    return thread_name(line) if line else None


def _safe(character: str) -> str:
    if character in "#%" or not character.isprintable():
        return quote(character, safe="", errors="surrogatepass")
    return character
