"""A handle on a run: what it says is decided on the contract, appended, and folded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ledger import commands as c
from ledger.application.sayings import RunSayings
from ledger.application.statements import Context, Stated
from ledger.application.turns import Turns
from ledger.canonical import load_text
from ledger.errors import RunNotFound, StoreUnavailable
from ledger.run.contract import Contract, Message


class Loaded(NamedTuple):
    """Everything a stopped run needs to go on, as of one position."""

    contract: Contract
    results: dict[str, Any]
    """What the cursor needs, by reference (`effect:KEY`, `observation:KEY`), as far as it has a result."""
    messages: tuple[tuple[Message, Any], ...]
    """The messages of the window with their contents, oldest first; None where one has expired."""


class Run(RunSayings[Stated]):
    """A run, as one actor writes to it.

    The handle belongs to the incarnation it was made in: once the run is resumed elsewhere its requests are
    `Superseded`, its reports still admitted. It appends on what it knows without reading first, and where
    somebody was first it reads, decides again and appends again. Threads may share it.

    Every method that says something returns `Stated`: the position where it stands. Beside what their names
    say they raise `RunIsHeld`, `RunIsClosed`, `Superseded`, `NotForAgents` and `InvalidInput`.
    """

    def __init__(
        self, turns: Turns[Contract | None], context: Context, loader: Callable[[Contract], Loaded]
    ) -> None:
        super().__init__(context)
        self._turns = turns
        self._loader = loader

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._turns.stream!r}>"

    @property
    def id(self) -> str:
        """The id of the run."""
        return self._turns.stream.name

    @property
    def contract(self) -> Contract:
        """The contract in force: the fold at the present position, which is read from the store."""
        return known(self.id, self._turns.look())

    @property
    def position(self) -> int:
        """Position this ledger has seen of the run; others may have gone on."""
        return self._turns.stream.position

    def load(self) -> Loaded:
        """Read the contract, the results its cursor needs and the messages of the window, as of one position.

        A constant number of queries, however long the run is.
        """
        return self._loader(self.contract)

    def _do(
        self, command: c.Command, context: Context, expected: int | None, again: StoreUnavailable | None
    ) -> Stated:
        return self._turns.do(command, context, expected=expected, again=again)


def known(run: str, contract: Contract | None) -> Contract:
    """Return the contract of a run that exists.

    Raises:
        RunNotFound: it does not.
    """
    if contract is None:
        raise RunNotFound(f"no run {run!r} was opened", run=run)
    return contract


def content_of(content: bytes | None) -> Any:
    """Read the JSON content of a blob; None where it has expired."""
    return None if content is None else load_text(content)
