"""Every event of the ledger: what happened in a run, a source stream or a review.

Events are facts in the past tense. The union is closed: `EVENTS` maps (name, version) to the one class that
reads it, no Python path is ever stored, and a name that is not here is refused when it is read. Whatever
changes what an event means or may hold, one more field or choice included, goes into a new version beside the
old one: an older program then says that it does not know the event, not that the record was altered.

Fields stand in alphabetical order, so that pydantic's output is the canonical JSON of the record. An absent
field means None. What every event may carry (`about`, `terms`) belongs to the record, not to these classes.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from ledger.canonical import MAX_INTEGER
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
    Kept,
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
    SourceId,
    Step,
    Text,
    Value,
    Verdict,
)


class Event(Value):
    """What all events share: a stable dotted name and a version."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    binds_terms: ClassVar[bool] = False
    """The record of this event carries the terms that were in force before it."""
    keyed_by: ClassVar[tuple[str, ...] | None] = None
    """Kind and fields by which the store finds the event again, or None; the kind alone: all of a run."""


# --- run ---------------------------------------------------------------------------------------


class Parent(Value):
    """Where a run comes from."""

    position: Count
    """Position of the parent that the run was opened at."""
    relation: Literal["child", "fork", "successor"]
    root: RunId
    """First run of the lineage; it scopes effect keys."""
    run: RunId


class RunOpened(Event):
    """A run began. Always position 1."""

    name = "run.opened"
    version = 2

    goal: Text
    labels: Labels | None = None
    limits: Limits | None = None
    owner: Party | None = None
    parent: Parent | None = None
    require_authority: Flag = False
    """Each act needs a grant in force, also before the first one is given."""
    rests_on: tuple[Ref, ...] = ()
    """What the goal rests on."""
    runtime: Runtime | None = None
    thread: Id | None = None
    """Conversation the run belongs to, as the outside names it."""


class RunSuspended(Event):
    """The run was stopped and waits for a resume."""

    name = "run.suspended"

    by: Party | None = None
    cause: Literal["asked", "effects", "imported", "refusals_in_a_row", "retries", "steps", "wall_seconds"]
    """Why: somebody asked, a limit of that name was reached, retries ran out, or the run was imported so."""
    reason: Text


class Reason(Value):
    """One reason of a verdict."""

    cleared_by: Id
    """Name of the event that clears it."""
    kind: Id
    position: Position | None = None
    since: Instant | None = None
    what: Text
    who: Party | None = None


class RunResumed(Event):
    """The gate said continue; the next incarnation began and fences requests of older ones."""

    name = "run.resumed"
    binds_terms = True

    gap_seconds: Seconds
    """Time since the last event before."""
    incarnation: Annotated[int, Field(ge=2, le=MAX_INTEGER, strict=True)]
    prompt_digest: Sha256
    """Digest of the contract as the resumed agent is told it."""
    runtime: Runtime | None = None
    take_over: Flag = False
    """The run was live elsewhere and was taken over on purpose."""


class ResumeRefused(Event):
    """The gate said something stricter than continue; the run is held."""

    name = "run.resume_refused"
    binds_terms = True

    reasons: tuple[Reason, ...]
    verdict: Verdict


class RunForked(Event):
    """This run is a fork of another one: it reads recorded results and never performs. Always position 2."""

    name = "run.forked"

    at: Position
    by: Party | None = None
    hash: Sha256
    """Hash of the origin's event at that position."""
    origin: RunId
    reason: Text | None = None


class InheritedEffect(Value):
    """An effect of an ancestor whose outcome was open when a successor began."""

    act: Sha256
    attempt: Count
    key: Sha256
    position: Position
    """Where the ancestor intended it."""
    recovery: Recovery
    run: RunId
    status: Literal["pending", "executing", "unknown", "disputed"]
    tool: Id


class Dropped(Value):
    """Something the successor did not take over, and why."""

    reason: Text
    ref: Ref


class RunRestarted(Event):
    """This run succeeds one that could not be resumed. Always position 2; what it inherits follows."""

    name = "run.restarted"

    by: Party
    dropped: tuple[Dropped, ...] = ()
    effects_done: Count
    """Effects of the lineage that are done; they are found by their keys."""
    predecessor: RunId
    predecessor_hash: Sha256
    predecessor_position: Position
    reason: Text
    unsettled: tuple[InheritedEffect, ...] = ()


class RunClosed(Event):
    """The run ended. Reports are still admitted."""

    name = "run.closed"

    by: Party | None = None
    obligations: tuple[Id, ...] = ()
    """Obligations that were open."""
    outcome: Ending
    reason: Text | None = None
    result: Payload | None = None
    successor: RunId | None = None
    unsettled: tuple[Sha256, ...] = ()
    """Keys of effects that were unsettled."""


# --- goal and plan -----------------------------------------------------------------------------


class GoalRevised(Event):
    """The goal changed, by somebody and for a reason."""

    name = "goal.revised"

    by: Party
    reason: Text
    rests_on: tuple[Ref, ...] = ()
    text: Text


class PlanCommitted(Event):
    """The run bound itself to a plan; from then on a step outside it is off plan."""

    name = "plan.committed"

    by: Party | None = None
    reason: Text | None = None
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]


class PlanRevised(Event):
    """Another plan took the place of the committed one."""

    name = "plan.revised"

    by: Party | None = None
    reason: Text
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]


# --- constraint --------------------------------------------------------------------------------


class ConstraintAccepted(Event):
    """The run accepted a constraint: who asserted it, from where, who accepted it."""

    name = "constraint.accepted"
    version = 2

    accepted_by: Party
    asserted_at: Instant | None = None
    asserted_by: Party
    change: Change | None = None
    """How it differs from the acceptance it supersedes."""
    id: Id
    published: Flag | None = None
    """True: byte-equal to what its source publishes. False: claimed, the source says otherwise or not at all.
    None: no source."""
    rule: Rule | None = None
    source: Source | None = None
    source_position: Count | None = None
    """Position of the source stream this acceptance relied on."""
    supersedes: Position | None = None
    """Position of the acceptance it takes the place of."""
    text: Text
    valid_from: Instant | None = None
    valid_until: Instant | None = None


class ConstraintWithdrawn(Event):
    """A constraint is no longer in force in this run."""

    name = "constraint.withdrawn"

    by: Party
    id: Id
    reason: Text


class RevisionAcknowledged(Event):
    """Somebody read a new revision of a source and found that the run's constraints still stand."""

    name = "constraint.revision_acknowledged"

    by: Party
    reason: Text | None = None
    source: Source
    source_position: Position


# --- assumption --------------------------------------------------------------------------------


class AssumptionMade(Event):
    """The run takes something for granted."""

    name = "assumption.made"
    keyed_by = ("assumption", "id")

    by: Party | None = None
    id: Id
    rests_on: tuple[Ref, ...] = ()
    text: Text


class AssumptionRefuted(Event):
    """An assumption turned out wrong."""

    name = "assumption.refuted"
    keyed_by = ("assumption", "id")

    by: Party | None = None
    evidence: Text
    id: Id
    occurred_at: Instant | None = None


# --- obligation --------------------------------------------------------------------------------


class ObligationOpened(Event):
    """The run owes somebody something."""

    name = "obligation.opened"

    because: Ref | None = None
    """What brought it about, e.g. `effect:KEY` whose retries ran out or `run:ID` of a child."""
    by: Party | None = None
    due: Instant | None = None
    id: Id
    owed_to: Party
    text: Text


class ObligationDischarged(Event):
    """What was owed was done."""

    name = "obligation.discharged"

    by: Party | None = None
    evidence: Text
    id: Id
    refs: tuple[Ref, ...] = ()
    """What shows it, e.g. `effect:KEY`."""


class ObligationWaived(Event):
    """Whom it was owed to, or somebody for them, gave it up."""

    name = "obligation.waived"

    by: Party
    id: Id
    reason: Text


class ObligationTransferred(Event):
    """Somebody else owes it from now on."""

    name = "obligation.transferred"

    by: Party
    id: Id
    reason: Text
    to: Party


# --- authority ---------------------------------------------------------------------------------


class GrantOrigin(Value):
    """The grant of another run that a grant was carved out of."""

    id: Id
    position: Position
    run: RunId


class AuthorityGranted(Event):
    """Somebody allowed a principal to act, within scopes, a budget and a time."""

    name = "authority.granted"

    budget: Amounts | None = None
    """Most that may be spent, by unit; None: no bound."""
    carved_from: GrantOrigin | None = None
    expires_at: Instant | None = None
    granted_by: Party
    id: Id
    on_resume: Literal["continue", "reapprove"] | None = None
    """None: reapprove where it has a session or a partly spent budget, else continue."""
    principal: Principal
    scopes: Annotated[tuple[Id, ...], Field(min_length=1)]
    session: Id | None = None


class AuthorityRenewed(Event):
    """A grant lives on: with a later end, more budget or another session."""

    name = "authority.renewed"

    add_budget: Amounts | None = None
    by: Party
    expires_at: Instant | None = None
    id: Id
    reason: Text | None = None
    session: Id | None = None


class AuthorityRevoked(Event):
    """A grant ended before its time."""

    name = "authority.revoked"

    by: Party
    id: Id
    reason: Text


class AuthorityCarved(Event):
    """A part of a grant was passed on to another run, which may spend it in this one's place."""

    name = "authority.carved"

    budget: Amounts | None = None
    """What may be spent there no more than once; None: the grant has no bound."""
    by: Party
    id: Id
    """The grant of this run."""
    run: RunId
    """Where it went; its own grant names this one as `carved_from`."""


class AuthorityReturned(Event):
    """What another run did not spend of a grant that was passed on to it came back."""

    name = "authority.returned"

    budget: Amounts
    by: Party
    id: Id
    """The grant of this run."""
    run: RunId
    """Where it came from."""


# --- observation -------------------------------------------------------------------------------


class ObservationRecorded(Event):
    """Something was seen of the outside, or a model answered."""

    name = "observation.recorded"
    version = 2
    keyed_by = ("observation", "key")

    args: CanonicalJson | None = None
    """The arguments it was asked with, so that it can be asked again; None: not known."""
    args_digest: Sha256 | None = None
    cost: Amounts | None = None
    fresh_for: Seconds | None = None
    """Half-life in seconds from `observed_at`; None: never stale, 0: never reused."""
    key: Id
    observed_at: Instant | None = None
    """None: nobody said when (an imported run), so it is never fresh where `fresh_for` is set."""
    occurrence: Id | None = None
    rests_on: tuple[Ref, ...] = ()
    runtime: Runtime | None = None
    """The model and its settings, where a model call is what was observed."""
    step: Id | None = None
    tool: Id
    value: Payload
    witnessed: Flag = True
    """False: imported; the ledger was not there."""


class ObservationInvalidated(Event):
    """An observation must not be relied on any more, whatever its age."""

    name = "observation.invalidated"
    keyed_by = ("observation", "key")

    by: Party | None = None
    key: Id
    reason: Text


# --- approval ----------------------------------------------------------------------------------


class ApprovalRequested(Event):
    """An act waits for a person. The answer binds to exactly what is named here."""

    name = "approval.requested"
    binds_terms = True

    expires_at: Instant | None = None
    id: Id
    key: Sha256
    question: Text | None = None
    runtime_digest: Sha256 | None = None
    tool_schema: Sha256 | None = None


class ApprovalAnswered(Event):
    """Somebody answered an approval request; the first valid answer counts, all are kept."""

    name = "approval.answered"

    answer: Literal["approved", "denied"]
    by: Party
    id: Id
    occurred_at: Instant | None = None
    reason: Text | None = None


# --- effect ------------------------------------------------------------------------------------


class EffectIntended(Event):
    """The run is about to act on the outside. Each attempt has one."""

    name = "effect.intended"
    version = 2
    binds_terms = True
    keyed_by = ("effect", "key")

    act: Sha256
    approval: Id | None = None
    """The approval that covers it; None: none does, or it waits for one."""
    args: CanonicalJson
    args_in_full: CanonicalJson | None = None
    """The arguments with those that were left out because the tool declares them by default; None: none
    were, or that is not known. Rules were held against these."""
    authority: tuple[Id, ...] = ()
    """Grants it draws on; empty: none was needed and none given."""
    dedupes_for: Seconds | None = None
    given: Id | None = None
    """The caller's own name for the act, where the key comes from one."""
    key: Sha256
    key_scheme: Literal["given", "v1"]
    """v1: computed from step, tool, occurrence and arguments; given: from the caller's name for the act.
    Either way tenant and lineage are part of it."""
    max_attempts: AtLeastOne = 1
    occurrence: Id | None = None
    recovery: Recovery
    repeat_reason: Text | None = None
    """Why the same act is done once more on purpose."""
    reserved: Amounts | None = None
    """Cost set aside until the outcome is known."""
    resource: Id | None = None
    rests_on: tuple[Ref, ...] = ()
    settle_seconds: Seconds | None = None
    source_positions: Counts | None = None
    """Positions of the source streams it was admitted under."""
    step: Id | None = None
    tool: Id
    tool_schema: Sha256 | None = None
    undone_by: Sha256 | None = None
    """Key of the effect that undid the first act, which makes this one no repeat."""
    witnessed: Flag = True
    """False: imported; the ledger was not there."""


class EffectStarted(Event):
    """A worker claimed the effect; the call may be under way from now on."""

    name = "effect.started"
    keyed_by = ("effect", "key")

    attempt: AtLeastOne
    key: Sha256
    lease_until: Instant
    root: RunId
    """First run of the lineage, within which the claim is unique."""
    source_positions: Counts | None = None
    worker: Id


class EffectSucceeded(Event):
    """The act happened."""

    name = "effect.succeeded"
    keyed_by = ("effect", "key")

    attempt: AtLeastOne
    cost: Amounts | None = None
    external_ref: Id | None = None
    key: Sha256
    occurred_at: Instant | None = None
    result: Payload | None = None


class EffectFailed(Event):
    """The outside refused; nothing happened there."""

    name = "effect.failed"
    keyed_by = ("effect", "key")

    attempt: AtLeastOne
    cost: Amounts | None = None
    error: ErrorSaid
    key: Sha256
    occurred_at: Instant | None = None


class EffectUnknown(Event):
    """Nobody knows whether the act happened."""

    name = "effect.unknown"
    keyed_by = ("effect", "key")

    attempt: AtLeastOne
    because: Literal["imported", "inconclusive", "lease_lapsed", "raised", "stopped"]
    """No result in a transcript, a probe without an answer, a lapsed lease, an undeclared error, a stop."""
    error: ErrorSaid | None = None
    key: Sha256


class EffectReconciled(Event):
    """Somebody found out, or tried to find out, what became of an effect."""

    name = "effect.reconciled"
    keyed_by = ("effect", "key")

    attempt: AtLeastOne
    by: Party | None = None
    cost: Amounts | None = None
    evidence: Text
    external_ref: Id | None = None
    found: Literal["did_not_happen", "happened", "unknown"]
    key: Sha256
    method: Literal["late_outcome", "person", "probe", "redelivery"]
    result: Payload | None = None


class EffectDisputed(Event):
    """A later report contradicts the settled outcome; a person has to say which is true."""

    name = "effect.disputed"
    keyed_by = ("effect", "key")

    act: Sha256
    attempt: AtLeastOne
    error: ErrorSaid | None = None
    key: Sha256
    occurred_at: Instant | None = None
    recovery: Recovery
    reported: Literal["did_not_happen", "failed", "happened", "succeeded"]
    reported_by: Id | None = None
    result: Payload | None = None
    settled_at: Position | None = None
    """Position of the outcome it contradicts, where that is in this run."""
    tool: Id


class EffectCompensated(Event):
    """The act was undone by another one."""

    name = "effect.compensated"
    keyed_by = ("effect", "key")

    by: Party | None = None
    key: Sha256
    reason: Text | None = None
    undone_by: Sha256


class EffectRefused(Event):
    """A rule said no before the call; nothing was started."""

    name = "effect.refused"
    binds_terms = True

    act: Sha256 | None = None
    args: CanonicalJson | None = None
    """None where the arguments are what was wrong, e.g. hold a secret."""
    evidence: Labels | None = None
    key: Sha256 | None = None
    position: Position | None = None
    """Position of what refused it: an acceptance, a grant, the first act."""
    rule: Id
    """Code of the refusal, e.g. `constraint_violated`."""
    step: Id | None = None
    tool: Id


# --- execution ---------------------------------------------------------------------------------


class CursorMoved(Event):
    """The run stands at a node of its program."""

    name = "cursor.moved"

    branches: tuple[Branch, ...] = ()
    budget_left: Amounts | None = None
    needs: tuple[Ref, ...] = ()
    """Results the next step reads, as `effect:KEY` and `observation:KEY`."""
    next: tuple[Id, ...] = ()
    node: Id
    on_denied: Id | None = None
    """Node to go to when what it waits for is denied."""
    retries: Counts | None = None
    """Retries so far, by node."""
    round: Count = 0
    state: Sha256 | None = None
    """Digest of the runtime's own state."""
    visited: Counts | None = None
    """Visits so far, by node."""
    waits_for: tuple[Ref, ...] = ()


class MessageRecorded(Event):
    """A message entered the history. Its content is a blob; the record holds the digest."""

    name = "message.recorded"
    keyed_by = ("message", "id")

    content: Payload
    id: Id
    role: Literal["assistant", "ledger", "system", "tool", "user"]
    tokens: Count | None = None


class MessagesSummarised(Event):
    """A summary took the place of all messages up to one."""

    name = "message.summarised"

    content: Payload
    count: Count
    """Messages it stands for."""
    through: Id
    """Id of the last message it stands for."""


class StateSaved(Event):
    """The program's own state was saved. It is a blob: all of it, or what is new since states before it."""

    name = "state.saved"
    keyed_by = ("state", "line", "id")

    branch: Flag = False
    """It goes on from another state than the newest of its line."""
    content: Kept
    id: Id
    line: Id | None = None
    """Which of the histories that the program keeps side by side, e.g. of a graph inside the graph; None: its
    main one."""
    parent: Id | None = None
    """The state that it goes on from."""
    rests: Flag = False
    """The program waits for somebody after this: nothing is at work."""
    whole: Flag = False
    """The content needs no other to be read."""


class StatePartSaved(Event):
    """A part of the work after a saved state was finished and kept, before the next state is saved."""

    name = "state.part_saved"
    keyed_by = ("part", "line", "state")

    content: Kept
    line: Id | None = None
    rests: Flag = False
    """The program waits for somebody after this: nothing is at work."""
    state: Id
    """The state that the work goes on from."""
    task: Id
    """The piece of work that it is of."""


class StatesDropped(Event):
    """Saved states were given up. Their contents go after this; what was recorded of them stays.

    One that names none, of not all, tells a run that states of an earlier run were given up which its program
    may be about to go on from.
    """

    name = "state.dropped"
    keyed_by = ("drop",)

    all: Flag = False
    """All but those that are kept."""
    by: Party
    kept: Annotated[tuple[SavedName, ...], Field(max_length=500)] = ()
    reason: Text
    states: Annotated[tuple[SavedName, ...], Field(max_length=500)] = ()
    """Those that were dropped, where it was not all."""
    upto: Position | None = None
    """Only what was saved up to there; None: all that was saved before this."""


class RuntimeAdopted(Event):
    """Somebody accepted that another runtime goes on with the run."""

    name = "runtime.adopted"

    by: Party
    reason: Text
    runtime: Runtime


# --- source stream -----------------------------------------------------------------------------


class SourceOpened(Event):
    """A source of constraints was named. Always position 1 of a source stream."""

    name = "source.opened"

    owners: tuple[Party, ...] = ()
    source: SourceId


class SourceRevised(Event):
    """The source published a new revision; what it does not name stays as it was."""

    name = "source.revised"
    version = 2

    added: tuple[Published, ...] = ()
    by: Party | None = None
    reason: Text | None = None
    revision: Id
    reworded: tuple[Published, ...] = ()
    withdrawn: tuple[Id, ...] = ()


class ConstraintWithdrawnAtSource(Event):
    """The source withdrew a constraint: no later acceptance or claim can rely on it."""

    name = "source.constraint_withdrawn"

    by: Party
    id: Id
    reason: Text


# --- review ------------------------------------------------------------------------------------


class ReviewSigned(Event):
    """A reviewer said what they think of a run up to a position."""

    name = "review.signed"

    by: Party
    hash: Sha256
    """Hash of the event at `head`."""
    head: Position
    meaning: Literal["approved", "noted", "objection", "reviewed"]
    note: Text | None = None


# --- the ledger itself -------------------------------------------------------------------------


class RunRefused(Event):
    """A run could not be read, so that nothing could be said in it. Stands in the tenant's own stream."""

    name = "ledger.run_refused"
    keyed_by = ("refusal", "run")

    code: Id
    """Code of the error that reading it raised, e.g. `chain_broken` or `schema_mismatch`."""
    found: Count | None = None
    """The version that was found, of the record's format or of the event."""
    position: Position | None = None
    """Position in the run where reading failed, where it is known."""
    run: RunId
    supported: Count | None = None
    """The newest version that the program which was asked reads."""
    what: Text


class ContentExpired(Event):
    """Contents are dropped on purpose; records that name them stay. Stands in the tenant's own stream."""

    name = "ledger.content_expired"
    keyed_by = ("expired", "prefix")

    by: Party
    """Who decided that they go."""
    classes: tuple[Id, ...] = ()
    """Classes of content that were asked for; none: every class."""
    cutoff: Instant
    """No record that was written at this time or later names them."""
    digests: tuple[Sha256, ...]
    """What the records name them by."""
    prefix: Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]$")]
    """The digit that all of the digests begin with, by which the event is found."""
    reason: Text
    run: RunId | None = None
    """The run that was asked for: nothing but its records names them. None: any."""


# --- kept for others ---------------------------------------------------------------------------


class ForeignRecorded(Event):
    """An event of an `eventsourcing` application, kept on our tables in a stream of its own."""

    name = "foreign.recorded"

    originator_version: Annotated[int, Field(ge=-MAX_INTEGER, le=MAX_INTEGER, strict=True)]
    state: Annotated[
        str,
        StringConstraints(
            strict=True, pattern=r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
        ),
    ]
    """The application's own bytes, as base64 (RFC 4648, section 4)."""
    topic: Annotated[str, StringConstraints(strict=True, max_length=1000, pattern=r"^[^\x00]*$")]


EVENT_CLASSES: tuple[type[Event], ...] = (
    RunOpened,
    RunSuspended,
    RunResumed,
    ResumeRefused,
    RunForked,
    RunRestarted,
    RunClosed,
    GoalRevised,
    PlanCommitted,
    PlanRevised,
    ConstraintAccepted,
    ConstraintWithdrawn,
    RevisionAcknowledged,
    AssumptionMade,
    AssumptionRefuted,
    ObligationOpened,
    ObligationDischarged,
    ObligationWaived,
    ObligationTransferred,
    AuthorityGranted,
    AuthorityRenewed,
    AuthorityRevoked,
    AuthorityCarved,
    AuthorityReturned,
    ObservationRecorded,
    ObservationInvalidated,
    ApprovalRequested,
    ApprovalAnswered,
    EffectIntended,
    EffectStarted,
    EffectSucceeded,
    EffectFailed,
    EffectUnknown,
    EffectReconciled,
    EffectDisputed,
    EffectCompensated,
    EffectRefused,
    CursorMoved,
    MessageRecorded,
    MessagesSummarised,
    StateSaved,
    StatePartSaved,
    StatesDropped,
    RuntimeAdopted,
    SourceOpened,
    SourceRevised,
    ConstraintWithdrawnAtSource,
    ReviewSigned,
    RunRefused,
    ContentExpired,
    ForeignRecorded,
)
"""All events, in the order of the glossary."""

EVENTS: dict[tuple[str, int], type[Event]] = {(kind.name, kind.version): kind for kind in EVENT_CLASSES}
"""The closed registry: which class reads which stored name and version."""
