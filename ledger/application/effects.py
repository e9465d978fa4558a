"""The effects of a ledger: its tools, what is unsettled across its runs, and settling it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Unpack, overload

from ledger.application.edge import Edge
from ledger.application.looking import effect_of, known_effect, runs_of
from ledger.application.performing import refuse_async
from ledger.application.runs import Run
from ledger.application.settling import (
    Reconciled,
    Unsettled,
    not_asked,
    oldest_first,
    recorded_elsewhere,
    unsettled,
)
from ledger.application.shared import Shared
from ledger.application.statements import Stated
from ledger.errors import ApprovalNotFound
from ledger.gateway.tools import Declared, Function, Tool, declare
from ledger.run.approvals import key_of
from ledger.run.contract import Contract, by_id
from ledger.run.history import EffectHistory
from ledger.values import Actor


class Registered:
    """A ledger's tools, for both faces of it."""

    _shared: Shared

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that are known here, by name."""
        return tuple(sorted(self._shared.workshop.known.values(), key=lambda tool: tool.name))

    @overload
    def tool(self, function: Function, /) -> Tool: ...
    @overload
    def tool(
        self, *, name: str | None = None, **declared: Unpack[Declared]
    ) -> Callable[[Function], Tool]: ...
    def tool(  # type: ignore[misc]  # mypy takes the keys of Declared for parameters that are missing here
        self, function: Function | None = None, /, *, name: str | None = None, **declared: Unpack[Declared]
    ) -> Tool | Callable[[Function], Tool]:
        """Declare a function as a tool of this ledger: `@ledger.tool(recovery="queryable", probe=find)`.

        From then on it is found by its name, by runs and by `reconcile`. It takes what may be `Declared`.

        Raises:
            InvalidInput: declarations contradict each other, or have no effect; `path` names one.
        """
        if function is not None:
            return self.register(declare(function, name=name, **declared))
        return lambda body: self.register(declare(body, name=name, **declared))

    def register(self, tool: Tool) -> Tool:
        """Make a tool known here, in the place of one of the same name; return it.

        Raises:
            InvalidInput: it, or its probe, is a coroutine function, and this is no `AsyncLedger`.
        """
        self._check(tool)
        return self._shared.workshop.register(tool)

    def _check(self, tool: Tool) -> None:
        """Refuse a tool that nobody could call here."""


class Effects(Registered, ABC):
    """What a ledger knows of effects."""

    _edge: Edge

    def _check(self, tool: Tool) -> None:
        refuse_async(tool)

    @abstractmethod
    def run(self, run: str, *, actor: Actor | None = None, correlation: str | None = None) -> Run:
        """Return a handle on the present incarnation of a run."""

    @abstractmethod
    def contract(self, run: str, at: int | datetime | None = None) -> Contract:
        """Return the contract of a run."""

    @abstractmethod
    def _contracts(self, run: str | None) -> Iterator[Contract]:
        """Read the contract of one run, or of all."""

    def effect(self, key: str) -> EffectHistory:
        """Return what is known of an effect, across all runs of its lineage.

        Raises:
            EffectNotFound: nothing was intended under this key.
        """
        return known_effect(self._edge, key)

    def effects(self, run: str | None = None, *, unknown: bool = False) -> list[Unsettled]:
        """List what is unsettled, the oldest first: in one run, or in all.

        With `unknown` only that of which nobody knows whether it happened: executing with a lapsed lease,
        unknown and disputed. What a successor inherited is listed with it, and not with its ancestor.

        Raises:
            RunNotFound: no such run.
        """
        contracts = (contract for contract in self._contracts(run) if run is not None or _is_last(contract))
        found = (one for contract in contracts for one in unsettled(self._edge, contract))
        return oldest_first(one for one in found if not unknown or one.status in ("unknown", "disputed"))

    def reconcile(self, run: str | None = None, *, actor: Actor | None = None) -> Iterator[Reconciled]:
        """Find out about every effect of which nobody knows, and record each answer as evidence.

        Yields one after another, the oldest first. What another run of the lineage settled is told to this
        one. Else the probe of its tool is asked. Where there is none, or it cannot tell, a tool that is
        registered as idempotent is called: the same is sent again under its key, as long as the outside
        remembers that and no worker holds the lease; only its success settles it. For the rest it is said why
        not. Also where the run is held or closed; a fork sends nothing.

        Raises:
            RunNotFound: no such run.
            InvalidInput: what would be called is a coroutine function; `AsyncLedger` awaits those.
        """
        for one in self.effects(run):
            elsewhere = recorded_elsewhere(one.effect)
            because = not_asked(one, self._shared.workshop.known)
            if elsewhere is not None:
                self.run(one.run, actor=actor).do(elsewhere)
                yield Reconciled(one.run, one.effect, elsewhere.found, elsewhere.evidence)
            elif because is not None:
                yield Reconciled(one.run, one.effect, "not_asked", because)
            else:
                found, said = self.run(one.run, actor=actor)._find_out(one.effect)
                yield Reconciled(one.run, known_effect(self._edge, one.effect.key), found, said)

    def settle(
        self,
        key: str,
        *,
        happened: bool,
        evidence: str,
        by: str,
        result: Any = None,
        external_ref: str | None = None,
        actor: Actor | None = None,
    ) -> EffectHistory:
        """Record what a person found out about an effect, in the run that answers for it now.

        That is the run of its last attempt or, where that was restarted, the last of its successors.

        That it did not happen counts once its lease has ended; before, it is kept as evidence only.

        Args:
            key: of the effect.
            happened: whether it did.
            evidence: what shows it.
            by: who says so.
            result: what it came to, as a JSON value.
            external_ref: what the outside calls it.
            actor: who writes; an agent may not.

        Returns:
            What is known of the effect then.

        Raises:
            EffectNotFound: nothing was intended under this key.
            NotForAgents: an agent would settle by hand.
        """
        known = known_effect(self._edge, key)
        said = {"evidence": evidence, "by": by, "result": result, "external_ref": external_ref}
        self.run(self.answering_for(known), actor=actor).settle(key, happened=happened, **said)
        return known_effect(self._edge, key)

    def approve(self, id: str, *, by: str, reason: str | None = None, actor: Actor | None = None) -> Stated:
        """Report that a person approved an act that waits, in the run that asked; not for agents.

        Whoever performs the act then calls again, in whatever process: nothing waits in memory.

        Args:
            id: of the request, whole, as `ApprovalRequired` tells it.
            by: the person who decided, `human:NAME`; not who asked.
            reason: why.
            actor: who writes.

        Raises:
            ApprovalNotFound: nothing waits for it.
            NotOpen: it was denied before, or the time for it is over.
            NotByRequester: `by`, or `actor`, is who asked.
            RunIsClosed: the run has ended.
        """
        return self.run(self.asked_in(id), actor=actor).approve(id, by=by, reason=reason)

    def deny(self, id: str, *, by: str, reason: str | None = None, actor: Actor | None = None) -> Stated:
        """Report that a person denied an act that waits; as `approve`.

        A denial is never too late while nobody has approved; a yes that is not used yet is taken back by
        `run.request_approval`, said by a person, or by revoking the grant that the act draws on.
        """
        return self.run(self.asked_in(id), actor=actor).deny(id, by=by, reason=reason)

    def asked_in(self, approval: str) -> str:
        """Return the run that asked for an approval; of one that waits no more that of its act.

        Raises:
            ApprovalNotFound: no act was ever intended that it could be about.
        """
        key = key_of(approval) if isinstance(approval, str) else None
        known = None if key is None else effect_of(self._edge, key)
        if known is None:
            whole = ": give the whole id, 64 digits, a dash and 8 more" if key is None else ""
            raise ApprovalNotFound(f"no approval {approval!r:.100} was asked for{whole}", id=approval)
        for run in runs_of(self._edge, known.key):
            if by_id(self.contract(run).approvals, approval) is not None:
                return run
        return self.answering_for(known)

    def answering_for(self, known: EffectHistory) -> str:
        """Return the run that answers for an effect: of its last attempt, or the last successor of that."""
        run = known.started_in or known.run
        closed = self.contract(run).closed
        while closed is not None and closed.successor is not None:
            run = closed.successor
            closed = self.contract(run).closed
        return run


def _is_last(contract: Contract) -> bool:
    """Tell whether no successor has inherited what a run left unsettled."""
    return bool(contract.effects) and (contract.closed is None or contract.closed.successor is None)
