"""What can be said to a run: one method for each command, written once for both faces of the ledger."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeVar

from ledger import commands as c
from ledger.application.mending import mended
from ledger.application.payloads import Packed, pack, pack_content, pack_report
from ledger.application.redacting import redacted, value_without
from ledger.application.state_sayings import StateSayings
from ledger.application.statements import Context
from ledger.canonical import canonical_text, invalid
from ledger.errors import StoreUnavailable
from ledger.run.stated_rule import rule_of
from ledger.stores.base import Blob
from ledger.values import Actor, Change, Ending, Rule, Runtime, Source, Step

Amounts = Mapping[str, Decimal | str | int]
C = type[c.Command]
R = TypeVar("R")


def several(name: str, given: Iterable[Any]) -> tuple[Any, ...]:
    """Take a list of things; one text is none, though Python would take it for a list of letters.

    Raises:
        InvalidInput: a text was given, or something that is no list.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise invalid(name, f"give a list, not {given!r:.50} alone")
    return tuple(given)


def counting(name: str, given: int | None) -> None:
    """Check a position or a number of things where one is given.

    Raises:
        InvalidInput: it is no whole number, or below 0.
    """
    if given is not None and (type(given) is not int or given < 0):
        raise invalid(name, f"give a whole number from 0 on, not {given!r:.50}")


def build(kind: Callable[..., c.Command], **fields: Any) -> c.Command:
    """Build a command from what a caller gave, of whatever types.

    Raises:
        InvalidInput: a field is missing, unknown or malformed; `path` names it.
    """
    return kind(**fields)


class RunSayings(StateSayings[R]):
    """What can be said to a run. Each method answers `R`: `Stated`, or what `await` turns into it."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def actor(self) -> Actor:
        """Who writes through this handle."""
        return self._context.actor

    @property
    def incarnation(self) -> int | None:
        """The incarnation that this handle belongs to; None: it is of none, and never fenced."""
        return self._context.incarnation

    @abstractmethod
    def _do(
        self, command: c.Command, context: Context, expected: int | None, again: StoreUnavailable | None
    ) -> R:
        """Decide a command and append what it yields."""

    def do(
        self,
        command: c.Command,
        *,
        expected: int | None = None,
        again: StoreUnavailable | None = None,
        causation: str | None = None,
        correlation: str | None = None,
    ) -> R:
        """Decide any command and append what it yields.

        Args:
            command: one of `ledger.commands`.
            expected: the position it is meant for; without it a lost race is decided again.
            again: the error an earlier try of this command ended with: what that try stored, if anything, is
                found and told instead of being said twice, whatever happened since.
            causation: id of the event or request that brought it about.
            correlation: id of what it belongs to across runs.

        Raises:
            Refused: a rule said no; the class says which.
            PositionConflict: the run does not stand at `expected`, or races were lost too often.
            Superseded: the run was resumed elsewhere.
            InvalidInput: `again` is of another run, or what its try stored is of another command.
            StoreUnavailable: whether it was stored is not known; hand the error in as `again`. The same words
                said next by the same thread (or task) are taken for that repeat too.
        """
        if not isinstance(command, c.Command):
            raise invalid("command", f"{command!r:.50} is not a command of ledger.commands")
        counting("expected", expected)
        fit = mended(type(command), redacted(type(command), command.__dict__, self._without_secrets))
        if fit.fields is not command.__dict__:
            command = command.with_fields(fit.fields)
        self._look_for_secrets(command)
        command, apart = self._apart(command)
        context = replace(
            self._context,
            about=command.about,
            blobs=(*fit.blobs, *apart),
            causation=causation,
            checked=False,
            correlation=correlation or self._context.correlation,
        )
        return self._do(command, context, expected, again)

    def _say(self, kind: C, *, blobs: Packed | None = None, **fields: Any) -> R:
        fit = mended(kind, redacted(kind, fields, self._without_secrets))
        contents = fit.blobs if blobs is None else (*blobs.blobs, *fit.blobs)
        context = self._context.with_blobs(contents) if contents else self._context
        command = build(kind, **fit.fields)
        self._look_for_secrets(command)
        return self._do(command, context, None, None)

    @abstractmethod
    def _now(self) -> datetime:
        """Return the ledger's time."""

    @abstractmethod
    def _look_for_secrets(self, command: c.Command) -> None:
        """Refuse what must not be stored, where a command may well hold it."""

    @abstractmethod
    def _without_secrets(self, content: Any, what: str) -> Any:
        """Replace the secrets in a value; `what` says what it is."""

    @abstractmethod
    def _apart(self, command: c.Command) -> tuple[c.Command, tuple[Blob, ...]]:
        """Take out of a command what is kept as content beside the record."""

    # --- goal and plan ---------------------------------------------------------------------------

    def revise_goal(self, text: str, *, reason: str, by: str, rests_on: Sequence[str] = ()) -> R:
        """Change the goal; it is an act with an author and a reason."""
        return self._say(
            c.ReviseGoal, text=text, reason=reason, by=by, rests_on=several("rests_on", rests_on)
        )

    def commit_plan(self, steps: Iterable[Step | str], *, reason: str | None = None) -> R:
        """Bind the run to a plan: from then on a step outside it is off plan."""
        return self._say(c.CommitPlan, steps=_steps(steps), reason=reason)

    def revise_plan(self, steps: Iterable[Step | str], *, reason: str) -> R:
        """Put another plan in the place of the committed one."""
        return self._say(c.RevisePlan, steps=_steps(steps), reason=reason)

    # --- constraints -----------------------------------------------------------------------------

    def accept(
        self,
        id: str,
        text: str,
        *,
        asserted_by: str,
        source: Source | None = None,
        accepted_by: str | None = None,
        asserted_at: datetime | None = None,
        change: Change | str | None = None,
        rule: Rule | Mapping[str, Any] | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
    ) -> R:
        """Accept a constraint. With `change` it takes the place of the one in force under this id.

        Where a source is named, the acceptance holds only if the source has not moved when it is stored; a
        text that is not byte for byte what the source publishes is kept and shown as claimed. Where no rule
        is given, the rule is taken that the source publishes with that text.

        `rule` is what a machine holds every act to; without one a constraint is words for model and reviewer,
        and is shown as not enforced. It is a `Rule`, or a mapping as documents have it: `{"tools":
        ["refund"], "when": [{"path": "/amount", "operator": "gt", "value": 100}], "needs_approval": True}`.

        Raises:
            InvalidInput: the rule is none; `path` names the field.
            IdInUse: the id is in force with other content and no `change` was named.
            ContractChanged: the source withdrew or reworded it, or the revision that is named never said it.
            NotForAgents: an agent would relax what is in force, word it in its own words, take it from its
                source, keep old words that its source replaced, or accept without the rule what its source
                publishes with one.
        """
        return self._say(
            c.AcceptConstraint,
            id=id,
            text=text,
            asserted_by=asserted_by,
            source=source,
            accepted_by=accepted_by,
            asserted_at=asserted_at,
            change=change,
            rule=None if rule is None else rule_of(rule),
            valid_from=valid_from,
            valid_until=valid_until,
        )

    def withdraw(self, id: str, *, reason: str, by: str) -> R:
        """Take a constraint out of force in this run; not for agents."""
        return self._say(c.WithdrawConstraint, id=id, reason=reason, by=by)

    def acknowledge(self, source: Source, *, by: str, reason: str | None = None) -> R:
        """State that a source's new revision was read and this run's constraints still stand."""
        return self._say(c.AcknowledgeRevision, source=source, by=by, reason=reason)

    # --- assumptions and obligations -------------------------------------------------------------

    def assume(self, id: str, text: str, *, rests_on: Sequence[str] = (), by: str | None = None) -> R:
        """Take something for granted, so that others can rest on it as `assumption:ID`."""
        return self._say(c.MakeAssumption, id=id, text=text, rests_on=several("rests_on", rests_on), by=by)

    def refute(self, id: str, *, evidence: str, by: str | None = None) -> R:
        """Report that an assumption is wrong; it is heard also after the assumption was let go.

        Evidence that no record can hold (too long, no Unicode text, no text at all) is shortened or written
        as text there, and kept whole as content where it was too long; the log `ledger` warns of it.

        Raises:
            NotOpen: this run never assumed that.
        """
        return self._say(c.RefuteAssumption, id=id, evidence=evidence, by=by)

    def promise(self, id: str, text: str, *, owed_to: str, due: datetime | None = None) -> R:
        """Open an obligation."""
        return self._say(c.OpenObligation, id=id, text=text, owed_to=owed_to, due=due)

    def discharge(self, id: str, *, evidence: str, refs: Sequence[str] = (), by: str | None = None) -> R:
        """State that what was owed was done, and what shows it."""
        return self._say(c.DischargeObligation, id=id, evidence=evidence, refs=several("refs", refs), by=by)

    def waive(self, id: str, *, reason: str, by: str) -> R:
        """Give up what was owed; not for agents."""
        return self._say(c.WaiveObligation, id=id, reason=reason, by=by)

    def transfer(self, id: str, *, to: str, reason: str, by: str) -> R:
        """Let somebody else owe it; not for agents."""
        return self._say(c.TransferObligation, id=id, to=to, reason=reason, by=by)

    # --- authority -------------------------------------------------------------------------------

    def grant(
        self,
        id: str,
        *,
        principal: str,
        scopes: Sequence[str],
        granted_by: str,
        budget: Amounts | None = None,
        expires_at: datetime | None = None,
        session: str | None = None,
        on_resume: Literal["continue", "reapprove"] | None = None,
    ) -> R:
        """Record that somebody allowed a principal to act; not for agents."""
        return self._say(
            c.GrantAuthority,
            id=id,
            principal=principal,
            scopes=several("scopes", scopes),
            granted_by=granted_by,
            budget=budget,
            expires_at=expires_at,
            session=session,
            on_resume=on_resume,
        )

    def renew(
        self,
        id: str,
        *,
        by: str,
        expires_at: datetime | None = None,
        add_budget: Amounts | None = None,
        session: str | None = None,
        reason: str | None = None,
    ) -> R:
        """Let a grant live on, or with none of the options confirm it as it is; not for agents."""
        return self._say(
            c.RenewAuthority,
            id=id,
            by=by,
            expires_at=expires_at,
            add_budget=add_budget,
            session=session,
            reason=reason,
        )

    def narrow(
        self,
        id: str,
        *,
        as_: str,
        reason: str,
        by: str,
        scopes: Sequence[str] = (),
        budget: Amounts | None = None,
        expires_at: datetime | None = None,
        session: str | None = None,
    ) -> R:
        """Put another grant that allows less in the place of one, in one append; not for agents.

        What is left out stays as it is; of the budget what is left. What was passed on of it to other runs
        ends.

        Raises:
            AuthorityExceeded: it would allow more than the one before.
            NotOpen: no such grant is in force.
            IdInUse: a grant `as_` is in force already.
        """
        return self._say(
            c.NarrowAuthority,
            id=id,
            as_id=as_,
            reason=reason,
            by=by,
            scopes=several("scopes", scopes),
            budget=budget,
            expires_at=expires_at,
            session=session,
        )

    def revoke(self, id: str, *, reason: str, by: str) -> R:
        """End a grant before its time, with all that was passed on of it to other runs."""
        return self._say(c.RevokeAuthority, id=id, reason=reason, by=by)

    # --- approvals -------------------------------------------------------------------------------

    def approve(self, id: str, *, by: str, reason: str | None = None) -> R:
        """Report that a person approved an act that waits; not for agents.

        The first answer counts that is in time and not that of who asked; every answer is recorded.

        Raises:
            ApprovalNotFound: nothing waits for it in this run. The answer is recorded, as with all of these:
            NotOpen: it was denied before, or the time for it is over.
            NotByRequester: `by`, or who writes, is who asked.
            RunIsClosed: the run has ended.
        """
        return self._say(c.AnswerApproval, id=id, answer="approved", by=by, reason=reason)

    def deny(self, id: str, *, by: str, reason: str | None = None) -> R:
        """Report that a person denied an act that waits; as `approve`.

        A denial is never too late while nobody has approved, and it is one of the act: also where that was
        asked about anew since. A yes that is not used yet is taken back by `request_approval`, said by a
        person, or by revoking the grant that the act draws on. Denying what is
        void clears that reason at the gate, and the next call of the act asks a person anew.
        """
        return self._say(c.AnswerApproval, id=id, answer="denied", by=by, reason=reason)

    def request_approval(
        self, key: str, *, question: str | None = None, expires_at: datetime | None = None
    ) -> R:
        """Ask a person anew about an act, under what holds now; it leads out where a request is void.

        An act is asked about first by performing it. A yes that is not used yet is left behind by the new
        request, and so taken back. `Stated.records` hold the id of the new request; where
        the last one binds still and asks the same, it is a repeat.

        Args:
            key: of the act.
            question: what a person is asked; None: what was asked before or, where that binds no more, why
                a person is asked now. Not for agents.
            expires_at: until when the answer may be given and used; None: without end.

        Raises:
            InvalidInput: `expires_at` is over.
            NotForAgents: an agent asks, in words of its own.
            NotOpen: no such act waits, or was begun and is not done.
            ApprovalDenied: it was denied, and an agent asks.
        """
        if isinstance(expires_at, datetime) and expires_at.tzinfo is not None and expires_at <= self._now():
            raise invalid("expires_at", f"{expires_at.isoformat()} is over: nobody could answer in time")
        return self._say(c.RequestApproval, key=key, question=question, expires_at=expires_at)

    # --- observations, messages, cursor ----------------------------------------------------------

    def observe(
        self,
        key: str,
        value: Any,
        *,
        tool: str,
        observed_at: datetime,
        fresh_for: int | None = None,
        **more: Any,
    ) -> R:
        """Report what was seen of the outside; whatever the value is, the fact is kept.

        A JSON value is kept as it is. Anything else (a tuple, a datetime, a Decimal inside) is kept as the
        name of its type and a digest, which the log `ledger` warns of: convert it first to read it again.
        Secrets that are found in it are replaced before it is kept, which the log warns of too.
        `fresh_for` in seconds: None never goes stale, 0 is never reused. `more` are further fields of
        `ledger.commands.RecordObservation`.
        """
        packed = pack_report(value_without(value, self._without_secrets, "an observation"), "observation")
        return self._say(
            c.RecordObservation,
            blobs=packed,
            key=key,
            value=packed.payload,
            tool=tool,
            observed_at=observed_at,
            fresh_for=fresh_for,
            **more,
        )

    def invalidate(self, key: str, *, reason: str, by: str | None = None) -> R:
        """Report that an observation must not be relied on any more."""
        return self._say(c.InvalidateObservation, key=key, reason=reason, by=by)

    def record_message(self, id: str, role: str, content: Any, *, tokens: int | None = None) -> R:
        """Add a message to the history. `content` is any JSON value; it is kept as a blob."""
        packed = pack_content(canonical_text(content, path="content").encode(), "message")
        return self._say(
            c.RecordMessage, blobs=packed, id=id, role=role, content=packed.payload, tokens=tokens
        )

    def summarise(self, content: Any, *, through: str) -> R:
        """Put a summary in the place of all messages up to the one with this id."""
        packed = pack_content(canonical_text(content, path="content").encode(), "message")
        return self._say(c.SummariseMessages, blobs=packed, content=packed.payload, through=through)

    def move(self, node: str, **more: Any) -> R:
        """State where the program stands; `more` are further fields of `ledger.commands.MoveCursor`.

        Raises:
            NotForAgents: an agent says it while another one is at work on the run, and the gate has not let
                it go on.
        """
        return self._say(c.MoveCursor, node=node, **more)

    # --- life ------------------------------------------------------------------------------------

    def open_child(
        self,
        run: str,
        goal: str,
        *,
        grants: Iterable[c.Carve | str] = (),
        owed_to: str | None = None,
        due: datetime | None = None,
        by: str | None = None,
        **more: Any,
    ) -> R:
        """Open a run that does a part of this one's work; then join it with `Ledger.run`.

        The child is bound by this run's constraints, as they were accepted here. It has those parts of this
        run's grants that are passed on, which are spent here, and of the others none; where this run needs a
        grant for each act, so does the child. This run owes what the child is to do, as an obligation with
        the child's id: the close of a completed child discharges it, and brings back what it did not spend.

        Args:
            run: id of the child.
            goal: what it is to do.
            grants: ids of grants to pass on whole, or `ledger.commands.Carve` for a part of one.
            owed_to: to whom this run owes it; None: its owner, else who asks.
            due: by when.
            by: who decides it.
            more: `labels`, `limits`, `owner`, `rests_on`, `runtime`, `thread` and `about` of the child.

        Raises:
            RunExists: a run of this id was opened before.
            AuthorityExceeded: a part would be more than what is left of its grant.
            ContractChanged: a source withdrew a constraint of this run.
        """
        carves = tuple({"id": one} if isinstance(one, str) else one for one in several("grants", grants))
        return self._say(
            c.OpenChild, as_run=run, goal=goal, grants=carves, owed_to=owed_to, due=due, by=by, **more
        )

    def adopt_runtime(self, runtime: Runtime, *, reason: str, by: str) -> R:
        """Accept that another runtime goes on with the run; not for agents."""
        return self._say(c.AdoptRuntime, runtime=runtime, reason=reason, by=by)

    def suspend(self, *, reason: str, by: str | None = None) -> R:
        """Stop the run until it is resumed."""
        return self._say(c.SuspendRun, reason=reason, by=by)

    def sign_review(self, meaning: str, *, by: str, note: str | None = None) -> R:
        """Say what a reviewer thinks of the run up to its present position; not for agents."""
        return self._say(c.SignReview, meaning=meaning, by=by, note=note)

    def close(
        self,
        outcome: Ending | str,
        *,
        reason: str | None = None,
        by: str | None = None,
        result: Any = None,
    ) -> R:
        """End the run. Secrets that are found in `result` are replaced before it is kept.

        Raises:
            StillOpen: `completed` while effects are unsettled or obligations open. `failed`, `cancelled` and
                `abandoned` end it anyway and list them.
        """
        kept = value_without(result, self._without_secrets, "the result of a run")
        packed = None if kept is None else pack(kept, "result", path="result")
        return self._say(
            c.CloseRun,
            blobs=packed,
            outcome=outcome,
            reason=reason,
            by=by,
            result=None if packed is None else packed.payload,
        )


def _steps(steps: Iterable[Step | str]) -> tuple[Any, ...]:
    return tuple({"name": step} if isinstance(step, str) else step for step in several("steps", steps))
