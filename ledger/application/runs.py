"""A handle on a run: what it says is decided on the contract, appended, and folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Unpack

from ledger import commands as c
from ledger.application.acting import Doing
from ledger.application.acts import Options, RunActs
from ledger.application.checking import read_sources
from ledger.application.loaded import Loaded
from ledger.application.performing import Block, Driver, block, perform
from ledger.application.refreshing import Refreshed, Refreshing
from ledger.application.shared import Shared
from ledger.application.statements import Context, Stated
from ledger.application.states import RunStates, StateReader
from ledger.application.turns import Turns
from ledger.errors import InvalidInput, RunNotFound, StoreUnavailable
from ledger.gateway import protocol as p
from ledger.gateway.tools import Tool
from ledger.run.contract import Contract
from ledger.run.history import EffectHistory
from ledger.run.permission import Permission


class Run(RunActs[Stated]):
    """A run, as one actor writes to it.

    The handle belongs to the incarnation it was made in: once the run is resumed elsewhere its requests are
    `Superseded`, its reports still admitted. It appends on what it knows without reading first, and where
    somebody was first it reads, decides again and appends again. Threads may share it.

    Every method that says something returns `Stated`: the position where it stands. Beside what their names
    say they raise `RunIsHeld`, `RunIsClosed`, `Superseded`, `NotForAgents` and `InvalidInput`.
    """

    def __init__(
        self,
        turns: Turns[Contract | None],
        context: Context,
        loader: Callable[[Contract], Loaded],
        shared: Shared,
    ) -> None:
        super().__init__(context, shared.workshop)
        self._shared = shared
        self._turns = turns
        self._loader = loader
        self._states = RunStates(StateReader(shared.edge, self.id), lambda: self.contract)

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

    @property
    def states(self) -> RunStates:
        """The states that its program saved."""
        return self._states

    def load(self) -> Loaded:
        """Read the contract, the results its cursor needs and the messages of the window, as of one position.

        A constant number of queries, however long the run is.
        """
        return self._loader(self.contract)

    def effect(
        self, tool: Tool | str, args: Mapping[str, Any] | None = None, **options: Unpack[Options]
    ) -> AbstractContextManager[Block]:
        """Perform an act whose body is a block: `with run.effect("refund", {...}) as effect:`.

        The block ends by `effect.succeed(result)`, or without a result. What it said so stands, whatever it
        raises then. If it raises before, one of the tool's `definite_errors` says that nothing happened, and
        any other that nobody knows. Options as `perform` takes them; a retry is
        the caller's own.

        Raises:
            AlreadyDone: it was done before, so the block was not entered; `result` is what was recorded.

        And what `perform` raises.
        """
        one = self._enclosing(tool, args, options)
        return block(self._driver(one), one)

    def refresh(self, *, all: bool = False) -> list[Refreshed]:
        """Look again at what something rests on and that must not be relied on as it is, and record it.

        These are observations that are stale or invalidated, and sources of constraints that were not read
        lately. Each observation is made again by the tool that is registered under the name of the one that
        made it, with the arguments it was asked with, and recorded under the same key; sources are read by
        the reader of their kind. Nothing else is called: a tool that is not read_only is left alone. What
        raises records nothing and keeps none of the others back. A run that is held or suspended may look
        again, too: that is what leads it out.

        Args:
            all: also what may still be relied on.

        Returns:
            What came of each, the sources first; empty where all is fresh. Those of which `is_fresh` is False
            stand in the way of a resume.

        Raises:
            EffectsDisabled: the run is a fork.
            StoreUnavailable: what was looked at before is recorded; refresh again.
        """
        refreshing = Refreshing(self._shared, self.contract, self._context, every=all)
        for checked in read_sources(self._shared, refreshing.sources):
            stated = None if checked.report is None else self.do(checked.report)
            refreshing.checked(checked, stated)
        for one in refreshing.acts():
            try:
                driver = self._driver(one.doing)
            except InvalidInput as fault:  # it has to be awaited
                refreshing.not_asked(one.before, fault.reason)
            else:
                refreshing.asked(one, driver.run(p.observe(one.doing.act)))
        return refreshing.ended(self.contract)

    def ask(self, known: EffectHistory) -> str:
        """Find out what became of an effect, record it, and return what is known: by the probe of its tool.

        Where there is none, or it cannot tell, and the tool is registered as idempotent, the same is sent
        again under the same key, as long as the outside remembers that and no worker holds the lease.

        One of `happened`, `did_not_happen` and `unknown`; `not_asked` where neither was possible.

        Raises:
            InvalidInput: its tool is not known here, or neither has a probe nor is idempotent; or what would
                be called is a coroutine function.
        """
        return self._find_out(known).found

    def _find_out(self, known: EffectHistory) -> p.Answer:
        """Ask, and return what the outside said too."""
        one = self._asking(known)
        return self._driver(one).run(p.find_out(one.act))

    def _perform(self, one: Doing) -> Any:
        return perform(self._driver(one), one)

    def _weigh(self, one: Doing) -> Permission:
        found: Permission = self._turns.weigh(*one.claiming())
        return one.permitted(found, self._seen())

    def _driver(self, one: Doing) -> Driver:
        return Driver(one, self._turns.do, lambda: self.contract)

    def _seen(self) -> Contract:
        return known(self.id, self._turns.stream.state)

    def _do(
        self, command: c.Command, context: Context, expected: int | None, again: StoreUnavailable | None
    ) -> Stated:
        return self._turns.do(command, self._surrounded(command, context), expected=expected, again=again)


def known(run: str, contract: Contract | None) -> Contract:
    """Return the contract of a run that exists.

    Raises:
        RunNotFound: it does not.
    """
    if contract is None:
        raise RunNotFound(f"no run {run!r} was opened", run=run)
    return contract
