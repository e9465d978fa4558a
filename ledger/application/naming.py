"""How a call becomes an act: by its tool and arguments, and what names it beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ledger import commands as c
from ledger.application.acting import Doing
from ledger.application.sayings import build
from ledger.application.statements import Context
from ledger.application.workshop import Workshop
from ledger.canonical import canonical_text, invalid, load_text, quote
from ledger.errors import InvalidInput
from ledger.gateway import protocol as p
from ledger.gateway.signatures import Bound
from ledger.gateway.tools import Tool
from ledger.record import MAX_RECORD_BYTES
from ledger.run.claims import names_of
from ledger.run.contract import Contract
from ledger.run.history import EffectHistory
from ledger.run.keys import observation_key
from ledger.secrets import Found, Secrets
from ledger.values import Recovery, Runtime, tag_secrets

LARGEST_ARGS = MAX_RECORD_BYTES - 16 * 1024
"""Bytes that the arguments of an act may take in a record; the rest is for what else it holds."""


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
    reads = tool.recovery is Recovery.READ_ONLY
    if not reads:
        # Of what only looks, long arguments are recorded as a digest: a model is asked with all there was.
        _check_size(given.text)
    secret = workshop.secrets.find(given.plain) or _in_names(workshop.secrets, asked)
    claim = _claim(workshop, tool, given, asked, secret)
    if reads and secret is not None:
        raise invalid(secret.path, f"it holds a secret ({secret.rule}): {secret.hint}")
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


def _claim(workshop: Workshop, tool: Tool, given: Bound, asked: Asked, secret: Found | None) -> c.ClaimEffect:
    claim = build(
        c.ClaimEffect,
        about=tuple(asked.about),
        approval_seconds=tool.approval_seconds,
        args=given.text,
        args_in_full=in_full(workshop.secrets, given),
        dedupes_for=tool.dedupes_for,
        given=asked.key,
        lease_seconds=tool.lease_seconds,
        max_attempts=1 if tool.retry is None else tool.retry.max_attempts,
        needs_approval=tool.needs_approval,
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
        tool_schema=tool.digest,
        undone_by=asked.undone_by,
        worker=workshop.worker,
    )
    assert isinstance(claim, c.ClaimEffect)
    return claim


def in_full(secrets: Secrets, given: Bound) -> str | None:
    """Write the arguments with what was left out because the tool declares it by default; None: nothing was.

    It has no part in what names the act, but rules are held against it. A secret in what is declared is
    replaced: nobody gave it, so there is nobody to refuse.
    """
    if not given.more:
        return None
    full = canonical_text(tag_secrets({**given.plain, **secrets.redact(given.more)}))
    return None if full == given.text else full


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


def asking(
    workshop: Workshop, contract: Contract, context: Context, tool: Tool, known: EffectHistory
) -> Doing:
    """Build what finds out about an effect that is known from its record: by its probe, or sent again."""
    claim = c.ClaimEffect(args=known.args, recovery=known.recovery, tool=known.tool, worker=workshop.worker)
    act = p.Act(
        tool=tool,
        key=known.key,
        args=known.args,
        values=load_text(known.args),
        claim=claim,
        is_fork=contract.fork_of is not None,
        unsendable=_unsendable(workshop, contract, tool),
    )
    one = Doing(workshop, contract.run, act, context)
    if act.unsendable is None:
        try:
            one.take_arguments()
        except InvalidInput as fault:
            one.act = replace(one.act, unsendable=f"its arguments cannot be used here: {fault}")
    return one


def _unsendable(workshop: Workshop, contract: Contract, tool: Tool) -> str | None:
    """Say why the acts of a tool are not sent again from here, whatever is recorded of them.

    What a call made is of that call: its function may hold what its arguments do not say.
    """
    if contract.fork_of is not None:
        return f"{contract.run!r} is a fork, which performs nothing"
    registered = workshop.tools.get(tool.name)
    if registered is None or registered.function is None:
        return f"{tool.name!r} is not registered here with its function"
    if registered.recovery is not Recovery.IDEMPOTENT:
        return f"{tool.name!r} is {registered.recovery.value}, which is not sent again"
    return None
