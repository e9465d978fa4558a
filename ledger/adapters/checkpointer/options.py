"""How a `Checkpointer` keeps states."""

from __future__ import annotations

from dataclasses import dataclass

from ledger.adapters.checkpointer.data import Format
from ledger.canonical import invalid


@dataclass(frozen=True, slots=True)
class Options:
    """What was said when it was opened."""

    every: int
    format: Format
    messages: str | None
    window: int | None

    def __post_init__(self) -> None:
        if type(self.every) is not int or self.every < 1:
            raise invalid(
                "every", f"every first, second, … checkpoint is whole: 1 or more, not {self.every!r:.50}"
            )
        if self.window is not None and (type(self.window) is not int or self.window < 1):
            raise invalid("window", f"a window has one message or more, not {self.window!r:.50}")
        if self.messages is not None and (type(self.messages) is not str or not self.messages):
            raise invalid("messages", "name the field of a state that has its messages, or say None")
        if self.messages is None and self.window is not None:
            raise invalid("window", "there is no window of messages where messages are None")
