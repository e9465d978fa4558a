"""Which call a result answers."""

from __future__ import annotations

from collections import defaultdict
from typing import Generic, TypeVar

from ledger.adapters.transcripts.messages import Call, Result, wrong

T = TypeVar("T")


class Waiting(Generic[T]):
    """Calls that wait for their results, each with what its reader knows of it."""

    def __init__(self) -> None:
        self._open: defaultdict[str | None, list[tuple[Call, T]]] = defaultdict(list)

    def add(self, call: Call, what: T) -> None:
        """Let a call wait."""
        self._open[call.id].append((call, what))

    def take(self, number: int, result: Result) -> T:
        """Give the result of a message to the oldest call it can be meant for; return what is known of it.

        Ids of calls come again within a transcript, so an id alone names none.

        Raises:
            InvalidInput: it answers no call that is still unanswered; `message` holds its number.
        """
        waiting = self._open[result.call]
        named = [one for one in waiting if one[0].tool == result.tool]
        if not named and (result.call is None or not waiting):
            which = f"with the id {result.call!r}" if result.call is not None else f"of {result.tool!r}"
            wrong(number, "", f"it answers no call {which} that is still unanswered")
        answered = (named or waiting)[0]
        waiting.remove(answered)
        return answered[1]
