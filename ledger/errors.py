"""The errors of the ledger, each telling its caller what to do.

    LedgerError
    ├── InvalidInput (ValueError)      mend the input; `path` says where
    ├── NotFound (LookupError)         RunNotFound · EffectNotFound · ApprovalNotFound · HasExpired
    ├── Refused                        a rule said no; the run is as it was
    │   ├── ConstraintViolated · AuthorityExceeded · ApprovalRequired · ApprovalDenied
    │   ├── NotByRequester · NotAuthenticated · ContractChanged · OffPlan · SecretFound
    │   ├── PossibleRepeat · KeyConflict
    │   ├── NotOpen · IdInUse · StillOpen
    │   └── RunExists · RunIsHeld · RunIsClosed · EffectsDisabled · NotForAgents · NotSupported
    ├── Conflict                       someone was first: read again and decide again
    │   └── PositionConflict (StateMoved) · GuardMoved · ActKnown
    ├── Fenced                         this handle or worker has been replaced; stop
    │   └── LeaseLost · Superseded
    ├── EffectError                    an act that was begun before: ask, wait, or leave it to a person
    │   └── EffectInFlight · EffectFailed · OutcomeUnknown · AlreadyDone · ResultNotKept
    ├── StoreError
    │   ├── StoreUnavailable · StoreBusy           the same append may be repeated as it is
    │   └── SchemaMismatch · UnsafeStore · UnknownEventName · UndecodableRecord
    └── IntegrityError                 the record is not what was written; never retry
        └── ChainBroken

The class and its `data` carry the meaning; message texts are for people and may change.
"""

from __future__ import annotations

from typing import Any, ClassVar


class LedgerError(Exception):
    """Everything the ledger raises on purpose.

    `code` is stable across releases, `retryable` says whether repeating the same call may help,
    `data` holds the facts as plain values; each key can also be read as an attribute.
    """

    code: ClassVar[str] = "ledger_error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, /, **data: Any) -> None:
        super().__init__(message)
        self.data: dict[str, Any] = data
        self.__dict__.update(data)

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self.args[0], self.data)


def _revive(kind: type[LedgerError], message: str, data: dict[str, Any]) -> LedgerError:
    """Rebuild an error that crossed a process boundary."""
    return kind(message, **data)


class InvalidInput(LedgerError, ValueError):
    """The input is not what the ledger admits: mend what `path` names and call again."""

    code = "invalid_input"
    path: str
    reason: str


# --- not found ---------------------------------------------------------------------------------


class NotFound(LedgerError, LookupError):
    """What was asked for does not exist in this tenant."""

    code = "not_found"


class RunNotFound(NotFound):
    """No such run: check the id and the tenant, or open it."""

    code = "run_not_found"
    run: str


class EffectNotFound(NotFound):
    """No effect with this key in the lineage."""

    code = "effect_not_found"
    key: str


class ApprovalNotFound(NotFound):
    """No act waits for this approval: it was never asked for, its act is done, or it was asked for anew."""

    code = "approval_not_found"
    id: str


class HasExpired(NotFound):
    """The content was dropped on purpose, and what was recorded of it stays: go on without it.

    `at`, `by` and `reason` say when (as records write times), on whose decision and why; `position` is that
    of the event in the tenant's own stream. What an effect returned is not got back by doing it again.
    """

    code = "has_expired"
    digest: str
    at: str
    by: str
    reason: str
    position: int


# --- refused -----------------------------------------------------------------------------------


class Refused(LedgerError):
    """A rule said no. Repeating the same request cannot help; change it, or the contract.

    `rule` names the rule, `position` the event it rests on (None where there is none), `evidence`
    further facts as plain values.
    """

    code = "refused"
    rule: str
    position: int | None
    evidence: dict[str, Any]


class ConstraintViolated(Refused):
    """The act breaks a constraint in force; `evidence` names it, its source and who asserted it."""

    code = "constraint_violated"


class AuthorityExceeded(Refused):
    """No grant in force covers the act; ask who granted for a new or renewed one."""

    code = "authority_exceeded"


class ApprovalRequired(Refused):
    """The act waits for a person; come back with the same call once approval `id` was answered."""

    code = "approval_required"
    id: str
    key: str


class ApprovalDenied(Refused):
    """A person said no to the act; do something else, or let a person ask anew: `run.request_approval(key)`.

    It also stands until what the act was asked under is changed: terms, plan, tool or runtime.
    """

    code = "approval_denied"


class NotByRequester(Refused):
    """Who asked for an approval cannot answer it; let somebody else."""

    code = "not_by_requester"


class NotAuthenticated(Refused):
    """Only who is authenticated as the person that an answer names is heard here; see `open_ledger`.

    Nothing is recorded. Let that person sign in and answer, or let an authenticated service pass it on.
    """

    code = "not_authenticated"


class ContractChanged(Refused):
    """What the request relied on was withdrawn, reworded or revised meanwhile; read the contract again."""

    code = "contract_changed"


class OffPlan(Refused):
    """A plan is committed and does not hold this step; revise the plan or perform its steps."""

    code = "off_plan"


class SecretFound(Refused):
    """The arguments hold a secret, which the ledger never stores: pass `SecretRef(name)` in its place."""

    code = "secret_found"


class PossibleRepeat(Refused):
    """The same act was already done under another step; `evidence` names the first."""

    code = "possible_repeat"


class KeyConflict(Refused):
    """This effect key was used with other arguments."""

    code = "key_conflict"


class NotOpen(Refused):
    """What the request acts on is not open (any more); read the contract again."""

    code = "not_open"


class IdInUse(Refused):
    """This id stands for something else; choose another id, or repeat the first content exactly."""

    code = "id_in_use"


class StillOpen(Refused):
    """A run is completed once effects are settled and obligations discharged; `evidence` lists the rest."""

    code = "still_open"


class RunExists(Refused):
    """A run of this id was opened before: ask `Ledger.resume` whether it may go on, or choose another id."""

    code = "run_exists"


class RunIsHeld(Refused):
    """The run is suspended or held: only remedies and reports until `Ledger.resume` lets it go on.

    Where `evidence` names a `run`, that is one that this run is a part of: acts wait until that one goes on.
    """

    code = "run_is_held"


class RunIsClosed(Refused):
    """The run has ended: only reports are admitted; go on in another run."""

    code = "run_is_closed"


class EffectsDisabled(Refused):
    """A fork never performs; it reads recorded results only."""

    code = "effects_disabled"


class NotSupported(Refused):
    """This release knows the command and its record but does not perform it; upgrade."""

    code = "not_supported"


class NotForAgents(Refused):
    """An agent may not issue this command; a person or a service has to."""

    code = "not_for_agents"


# --- someone was first, or we were replaced ----------------------------------------------------


class Conflict(LedgerError):
    """Someone was first. Read again, decide again, append again."""

    code = "conflict"
    retryable = True


class PositionConflict(Conflict):
    """The run moved on: it stands at `actual`, the append expected `expected`."""

    code = "position_conflict"
    run: str
    expected: int
    actual: int


class StateMoved(PositionConflict):
    """What a saved state goes on from is not the newest of its line any more, or was dropped: read it again.

    `dropped` is where states were last dropped, None where they never were.
    """

    code = "state_moved"
    dropped: int | None


class GuardMoved(Conflict):
    """A source stream moved on: it stands at `actual` (None: it has no head), expected was `expected`."""

    code = "guard_moved"
    source: str
    expected: int
    actual: int | None


class ActKnown(Conflict):
    """The same act was intended before: look at what became of it and decide again.

    `act` is its digest in hex; `run` and `position` say where the newest event with it stands.
    """

    code = "act_known"
    act: str
    run: str
    position: int


class Fenced(LedgerError):
    """Another worker has taken over; this one must stop. Its reports are still admitted."""

    code = "fenced"


class LeaseLost(Fenced):
    """The lease of this attempt ended or went to another worker."""

    code = "lease_lost"


class Superseded(Fenced):
    """The run was resumed elsewhere; this handle belongs to an older incarnation."""

    code = "superseded"


# --- effects -----------------------------------------------------------------------------------


class EffectError(LedgerError):
    """An effect did not yield a result."""

    code = "effect_error"


class EffectInFlight(EffectError):
    """Another worker is executing this key; wait for it or come back."""

    code = "effect_in_flight"
    retryable = True
    key: str
    retry_after: float | None = None
    """Seconds until its lease ends, unless that is renewed; None: it took the claim a moment ago."""


class EffectFailed(EffectError):
    """The outside refused; nothing happened. `cause` is what it said, as `type: message`."""

    code = "effect_failed"
    key: str
    cause: Any


class OutcomeUnknown(EffectError):
    """Nobody knows whether the act happened: reconcile. It is never retried blindly."""

    code = "outcome_unknown"
    key: str
    retry_after: float | None
    """Seconds after which asking again may tell more; None: only a person can."""


class AlreadyDone(EffectError):
    """The act was done before, so its block was not entered; `result` is what was recorded."""

    code = "already_done"
    key: str
    result: Any


class ResultNotKept(EffectError):
    """The act was done and returned no JSON: only the name of its type and a digest are kept."""

    code = "result_not_kept"
    key: str
    type: str | None
    digest: str


# --- the store ---------------------------------------------------------------------------------


class StoreError(LedgerError):
    """The store could not do what was asked."""

    code = "store_error"


class StoreUnavailable(StoreError):
    """The database cannot be reached or answered late; the fate of an append in flight is not known.

    Repeat the same append as it is: one that was stored is recognised by its event ids. Who said something
    through a handle says it again with this error as `again`: where something was sent, `run`, `after` (the
    position before it) and `events` (its ids) name it, `earlier` the tries before, newest first.

    Where `reason` names what stays until somebody mends it, as a refused login, `retryable` is False.
    """

    code = "store_unavailable"
    retryable = True


class StoreBusy(StoreError):
    """Others keep the store busy, and none of this call was stored: back off and repeat.

    Where transactions are in the way `holders` names them: pid, database, application, state, age in seconds.
    """

    code = "store_busy"
    retryable = True


class SchemaMismatch(StoreError):
    """The database, or a record in it, is of another format than this program reads: upgrade it, or migrate.

    `found` is the number that stands there, `supported` the newest this program knows.
    """

    code = "schema_mismatch"
    found: int
    supported: int
    run: str | None = None
    """The stream whose record has that format; None: it is the database."""
    position: int | None = None


class UnsafeStore(StoreError):
    """The database is set up so that an acknowledged append could be lost; mend it or pass `unsafe=True`."""

    code = "unsafe_store"


class UnknownEventName(StoreError):
    """The record holds an event this program does not know: upgrade it. Nothing was guessed.

    `found` is the version that stands there (as `version` is), `supported` the newest of that event that this
    program reads; None: it knows none of that name.
    """

    code = "unknown_event_name"
    name: str
    version: int
    found: int
    supported: int | None
    run: str
    position: int


class UndecodableRecord(StoreError):
    """The bytes are whole (their hash matches) yet do not decode as the event they name."""

    code = "undecodable_record"
    run: str | None
    position: int | None


# --- integrity ---------------------------------------------------------------------------------


class IntegrityError(LedgerError):
    """What is stored is not what was written. No retry catches this; run `verify`."""

    code = "integrity_error"


class ChainBroken(IntegrityError):
    """The record at `position` does not match its hash, or does not follow the one before it."""

    code = "chain_broken"
    run: str
    position: int


RULES: dict[str, type[Refused]] = {
    kind.code: kind
    for kind in (
        ConstraintViolated,
        AuthorityExceeded,
        ApprovalRequired,
        ApprovalDenied,
        NotByRequester,
        NotAuthenticated,
        ContractChanged,
        OffPlan,
        SecretFound,
        PossibleRepeat,
        KeyConflict,
        NotOpen,
        IdInUse,
        StillOpen,
        RunExists,
        RunIsHeld,
        RunIsClosed,
        EffectsDisabled,
        NotForAgents,
        NotSupported,
    )
}
"""The refusals by their stable code."""

EFFECT_ERRORS: dict[str, type[EffectError]] = {
    kind.code: kind for kind in (EffectInFlight, EffectFailed, OutcomeUnknown)
}
"""What a claim may meet beside refusals, by its stable code: the act was begun before."""

UNREADABLE: tuple[type[LedgerError], ...] = (
    IntegrityError,
    SchemaMismatch,
    UndecodableRecord,
    UnknownEventName,
)
"""What reading a run may meet that only an upgrade, or a person, mends."""
