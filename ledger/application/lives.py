"""The lives of runs: going on after a stop, succeeding one that cannot, and forking one to look at it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from ledger import commands as c
from ledger.application.checking import check_sources
from ledger.application.own_stream import note, refused_for
from ledger.application.resuming import (
    Patience,
    Resumption,
    as_of,
    asking,
    dry,
    superseded,
    told,
    unreadable,
)
from ledger.application.runs import Run
from ledger.application.sayings import build, several
from ledger.application.shared import Shared, run_id
from ledger.application.turns import Turns
from ledger.errors import UNREADABLE, Superseded
from ledger.gate import IDLE_SECONDS, LIVE_SECONDS
from ledger.run.contract import Contract
from ledger.values import Actor, Runtime


class Lives(ABC):
    """What is done with whole runs."""

    _shared: Shared

    def resume(
        self,
        run: str,
        *,
        actor: Actor | None = None,
        runtime: Runtime | None = None,
        take_over: bool = False,
        dry_run: bool = False,
        idle_seconds: int | None = IDLE_SECONDS,
        live_seconds: int = LIVE_SECONDS,
        allowed_by: Actor | None = None,
    ) -> Resumption[Run]:
        """Ask the gate whether a run may go on, and record what it says where it was judged.

        `continue` begins the next incarnation, which fences the requests of handles made before; `.run` is a
        handle on it. Any other verdict holds the run: until the events that its reasons name have cleared
        them, only remedies and reports are admitted. An unchanged decision is not recorded twice. A run that
        somebody else is at work on is not held by who asks: `still_running` is told, and nothing recorded.

        Sources whose kind has a registered reader are read first, and what they say is recorded.

        Args:
            run: id of the run. Asking creates none.
            actor: who asks, and would go on.
            runtime: the fingerprint of what would go on, compared field by field with what was running.
            take_over: go on although the run is live elsewhere; not for agents.
            dry_run: tell the decision and append nothing, nor read any source outside.
            idle_seconds: how long a run that nobody stopped may lie still until somebody has to confirm its
                goal; None: for ever.
            live_seconds: how long after its last sign of life such a run counts as running elsewhere. Who
                worked on it, in the same session, may always go on.
            allowed_by: the person or service by whose decision the gate is milder than that, where an agent
                asks: the program's code says so, never the agent. None: nobody but who asks.

        Raises:
            RunNotFound: no such run.
            RunIsClosed: it has ended.
            NotForAgents: an agent would take over, or make the gate milder by `live_seconds` or
                `idle_seconds`, and nobody else has allowed it.
            StoreUnavailable: whether it was recorded is not known; ask again.
        """
        writer, patience = self._shared.writer(actor), Patience(idle_seconds, live_seconds)
        command = build(c.ResumeRun, runtime=runtime, take_over=take_over)
        assert isinstance(command, c.ResumeRun)
        try:
            return self._asked(run, writer, command, patience, dry_run, allowed_by)
        except UNREADABLE as error:  # the run, a source of its constraints, or what it is a part of
            if not dry_run:
                note(self._shared.edge, writer, refused_for(run, error)[0])
            return unreadable(run, error)

    def _asked(
        self,
        run: str,
        actor: Actor,
        command: c.ResumeRun,
        patience: Patience,
        dry_run: bool,
        allowed_by: Actor | None,
    ) -> Resumption[Run]:
        turns, contract = self._joined(run)
        asked = asking(self._shared, contract, command, patience, allowed_by or actor)
        if dry_run:
            judged = dry(self._shared, contract, actor, asked)
            return Resumption(judged.verdict, judged.reasons, None, None, contract)
        checked = tuple(check_sources(self._shared, contract, self._handle(turns, actor, None).do))
        context = replace(self._shared.context(actor, contract.incarnation), asking=asked)
        try:
            stated = turns.do(command, context)
        except Superseded:
            contract = turns.look() or contract
            judged = superseded(contract)
            return Resumption(judged.verdict, judged.reasons, None, None, contract, checked=checked)
        contract = as_of(self._shared, turns.stream.state or contract, stated)
        answer: Resumption[Run] = told(contract, stated, asked, checked)
        if answer.position is None or not answer:
            return answer
        return going_on(answer, self._handle(turns, actor, contract.incarnation))

    def restart(
        self,
        run: str,
        *,
        as_: str,
        reason: str,
        by: str,
        goal: str | None = None,
        rests_on: Sequence[str] = (),
        actor: Actor | None = None,
    ) -> Run:
        """Close a run and open its successor, in one append; return a handle on the successor.

        The successor has the goal (or another one), the constraints that still hold as they were accepted,
        the assumptions, what is owed, each grant with what is left of it, and the effects whose outcome is
        open. Effects that are done are found by their keys, so that none is done again. What it was not given
        stands in `run.restarted` with the reasons. It has no plan: it commits to one anew.

        Raises:
            RunIsClosed: the run has ended, and not by this restart.
            RunExists: a run `as_` was opened before.
            ContractChanged: the goal rests on a refuted assumption, and no other one is given.
            NotForAgents: an agent asks.
        """
        command = build(
            c.RestartRun,
            as_run=as_,
            by=by,
            goal=goal,
            reason=reason,
            rests_on=several("rests_on", rests_on),
        )
        turns, _ = self._joined(run)
        self._handle(turns, actor, None).do(command)
        return self._entered(as_, actor)

    def fork(
        self,
        run: str,
        *,
        as_: str,
        at: int,
        by: str | None = None,
        reason: str | None = None,
        actor: Actor | None = None,
    ) -> Run:
        """Open a run that stands where another one stood at a position, to look what else could have been.

        It reads what the lineage recorded, and performs nothing: acts without a recorded result are
        `EffectsDisabled`. It owes nothing and may do nothing. The other run is as it was.

        Raises:
            NotOpen: the run never had that position.
            RunExists: a run `as_` was opened before.
        """
        command = build(c.ForkRun, as_run=as_, at=at, by=by, reason=reason)
        turns, _ = self._joined(run)
        self._handle(turns, actor, None).do(command)
        return self._entered(as_, actor)

    def _entered(self, run: str, actor: Actor | None) -> Run:
        turns, contract = self._joined(run_id(run))
        return self._handle(turns, actor, contract.incarnation)

    @abstractmethod
    def _joined(self, run: str) -> tuple[Turns[Contract | None], Contract]:
        """Return the stream of a run and its contract as it is stored."""

    @abstractmethod
    def _handle(
        self,
        turns: Turns[Contract | None],
        actor: Actor | None,
        incarnation: int | None,
        correlation: str | None = None,
    ) -> Run:
        """Return a handle on a run."""


def going_on(answer: Resumption[Run], run: Run) -> Resumption[Run]:
    """Complete the answer that a run may go on."""
    return replace(answer, run=run)
