"""Every command of the ledger: what somebody asks for, or reports.

A *request* is decided and may be refused. A *report* says what already happened: it is admitted on suspended,
held and closed runs and from fenced writers, since refusing it would lose a fact. The union is closed; the
command line, servers and documentation derive from `COMMANDS`.

`not_for_agents` says when an agent may not use a command: None never forbids, an empty mapping always does,
else it does where every named field has the named value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from ledger.values import (
    Amounts,
    AtLeastOne,
    Branch,
    CanonicalJson,
    Change,
    Count,
    Counts,
    Ending,
    ErrorSaid,
    Flag,
    Id,
    Instant,
    Labels,
    Limits,
    Party,
    Payload,
    Position,
    Principal,
    Published,
    Recovery,
    Ref,
    Rule,
    RunId,
    Runtime,
    SavedName,
    Seconds,
    Sha256,
    Source,
    Step,
    Text,
    Value,
)

ALWAYS: Mapping[str, Any] = {}
"""Forbidden to agents whatever its fields say."""


class Command(Value):
    """What all commands share."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    report: ClassVar[bool] = False
    on_closed: ClassVar[bool] = False
    """A request whose rule looks itself at whether the run has ended."""
    not_for_agents: ClassVar[Mapping[str, Any] | None] = None
    remedy: ClassVar[bool] = False
    """A request that is admitted while the run is suspended or held, since it may lead out."""
    stream: ClassVar[Literal["run", "source"]] = "run"
    """Which kind of stream it speaks to."""

    about: tuple[Id, ...] = ()
    """Opaque references to subjects (people, accounts) this is about."""


def forbidden_to_agents(command: Command) -> bool:
    """Tell whether an agent may not issue this command."""
    when = command.not_for_agents
    return when is not None and all(getattr(command, field) == value for field, value in when.items())


# --- run ---------------------------------------------------------------------------------------


class OpenRun(Command):
    """Begin a run."""

    name = "run.open"

    goal: Text
    labels: Labels | None = None
    limits: Limits | None = None
    owner: Party | None = None
    require_authority: Flag = False
    """Each act needs a grant in force, also before the first one is given."""
    rests_on: tuple[Ref, ...] = ()
    runtime: Runtime | None = None
    thread: Id | None = None


class SuspendRun(Command):
    """Stop a run until it is resumed.

    Nothing that acts begins in its children either, where a person asks for it, or a service that is not its
    program. An agent stops the run alone, and so does its program, which may wait for them.
    """

    name = "run.suspend"

    by: Party | None = None
    reason: Text


class ResumeRun(Command):
    """Ask the gate whether a stopped run may go on."""

    name = "run.resume"
    remedy = True
    not_for_agents = {"take_over": True}

    runtime: Runtime | None = None
    take_over: Flag = False
    """Go on although the run is live elsewhere."""


class ForkRun(Command):
    """Open a run that reads what another one recorded up to a position, and never performs."""

    name = "run.fork"
    remedy = True
    on_closed = True

    as_run: RunId
    at: Position
    by: Party | None = None
    reason: Text | None = None


class RestartRun(Command):
    """Close a run that cannot be resumed and open its successor."""

    name = "run.restart"
    on_closed = True
    remedy = True
    not_for_agents = ALWAYS

    as_run: RunId
    by: Party
    goal: Text | None = None
    """What the successor is to achieve; None: the same, which must not rest on a refuted assumption."""
    reason: Text
    rests_on: tuple[Ref, ...] = ()
    """What that goal rests on."""


class Carve(Value):
    """A part of a grant that a child run is to have."""

    budget: Amounts | None = None
    """What it may spend there; None: where the grant has a budget, all that is left of it."""
    expires_at: Instant | None = None
    """None: when the grant ends."""
    id: Id
    """The grant of the parent."""
    principal: Principal | None = None
    """None: that of the grant."""
    scopes: tuple[Id, ...] = ()
    """Empty: those of the grant."""


class OpenChild(Command):
    """Begin a run that does a part of this one's work, under its constraints and within its authority."""

    name = "run.open_child"

    as_run: RunId
    by: Party | None = None
    due: Instant | None = None
    goal: Text
    grants: tuple[Carve, ...] = ()
    """Grants of this run that it is to have; of the others it has none."""
    labels: Labels | None = None
    limits: Limits | None = None
    owed_to: Party | None = None
    """To whom this run owes what the child is to do; None: its owner, else who asks."""
    owner: Party | None = None
    rests_on: tuple[Ref, ...] = ()
    runtime: Runtime | None = None
    thread: Id | None = None


class CloseRun(Command):
    """End a run."""

    name = "run.close"
    remedy = True

    by: Party | None = None
    outcome: Literal[Ending.COMPLETED, Ending.FAILED, Ending.CANCELLED, Ending.ABANDONED]
    reason: Text | None = None
    result: Payload | None = None


# --- goal and plan -----------------------------------------------------------------------------


class ReviseGoal(Command):
    """Change the goal, by somebody and for a reason."""

    name = "goal.revise"
    remedy = True

    by: Party
    reason: Text
    rests_on: tuple[Ref, ...] = ()
    text: Text


class CommitPlan(Command):
    """Bind the run to a plan."""

    name = "plan.commit"
    remedy = True

    by: Party | None = None
    reason: Text | None = None
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]


class RevisePlan(Command):
    """Put another plan in the place of the committed one."""

    name = "plan.revise"
    remedy = True

    by: Party | None = None
    reason: Text
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]


# --- constraint --------------------------------------------------------------------------------


class AcceptConstraint(Command):
    """Accept a constraint, or supersede one that is in force by naming the change."""

    name = "constraint.accept"
    remedy = True
    not_for_agents = {"change": Change.RELAXED}

    accepted_by: Party | None = None
    """None: the actor."""
    asserted_at: Instant | None = None
    asserted_by: Party
    change: Change | None = None
    id: Id
    rule: Rule | None = None
    source: Source | None = None
    text: Text
    valid_from: Instant | None = None
    valid_until: Instant | None = None

    @model_validator(mode="after")
    def _valid_time(self) -> AcceptConstraint:
        if self.valid_from and self.valid_until and self.valid_until <= self.valid_from:
            raise ValueError("valid_until is not after valid_from")
        return self


class WithdrawConstraint(Command):
    """Take a constraint out of force in this run."""

    name = "constraint.withdraw"
    remedy = True
    not_for_agents = ALWAYS

    by: Party
    id: Id
    reason: Text


class AcknowledgeRevision(Command):
    """State that a source's new revision was read and the run's constraints still stand."""

    name = "constraint.acknowledge_revision"
    remedy = True

    by: Party
    reason: Text | None = None
    source: Source


# --- assumption --------------------------------------------------------------------------------


class MakeAssumption(Command):
    """Take something for granted, or state anew on what it rests.

    Where one of its grounds was refuted it leads out of a hold, so it is admitted there.
    """

    name = "assumption.make"
    remedy = True

    by: Party | None = None
    id: Id
    rests_on: tuple[Ref, ...] = ()
    text: Text


class RefuteAssumption(Command):
    """Report that an assumption is wrong."""

    name = "assumption.refute"
    report = True

    by: Party | None = None
    evidence: Text
    id: Id
    occurred_at: Instant | None = None


# --- obligation --------------------------------------------------------------------------------


class OpenObligation(Command):
    """Promise somebody something."""

    name = "obligation.open"

    because: Ref | None = None
    by: Party | None = None
    due: Instant | None = None
    id: Id
    owed_to: Party
    text: Text


class DischargeObligation(Command):
    """State that what was owed was done, and what shows it."""

    name = "obligation.discharge"
    remedy = True

    by: Party | None = None
    evidence: Text
    id: Id
    refs: tuple[Ref, ...] = ()


class WaiveObligation(Command):
    """Give up what was owed."""

    name = "obligation.waive"
    remedy = True
    not_for_agents = ALWAYS

    by: Party
    id: Id
    reason: Text


class TransferObligation(Command):
    """Let somebody else owe it."""

    name = "obligation.transfer"
    remedy = True
    not_for_agents = ALWAYS

    by: Party
    id: Id
    reason: Text
    to: Party


# --- authority ---------------------------------------------------------------------------------


class GrantAuthority(Command):
    """Allow a principal to act, within scopes, a budget and a time."""

    name = "authority.grant"
    remedy = True
    not_for_agents = ALWAYS

    budget: Amounts | None = None
    expires_at: Instant | None = None
    granted_by: Party
    id: Id
    on_resume: Literal["continue", "reapprove"] | None = None
    principal: Principal
    scopes: Annotated[tuple[Id, ...], Field(min_length=1)]
    session: Id | None = None


class RenewAuthority(Command):
    """Let a grant live on, with a later end, more budget or another session; or confirm it as it is."""

    name = "authority.renew"
    remedy = True
    not_for_agents = ALWAYS

    add_budget: Amounts | None = None
    by: Party
    expires_at: Instant | None = None
    id: Id
    reason: Text | None = None
    session: Id | None = None


class NarrowAuthority(Command):
    """Put another grant that allows less in the place of one: in one append, so that no act falls between."""

    name = "authority.narrow"
    remedy = True
    not_for_agents = ALWAYS

    as_id: Id
    """Id of the grant that takes its place."""
    budget: Amounts | None = None
    """What may be spent from now on; None: what is left. Units that are not named are not to be spent."""
    by: Party
    expires_at: Instant | None = None
    """When it ends; None: as before."""
    id: Id
    reason: Text
    scopes: tuple[Id, ...] = ()
    """What may be done: tools, `prefix.*` or `*`; empty: as before."""
    session: Id | None = None
    """The session that it is for; None: as before."""


class RevokeAuthority(Command):
    """End a grant before its time, with all that was passed on of it to other runs."""

    name = "authority.revoke"
    remedy = True

    by: Party
    id: Id
    reason: Text


# --- observation -------------------------------------------------------------------------------


class RecordObservation(Command):
    """Report what was seen of the outside."""

    name = "observation.record"
    report = True

    args: CanonicalJson | None = None
    """The arguments it was asked with, as a JSON text, so that it can be asked again."""
    args_digest: Sha256 | None = None
    cost: Amounts | None = None
    fresh_for: Seconds | None = None
    key: Id
    observed_at: Instant
    occurrence: Id | None = None
    rests_on: tuple[Ref, ...] = ()
    runtime: Runtime | None = None
    step: Id | None = None
    tool: Id
    value: Payload


class InvalidateObservation(Command):
    """Report that an observation must not be relied on any more."""

    name = "observation.invalidate"
    report = True

    by: Party | None = None
    key: Id
    reason: Text


# --- approval ----------------------------------------------------------------------------------


class RequestApproval(Command):
    """Ask a person anew about an act that waits or was begun, under what holds now.

    It leads out where a request has lapsed, or where terms, plan, tool or runtime changed after it. An act is
    first asked about by claiming it.
    """

    name = "approval.request"
    remedy = True

    expires_at: Instant | None = None
    """Until when the answer may be given and used; None: without end."""
    key: Sha256
    """Of the act."""
    question: Text | None = None
    """None: as it was asked before or, where that binds no more, made anew of the rules that hold now."""


class AnswerApproval(Command):
    """Report a person's answer; every answer is kept, the first valid one counts."""

    name = "approval.answer"
    report = True
    not_for_agents = ALWAYS

    answer: Literal["approved", "denied"]
    by: Party
    """The person who decided: `human:NAME`."""
    id: Id
    occurred_at: Instant | None = None
    reason: Text | None = None

    @model_validator(mode="after")
    def _by_a_person(self) -> AnswerApproval:
        # What names an agent is well formed, and refused to agents like all that is not for them.
        if not self.by.startswith(("human:", "agent:")):
            raise ValueError(f"by {self.by!r}: a person answers, human:NAME")
        return self


# --- effect ------------------------------------------------------------------------------------


class ClaimEffect(Command):
    """Ask to act on the outside: intent and start in one append, before the call."""

    name = "effect.claim"

    approval_seconds: AtLeastOne | None = None
    """How long a request for approval, and the answer to it, are good for; None: without end."""
    args: CanonicalJson
    args_in_full: CanonicalJson | None = None
    """The arguments with those that were left out because the tool declares them by default; None: none
    were."""
    dedupes_for: Seconds | None = None
    given: Id | None = None
    """The caller's own name for the act; None: its key is computed from stable inputs."""
    lease_seconds: AtLeastOne = 30
    max_attempts: AtLeastOne = 1
    needs_approval: Flag = False
    """Its tool is declared so: a person must approve it, whatever the constraints say."""
    occurrence: Id | None = None
    probed: Flag = False
    """Its tool has a probe, so that the outside can be asked what became of it."""
    recovery: Recovery
    repeat_reason: Text | None = None
    reserved: Amounts | None = None
    resource: Id | None = None
    rests_on: tuple[Ref, ...] = ()
    settle_seconds: Seconds | None = None
    step: Id | None = None
    tool: Id
    tool_schema: Sha256 | None = None
    undone_by: Sha256 | None = None
    worker: Id


class ReportSuccess(Command):
    """Report that the act happened."""

    name = "effect.report_success"
    report = True

    attempt: AtLeastOne
    cost: Amounts | None = None
    external_ref: Id | None = None
    key: Sha256
    occurred_at: Instant | None = None
    result: Payload | None = None
    worker: Id | None = None


class ReportFailure(Command):
    """Report that the outside refused and nothing happened there."""

    name = "effect.report_failure"
    report = True

    attempt: AtLeastOne
    cost: Amounts | None = None
    error: ErrorSaid
    key: Sha256
    occurred_at: Instant | None = None
    worker: Id | None = None


class ReportUnknown(Command):
    """Report that nobody knows whether the act happened."""

    name = "effect.report_unknown"
    report = True

    attempt: AtLeastOne
    because: Literal["imported", "inconclusive", "lease_lapsed", "raised", "stopped"]
    error: ErrorSaid | None = None
    key: Sha256


class ReconcileEffect(Command):
    """Report what was found out about an effect."""

    name = "effect.reconcile"
    report = True
    not_for_agents = {"method": "person"}

    asked_at: Instant | None = None
    """When the outside was asked, by the clock of leases: its word is of then. None: now."""
    by: Party | None = None
    cost: Amounts | None = None
    evidence: Text
    external_ref: Id | None = None
    found: Literal["did_not_happen", "happened", "unknown"]
    key: Sha256
    method: Literal["late_outcome", "person", "probe", "redelivery"]
    result: Payload | None = None


class CompensateEffect(Command):
    """Report that an act was undone by another one."""

    name = "effect.compensate"
    report = True

    by: Party | None = None
    key: Sha256
    reason: Text | None = None
    undone_by: Sha256


# --- execution ---------------------------------------------------------------------------------


class MoveCursor(Command):
    """State where the program of the run stands.

    Only the program says so: an agent is refused where another one is at work on the run.
    """

    name = "cursor.move"

    branches: tuple[Branch, ...] = ()
    budget_left: Amounts | None = None
    needs: tuple[Ref, ...] = ()
    next: tuple[Id, ...] = ()
    node: Id
    on_denied: Id | None = None
    retries: Counts | None = None
    round: Count = 0
    state: Sha256 | None = None
    visited: Counts | None = None
    waits_for: tuple[Ref, ...] = ()


class RecordMessage(Command):
    """Add a message to the history; its content is kept as a blob.

    People go on writing to a run that waits, so it is admitted there.
    """

    name = "message.record"
    remedy = True
    # What the ledger itself says in a history, nobody who is resumed by it may put there.
    not_for_agents = {"role": "ledger"}

    content: Payload
    id: Id
    role: Literal["assistant", "ledger", "system", "tool", "user"]
    tokens: Count | None = None


class SummariseMessages(Command):
    """Put a summary in the place of all messages up to one."""

    name = "message.summarise"

    content: Payload
    through: Id


class SaveState(Command):
    """Keep the state that the program is in, as a blob.

    What is done is done, so it is admitted while the run is held, too.
    """

    name = "state.save"
    remedy = True

    branch: Flag = False
    """It goes on from a state that need not be the newest of its line."""
    content: Payload
    """It becomes content of its own beside the record."""
    dropped: Position | None = None
    """Where states were last dropped, as the writer knows it: the content may rest on any that is left."""
    id: Id
    line: Id | None = None
    """Which of the histories that the program keeps side by side; None: its main one."""
    parent: Id | None = None
    """The state that it goes on from: the newest of its line, unless it is a branch."""
    rests: Flag = False
    """The program waits for somebody after this: nothing is at work."""
    seen: Position | None = None
    """Where the run stood when the parent was seen to be the newest of its line."""
    whole: Flag = False
    """The content needs no other to be read."""


class SaveStatePart(Command):
    """Keep what a part of the work after a saved state came to, as a blob."""

    name = "state.save_part"
    remedy = True

    content: Payload
    """It becomes content of its own beside the record."""
    line: Id | None = None
    """The line that the state is on; None: the main one."""
    rests: Flag = False
    """The program waits for somebody after this: nothing is at work."""
    state: Id
    """The state that the work goes on from."""
    task: Id
    """Names the piece of work that it is of."""


class DropStates(Command):
    """Give up saved states: those that are named, or all but those that are kept."""

    name = "state.drop"
    on_closed = True
    remedy = True
    not_for_agents = ALWAYS

    all: Flag = False
    """All are given up, but those that are kept."""
    also_in: RunId | None = None
    """A later run whose program may be about to go on from them. It is told by an event of its own, in the
    same append: what is being saved there is refused until who saves it has looked again."""
    by: Party
    kept: Annotated[tuple[SavedName, ...], Field(max_length=500)] = ()
    """Those that stay, of all."""
    reason: Text
    states: Annotated[tuple[SavedName, ...], Field(max_length=500)] = ()
    """Those that are given up, where it is not all."""
    upto: Position | None = None
    """Only what was saved up to there: what others save meanwhile stays. None: whatever was saved."""


class AdoptRuntime(Command):
    """Accept that another runtime goes on with the run."""

    name = "runtime.adopt"
    remedy = True
    not_for_agents = ALWAYS

    by: Party
    reason: Text
    runtime: Runtime


# --- source stream -----------------------------------------------------------------------------


class OpenSource(Command):
    """Name a source of constraints and who owns it."""

    name = "source.open"
    not_for_agents = ALWAYS
    stream = "source"

    owners: tuple[Party, ...] = ()


class PublishRevision(Command):
    """Publish what the source says now: the whole text of it, constraint by constraint.

    What is in force and not named is withdrawn by it, which `withdraw` must confirm by naming those ids.
    """

    name = "source.publish"
    not_for_agents = ALWAYS
    stream = "source"

    by: Party | None = None
    constraints: tuple[Published, ...]
    reason: Text | None = None
    revision: Id
    withdraw: tuple[Id, ...] = ()


class WithdrawAtSource(Command):
    """Report that the source withdrew a constraint."""

    name = "source.withdraw"
    report = True
    not_for_agents = ALWAYS
    stream = "source"

    by: Party
    id: Id
    reason: Text


# --- review ------------------------------------------------------------------------------------


class SignReview(Command):
    """Say what a reviewer thinks of the run up to its present position."""

    name = "review.sign"
    report = True
    not_for_agents = ALWAYS

    by: Party
    meaning: Literal["approved", "noted", "objection", "reviewed"]
    note: Text | None = None
    read_hash: Sha256 | None = None
    """Hash of the event at `read_upto`; given with it."""
    read_upto: Position | None = None
    """Up to which position it was read: where the run stands, or the head of the review that stands there.
    None: where the run stands."""


COMMAND_CLASSES: tuple[type[Command], ...] = (
    OpenRun,
    SuspendRun,
    ResumeRun,
    ForkRun,
    RestartRun,
    OpenChild,
    CloseRun,
    ReviseGoal,
    CommitPlan,
    RevisePlan,
    AcceptConstraint,
    WithdrawConstraint,
    AcknowledgeRevision,
    MakeAssumption,
    RefuteAssumption,
    OpenObligation,
    DischargeObligation,
    WaiveObligation,
    TransferObligation,
    GrantAuthority,
    RenewAuthority,
    NarrowAuthority,
    RevokeAuthority,
    RecordObservation,
    InvalidateObservation,
    RequestApproval,
    AnswerApproval,
    ClaimEffect,
    ReportSuccess,
    ReportFailure,
    ReportUnknown,
    ReconcileEffect,
    CompensateEffect,
    MoveCursor,
    RecordMessage,
    SummariseMessages,
    SaveState,
    SaveStatePart,
    DropStates,
    AdoptRuntime,
    OpenSource,
    PublishRevision,
    WithdrawAtSource,
    SignReview,
)
"""All commands, in the order of the glossary."""

COMMANDS: dict[str, type[Command]] = {kind.name: kind for kind in COMMAND_CLASSES}
"""The closed registry of commands by their stable names."""
