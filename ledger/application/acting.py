"""What an act takes beside the protocol: its tool and arguments, secrets, and what is recorded of it.

Whoever drives the protocol, a thread or an event loop, uses one `Doing` for each act; what it does itself
may block, and calls neither tools nor probes.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ledger import commands as c
from ledger.application.edge import Edge, worker_name
from ledger.application.heartbeats import Beat, Heartbeats
from ledger.application.looking import effect_of
from ledger.application.observing import fresh
from ledger.application.payloads import Packed, content_of, pack_report
from ledger.application.reading import contents_of
from ledger.application.refusals import refusal_error
from ledger.application.sayings import build
from ledger.application.statements import Context, Stated
from ledger.canonical import canonical_text, invalid, load_text, quote
from ledger.codec import effect_digest
from ledger.errors import InvalidInput, NotFound, StoreError
from ledger.events import EffectFailed, EffectReconciled, EffectStarted, EffectSucceeded
from ledger.gateway import protocol as p
from ledger.gateway.current import CurrentEffect
from ledger.gateway.plain import bound, hides, own, references, told
from ledger.gateway.tools import Declared, Function, Tool, declare
from ledger.record import MAX_RECORD_BYTES
from ledger.run.claims import names_of
from ledger.run.contract import Contract
from ledger.run.decide import barred
from ledger.run.history import EffectHistory
from ledger.run.keys import observation_key
from ledger.secrets import Found, Secrets, without_values
from ledger.stores import forks
from ledger.stores.base import Blob
from ledger.values import Payload, Recovery, Runtime, bind_secrets, untag_secrets
from ledger.values.secrets import Lookup

log = logging.getLogger("ledger")


class Workshop:
    """The tools of a ledger, and what all acts of it share. Threads may share it."""

    def __init__(self, edge: Edge, secrets: Secrets | None = None) -> None:
        self.edge = edge
        self.secrets = Secrets() if secrets is None else secrets
        self.tools: dict[str, Tool] = {}
        """What was registered, by name."""
        self.heartbeats = Heartbeats(edge)
        self._name = worker_name()
        self._made: dict[str, tuple[tuple[Function, Declared], Tool]] = {}
        """The last tool that a call made under a name, and of what: most calls say what the last one did."""
        self._probed: dict[str, Tool] = {}
        """The last tool of a call, by name, that said how the outside is asked."""

    @property
    def worker(self) -> str:
        """Name who claims here: this ledger, in this process."""
        return f"{self._name}/{forks.generation()}"

    @property
    def known(self) -> dict[str, Tool]:
        """All tools that are known here, by name; where calls made several, the last that can be asked."""
        made = {name: tool for name, (_, tool) in self._made.items()} | self._probed
        asked = {name: tool for name, tool in self._probed.items() if name in self.tools}
        return made | {name: _with_probe(tool, asked.get(name)) for name, tool in self.tools.items()}

    def register(self, tool: Tool) -> Tool:
        """Keep a tool, so that it is found by its name; a later one of the same name takes its place."""
        self.tools[tool.name] = tool
        return tool

    def tool(self, tool: Tool | str | Function, function: Function | None, declared: Declared) -> Tool:
        """Find or declare the tool of a call. What a call declares is of this call alone.

        Raises:
            InvalidInput: no tool of this name is known here, it is registered with another function, or
                declarations contradict each other.
        """
        if isinstance(tool, Tool):
            if function is not None:
                raise invalid("function", f"{tool.name!r} is a tool already and has its function")
            known = self.register(tool)
        elif function is not None or not isinstance(tool, str):
            return self._declared_here(tool, function, declared)
        elif tool in self.tools:
            known = self.tools[tool]
        else:
            names = ", ".join(sorted(self.tools)) or "none"
            raise invalid("tool", f"no tool {tool!r} is known here (known: {names}): give its function")
        return self._asked_by(known.with_declared(**declared)) if declared else known

    def _declared_here(self, tool: str | Function, function: Function | None, declared: Declared) -> Tool:
        """Make a tool of a function and what the call declares of it, anew where one of them is another."""
        body = tool if function is None else function
        if not callable(body):
            raise invalid("function", f"give a function, not {body!r:.50}")
        name = tool if isinstance(tool, str) else getattr(body, "__name__", None)
        said = body, declared
        made = self._made.get(name) if isinstance(name, str) else None
        if made is not None and made[0] == said and name not in self.tools:
            return made[1]
        if isinstance(body, Tool):
            found = replace(body, name=name or body.name)
            found = found.with_declared(**declared) if declared else found
        else:
            found = declare(body, name=name, **declared)
        registered = self.tools.get(found.name)
        if registered is None:
            self._made[found.name] = said, found
            return self._asked_by(found)
        if registered.function != found.function:
            raise invalid(
                "function",
                f"{found.name!r} is registered with another function: give its name alone, or the tool",
            )
        if isinstance(body, Tool):
            return self._asked_by(found)
        return self._asked_by(registered.with_declared(**declared)) if declared else registered

    def _asked_by(self, tool: Tool) -> Tool:
        """Remember how the outside is asked about the acts of a tool that is known from a call."""
        if tool.probe is not None:
            self._probed[tool.name] = tool
        return tool


def _with_probe(registered: Tool, called: Tool | None) -> Tool:
    return registered if called is None or registered.probe is not None else called


@dataclass(frozen=True, slots=True)
class Asked:
    """How a call names its act, beside tool and arguments."""

    step: str | None = None
    occurrence: str | None = None
    key: str | None = None
    repeat_reason: str | None = None
    undone_by: str | None = None
    rests_on: Sequence[str] = ()
    about: Sequence[str] = ()
    runtime: Runtime | None = None
    wait_seconds: float = 0.0
    once: bool = False


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
    claimed_at: Any = None
    """When the last claim began, on the ledger's clock."""
    heard_late: bool = False
    """The last claim was, or may have been, stored by an earlier call, which did not hear of it."""
    attempt: p.Attempt | None = None
    beat: Beat | None = None
    resolved: set[str] = field(default_factory=set, repr=False)
    """What references to secrets came to: it is replaced in all that is told of the act."""
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
            fields["external_ref"] = self.clean(fields["external_ref"])
        self.kept = None
        blobs: tuple[Blob, ...] = ()
        if report.result is not None or report.name == "value":
            fields[report.name], blobs = self.packed(report.result)
        if report.kind is c.RecordObservation:
            fields |= {
                "args_digest": hashlib.sha256(self.act.args.encode()).hexdigest(),
                "key": self.act.key,
                "observed_at": self.seen_at,
            }
        else:
            fields["key"] = self.act.key
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
        return self.workshop.secrets.redact_text(str(without_values(text, self.resolved)))

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
        edge, act = self.workshop.edge, self.act
        seen = fresh(edge, contract, act.key, act.tool.fresh_for, self.seen_at)
        refusal = None if seen is not None else barred(contract, self.context.incarnation)
        if refusal is not None:
            raise refusal_error(refusal)
        return seen

    def read(self, payload: Payload) -> Any:
        """Read what was recorded, as the type that the tool says it returns.

        Raises:
            NotFound: its content has expired.
        """
        return self._as_declared(value_of(self.workshop.edge, payload))

    def _as_declared(self, value: Any) -> Any:
        signature = self.act.tool.signature
        return value if signature is None else signature.result_read(value)

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


LARGEST_ARGS = MAX_RECORD_BYTES - 16 * 1024
"""Bytes that the arguments of an act may take in a record; the rest is for what else it holds."""

_LOOKED_THROUGH = 8
"""Attempts that are looked through for their progress."""


def value_of(edge: Edge, payload: Payload) -> Any:
    """Read the JSON value of a payload.

    Raises:
        NotFound: its content has expired.
    """
    if payload.json_text is not None:
        return load_text(payload.json_text)
    assert payload.digest is not None
    digest = bytes.fromhex(payload.digest)
    content = contents_of(edge, [digest]).get(digest)
    if content is None:
        raise NotFound(f"the content with digest {payload.digest} has expired", digest=payload.digest)
    return content_of(content)


def doing(
    workshop: Workshop,
    contract: Contract,
    context: Context,
    tool: Tool,
    args: Mapping[str, Any],
    asked: Asked,
) -> Doing:
    """Build an act from a call.

    Raises:
        InvalidInput: arguments do not fit the tool's signature, or a name is malformed; `path` says which.
    """
    if not isinstance(args, Mapping):
        raise invalid("args", f"give a mapping of arguments by name, not {args!r:.50}")
    signature = tool.signature
    if signature is None:
        raise invalid("tool", f"{tool.name!r} has no function here: register it with one")
    given = signature.bind(args)
    _check_size(given.text)
    secret = workshop.secrets.find(given.plain) or _in_names(workshop.secrets, asked)
    claim = build(
        c.ClaimEffect,
        about=tuple(asked.about),
        args=given.text,
        dedupes_for=tool.dedupes_for,
        given=asked.key,
        lease_seconds=tool.lease_seconds,
        max_attempts=1 if tool.retry is None else tool.retry.max_attempts,
        occurrence=asked.occurrence,
        probed=tool.probe is not None,
        recovery=tool.recovery,
        repeat_reason=asked.repeat_reason,
        reserved=tool.cost,
        resource=tool.resource,
        rests_on=tuple(asked.rests_on),
        settle_seconds=tool.settle_seconds,
        step=asked.step if secret is None else _redacted(workshop.secrets, asked.step),
        tool=tool.name,
        tool_schema=signature.digest,
        undone_by=asked.undone_by,
        worker=workshop.worker,
    )
    reads = tool.recovery is Recovery.READ_ONLY
    if reads and secret is not None:
        raise invalid(secret.path, f"it holds a secret ({secret.rule}): {secret.hint}")
    assert isinstance(claim, c.ClaimEffect)
    names = names_of(contract, claim)
    act = p.Act(
        tool=tool,
        key=_looked_at(tool, given.text, asked) if reads else names.key,
        args=given.text,
        values=given.values,
        claim=claim,
        is_fork=contract.fork_of is not None,
        once=asked.once,
        patience=asked.wait_seconds,
        runtime=asked.runtime,
    )
    if secret is not None or claim.about:
        where = None if secret is None else f"{secret.path} ({secret.rule}): {secret.hint}"
        context = replace(context, about=claim.about, secret=where)
    one = Doing(workshop, contract.run, act, context)
    one.resolve()
    return one


def _check_size(args: str) -> None:
    """Refuse arguments that no record could hold, in words that say what to do instead."""
    if len(args) < LARGEST_ARGS // 12:  # no character takes more bytes in a record
        return
    size = len(quote(args).encode())
    if size > LARGEST_ARGS:
        raise invalid(
            "args",
            f"they take {size:,} bytes, and a record holds {LARGEST_ARGS:,} of arguments: keep large content "
            "outside, and give its digest and where it is as arguments",
        )


def _in_names(secrets: Secrets, asked: Asked) -> Found | None:
    """Find a secret in what names an act beside its arguments."""
    names = {
        "step": asked.step,
        "occurrence": asked.occurrence,
        "key": asked.key,
        "reason": asked.repeat_reason,
    }
    found = (secrets.find(said, name) for name, said in names.items() if said is not None)
    return next((one for one in found if one is not None), None)


def _redacted(secrets: Secrets, text: Any) -> Any:
    return secrets.redact_text(text) if isinstance(text, str) else text


def _looked_at(tool: Tool, args: str, asked: Asked) -> str:
    """Name what a call looks at; what another model answers, or the same in another setting, is another."""
    if asked.runtime is not None:
        args = f"{args}\n{asked.runtime.model_dump_json(exclude_none=True)}"
    return observation_key(tool.name, args, asked.occurrence)


def asking(workshop: Workshop, run: str, context: Context, tool: Tool, known: EffectHistory) -> Doing:
    """Build what asks a tool's probe about an effect that is known from its record."""
    claim = c.ClaimEffect(args=known.args, recovery=known.recovery, tool=known.tool, worker=workshop.worker)
    act = p.Act(tool=tool, key=known.key, args=known.args, values=load_text(known.args), claim=claim)
    return Doing(workshop, run, act, context)


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
