"""Everything a stopped run needs to go on."""

from __future__ import annotations

from typing import Any, NamedTuple

from ledger.run.contract import Contract, Message


class Loaded(NamedTuple):
    """Everything a stopped run needs to go on, as of one position."""

    contract: Contract
    results: dict[str, Any]
    """What the cursor needs, by reference (`effect:KEY`, `observation:KEY`), as far as it has a result; an
    `ExpiredContent` where it was dropped on purpose."""
    messages: tuple[tuple[Message, Any], ...]
    """The messages of the window with their contents, oldest first. Where one was dropped on purpose an
    `ExpiredContent` says when, by whom and why; None where one is not here and nothing says so."""
