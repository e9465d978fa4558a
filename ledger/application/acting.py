"""What an act takes beside the protocol: its tool and arguments, secrets, and what is recorded of it.

Whoever drives the protocol, a thread or an event loop, uses one `Doing` for each act; what it does itself
may block, and calls neither tools nor probes.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ledger import commands as c
from ledger.application.edge import Edge
from ledger.application.expired import gone
from ledger.application.heartbeats import Beat
from ledger.application.kinds import load_contract
from ledger.application.looking import effect_of, renewed_until
from ledger.application.observing import fresh
from ledger.application.payloads import Packed, content_of, pack_report
from ledger.application.reading import contents_of
from ledger.application.refusals import refusal_error
from ledger.application.statements import Context, Stated
from ledger.application.workshop import Workshop, undeclared
from ledger.canonical import canonical_text, load_text
from ledger.codec import effect_digest
from ledger.errors import InvalidInput, StoreError
from ledger.events import EffectFailed, EffectReconciled, EffectStarted, EffectSucceeded
from ledger.gateway import protocol as p
from ledger.gateway.current import CurrentEffect
from ledger.gateway.plain import bound, hides, own, references, told
from ledger.run.contract import Contract
from ledger.run.decide import barred
from ledger.run.history import EffectHistory
from ledger.run.permission import Objection, Permission
from ledger.run.resending import against_sending
from ledger.run.rules import names_tool
from ledger.secrets import without_values
from ledger.stores.base import Blob
from ledger.values import Payload, Recovery, bind_secrets, untag_secrets
from ledger.values.secrets import Lookup

log = logging.getLogger("ledger")


@dataclass(slots=True)
class Doing:
    """One act on its way through the protocol."""

    workshop: Workshop
    run: str
    act: p.Act
    context: Context
    began: float = field(default_factory=time.monotonic)
    """When the last claim, or read, began, on the monotonic clock."""
    seen_at: Any = None
    """When it began, on the ledger's clock."""
    asked_at: Any = None
    """When the probe was asked last, by the clock of leases."""
    claimed_at: Any = None
    """When the last claim began, on the ledger's clock."""
    heard_late: bool = False
    """The last claim was, or may have been, stored by an earlier call, which did not hear of it."""
    attempt: p.Attempt | None = None
    is_ruled: bool | None = None
    """A rule names the tool, as the contract was last seen; None: nobody has looked."""
    beat: Beat | None = None
    resolved: set[str] = field(default_factory=set, repr=False)
    """What references to secrets came to: it is replaced in all that is told of the act."""
    forgets: float | None = None
    """When the outside may forget the key of what is sent again, on the monotonic clock; None: never."""
    kept: str | None = None
    """JSON of the last result that was reported, where all of it is kept."""

    def __post_init__(self) -> None:
        self.act = replace(self.act, clean=self.clean)

    # --- what is said ----------------------------------------------------------------------------

    def claiming(self) -> tuple[c.Command, Context]:
        """Return what to say to claim the next attempt."""
        self.began = time.monotonic()
        self.claimed_at = self.workshop.edge.now()
        return self.act.claim, self.context

    def claimed(self, stated: Stated) -> p.Attempt | None:
        """Return the attempt that a claim came to; None where the act was done."""
        for record in stated.records:
            if isinstance(record.event, EffectStarted):
                # The record's time may run ahead of this clock; then it does not tell when this was claimed.
                self.heard_late = not self.claimed_at <= record.at <= self.workshop.edge.now()
                self.attempt = p.Attempt(record.event.attempt, record.event.lease_until)
                return self.attempt
        return None

    def reporting(self, report: p.Report) -> tuple[c.Command, Context]:
        """Return what to say to report what happened, in a shape that can be stored."""
        fields = dict(report.fields)
        if isinstance(fields.get("external_ref"), str):
            # It is an id and no words: the outside knows the act by it.
            fields["external_ref"] = self._without_secrets(fields["external_ref"])
        self.kept = None
        blobs: tuple[Blob, ...] = ()
        if report.result is not None or report.name == "value":
            fields[report.name], blobs = self.packed(report.result)
        if report.kind is c.RecordObservation:
            fields |= {
                "args": self.act.args if len(self.act.args.encode()) <= _ARGS_BYTES else None,
                "args_digest": hashlib.sha256(self.act.args.encode()).hexdigest(),
                "key": self.act.key,
                "observed_at": self.seen_at,
            }
        else:
            fields["key"] = self.act.key
        if report.kind is c.ReconcileEffect:
            fields["asked_at"] = self.asked_at
        context = self.context
        if blobs or context.secret is not None:
            context = replace(context, blobs=blobs, secret=None)
        return _built(report.kind, fields), context

    def packed(self, value: Any) -> Packed:
        """Pack what a tool returned: as its own type writes it, and without secrets."""
        signature = self.act.tool.signature
        written = value
        if signature is not None:
            try:
                written = signature.result_written(value)
            except Exception as error:  # noqa: BLE001  it is no instance of what it says it returns
                said = self.clean(str(error))
                log.warning("the result of %s is not of its declared type: %s", self.act.tool.name, said)
        written = told(written)
        kept = self._without_secrets(written)
        if kept is not written:
            log.warning("a secret in what %s returned is recorded as redacted", self.act.tool.name)
        packed = pack_report(kept, "result")
        if kept is written and packed.payload.type is None and not hides(value):
            text = packed.payload.json_text
            self.kept = packed.blobs[0].content.decode() if text is None else text
        return packed

    def again(self, value: Any) -> Any:
        """Return what was just reported as a repeat reads it; where not all of it is kept, as it is."""
        return value if self.kept is None else self._as_declared(load_text(self.kept))

    def clean(self, text: str) -> str:
        """Replace the secrets in a text."""
        return self.workshop.secrets.redact_words(str(without_values(text, self.resolved)))

    def _without_secrets(self, value: Any) -> Any:
        return self.workshop.secrets.redact(without_values(value, self.resolved))

    # --- what is read ----------------------------------------------------------------------------

    def look(self) -> EffectHistory | None:
        """Read the history of the effect."""
        return effect_of(self.workshop.edge, self.act.key)

    def see(self, contract: Contract) -> Payload | None:
        """Return the observation under the act's key while it is fresh.

        Raises:
            Superseded, RunIsClosed, RunIsHeld: there is none, and the outside must not be asked now.
        """
        self.seen_at = self.workshop.edge.now()
        self.note_rules(contract)
        edge, act = self.workshop.edge, self.act
        seen = fresh(edge, contract, act.key, act.tool.fresh_for, self.seen_at)
        refusal = None if seen is not None else barred(contract, self.context.incarnation)
        if refusal is not None:
            raise refusal_error(refusal)
        return seen

    def permitted(self, found: Permission, contract: Contract) -> Permission:
        """Say whether the tool is declared here, and of a look whether what was seen is fresh.

        If it is, nothing is asked outside.
        """
        if self.act.tool.function is undeclared:
            return found._replace(declared=False)
        if self.act.tool.recovery is not Recovery.READ_ONLY:
            return found
        edge, act = self.workshop.edge, self.act
        found = found._replace(key=act.key)
        if fresh(edge, contract, act.key, act.tool.fresh_for, edge.now()) is not None:
            return found._replace(allowed=False, done=True, objections=())
        if not self.act.is_fork:
            return found
        reason = f"a fork performs nothing, and no answer of {act.tool.name!r} is recorded and fresh"
        missing = Objection("effects_disabled", reason, None, {"tool": act.tool.name})
        # The call asks no rule on a fork: only what bars the run itself is told before.
        first = 0 if barred(contract, self.context.incarnation) is None else 1
        others = found.objections
        return found._replace(allowed=False, objections=(*others[:first], missing, *others[first:]))

    def note_rules(self, contract: Contract) -> None:
        """Note whether a rule names the tool: then it is decided whether the outside may be looked at."""
        name = self.act.tool.name
        self.is_ruled = any(
            one.rule is not None and names_tool(one.rule, name) for one in contract.constraints
        )

    def read(self, payload: Payload) -> Any:
        """Read what was recorded, as the type that the tool says it returns.

        Raises:
            HasExpired: its content was dropped on purpose.
            NotFound: its content is not here.
        """
        return self._as_declared(value_of(self.workshop.edge, payload))

    def _as_declared(self, value: Any) -> Any:
        signature = self.act.tool.signature
        return value if signature is None else signature.result_read(value)

    def weigh(self) -> p.Moment:
        """Read what is known of the effect, what forbids it, and what time it is by the clock of leases."""
        edge, known = self.workshop.edge, self.look()
        now = edge.lease_now(edge.now())
        contract = None if known is None else load_contract(edge, self.run).state
        if known is None or contract is None:
            return p.Moment(known, now, renewed_until(edge, known, now))
        against = against_sending(contract, known, edge.now())
        return p.Moment(known, now, renewed_until(edge, known, now), against)

    # --- the call --------------------------------------------------------------------------------

    def begin(self, attempt: p.Attempt) -> CurrentEffect | None:
        """Return the effect as the tool sees it, its lease kept alive; None where that has ended already.

        It reads the store only from the second attempt on, or where the claim was `heard_late`.
        """
        act = self.act
        effect = CurrentEffect(act.key, attempt.number, act.tool.name, attempt.lease_until)
        if attempt.lease_until is None:
            self.seen_at = self.workshop.edge.now()
            return effect
        if attempt.number > 1:
            effect.last_progress = self._last_progress(attempt.number - 1)
        self.beat = Beat(effect, attempt, act.claim.worker, float(act.claim.lease_seconds), self.began)
        if self.beat.is_over or (self.heard_late and not self.is_held()) or self._is_cut_short(attempt):
            return None
        self.workshop.heartbeats.begin(self.beat)
        return effect

    def begin_again(self, resend: p.Resend) -> CurrentEffect | None:
        """Return the effect as the tool sees it that sends its request again; None where time is over.

        It holds no lease, so there is none to renew: it may go on until the outside may forget the key.
        """
        effect = CurrentEffect(self.act.key, resend.attempt, self.act.tool.name, resend.until)
        effect.last_progress = self._last_progress(resend.attempt)
        began, edge = time.monotonic(), self.workshop.edge
        if resend.until is not None:
            left = (resend.until - edge.lease_now(edge.now())).total_seconds()
            self.forgets = began + left
            effect.ends_when(self.is_forgotten)
        return None if self.is_forgotten() else effect

    def is_forgotten(self) -> bool:
        """Tell whether the outside may have forgotten the key of what is sent again."""
        return self.forgets is not None and time.monotonic() >= self.forgets

    def progress(self, value: Any) -> None:
        """Renew the lease, and keep how far the tool says it is."""
        self.renew(self.progress_text(value))

    def progress_text(self, value: Any) -> str | None:
        """Write progress as it is kept; None where nothing was said.

        Raises:
            InvalidInput: the value is not JSON.
        """
        return None if value is None else canonical_text(self._without_secrets(value), path="progress")

    def renew(self, progress: str | None) -> None:
        """Renew the lease, and keep this progress; what is only read has none."""
        if self.beat is not None:
            self.workshop.heartbeats.renew(self.beat, progress)

    def end(self) -> None:
        """Renew its lease no more."""
        if self.beat is not None:
            self.workshop.heartbeats.end(self.beat)

    def settles(self, stated: Stated) -> bool:
        """Tell whether a report settled the effect, so that renewals are to be forgotten.

        What is open keeps them: a later attempt may read how far this one came.
        """
        renewed = self.beat is not None and self.beat.renewed
        for record in stated.records:
            if isinstance(record.event, EffectReconciled):
                return record.event.found != "unknown"
            if renewed and isinstance(record.event, EffectSucceeded | EffectFailed):
                return True
        return False

    def settled(self) -> None:
        """Forget what was renewed."""
        self.workshop.heartbeats.forget(self.act.key)

    def called_with(self, effect: CurrentEffect) -> Mapping[str, Any]:
        """Return what to call the function with: its own copy, which it may change."""
        lookup = self._lookup
        values = own(self.act.values if lookup is None else bound(self.act.values, lookup))
        signature = self.act.tool.signature
        wants = signature is not None and signature.wants_effect
        return {**values, "effect": effect} if wants else values

    def asks(self) -> None:
        """Note when the probe is asked: what it answers is so of then, however late it is recorded."""
        edge = self.workshop.edge
        self.asked_at = edge.lease_now(edge.now())

    def asked_with(self) -> tuple[str, Any]:
        """Return what to call the probe with: the key, and all arguments as JSON values."""
        args = untag_secrets(load_text(self.act.args))
        signature = self.act.tool.signature
        full, lookup = args if signature is None else signature.in_full(args), self._lookup
        return self.act.key, full if lookup is None else bind_secrets(full, lookup)

    @property
    def _lookup(self) -> Lookup | None:
        """What finds secrets, and remembers them for as long as the act takes."""
        lookup = self.workshop.secrets.lookup
        if lookup is None:
            return None

        def remembered(name: str) -> str:
            value = lookup(name)
            if isinstance(value, str):
                self.resolved.add(value)
            return value

        return remembered

    def take_arguments(self) -> None:
        """Take what the tool is called with from the record, as from a call.

        Raises:
            InvalidInput: it does not fit the tool's signature as it is now, or becomes something else by it;
                or a secret is not there.
        """
        args, signature = untag_secrets(load_text(self.act.args)), self.act.tool.signature
        assert signature is not None, "only what has a function is called"
        self.act = replace(self.act, values=signature.bind(args, recorded=True).values)
        self.resolve()

    def resolve(self) -> None:
        """Make sure, before anything is said, that the secrets that its arguments refer to are there.

        Raises:
            InvalidInput: one is not.
        """
        lookup = self._lookup
        if lookup is not None:
            for reference in references(self.act.values):
                reference.bound_to(lookup).resolve()

    def is_held(self) -> bool:
        """Tell whether the lease holds, however long ago it was granted: it can be renewed."""
        assert self.beat is not None
        try:
            self.workshop.heartbeats.renew(self.beat)
        except StoreError as error:
            log.warning("a claim that was heard late is not begun on: %s", error)
            return False
        return not self.beat.effect.is_lost

    def _is_cut_short(self, attempt: p.Attempt) -> bool:
        """Tell whether a lease has ended that was granted for less than it was asked for.

        That of a later attempt ends before the outside may have forgotten the key.
        """
        if attempt.number == 1 or attempt.lease_until is None:
            return False
        edge = self.workshop.edge
        try:
            return attempt.lease_until <= edge.lease_now(edge.now())
        except StoreError as error:
            log.warning("attempt %s is not begun on: %s", attempt.number, error)
            return True

    def _last_progress(self, attempt: int) -> Any:
        """Read what the last of the attempts up to this one reported, among the last few."""
        edge, key = self.workshop.edge, effect_digest(self.act.key)
        for number in range(attempt, max(0, attempt - _LOOKED_THROUGH), -1):
            try:
                lease = edge.store.lease(edge.tenant, key, number)
            except StoreError:
                return None  # it is a help, and nothing that is relied on
            if lease is not None and lease.progress is not None:
                return load_text(lease.progress)
        return None


_ARGS_BYTES = 16 * 1024
"""Size of the longest arguments that are recorded with an observation; of longer ones only the digest is."""

_LOOKED_THROUGH = 8
"""Attempts that are looked through for their progress."""


def value_of(edge: Edge, payload: Payload) -> Any:
    """Read the JSON value of a payload.

    Raises:
        HasExpired: its content was dropped on purpose.
        NotFound: its content is not here.
    """
    if payload.json_text is not None:
        return load_text(payload.json_text)
    assert payload.digest is not None
    digest = bytes.fromhex(payload.digest)
    content = contents_of(edge, [digest]).get(digest)
    if content is None:
        raise gone(edge, digest)
    return content_of(content)


def _built(kind: type[c.Command], fields: dict[str, Any]) -> c.Command:
    """Build a report; what of it no event can hold is left out, since the fact is not to be lost by it."""
    while True:
        try:
            return kind(**fields)
        except InvalidInput as fault:
            name = fault.path.partition(".")[0].partition("[")[0]
            if name not in ("external_ref", "cost"):
                raise
            log.warning("%s is not recorded with %s: %s", name, kind.name, fault)
            fields = {key: value for key, value in fields.items() if key != name}
