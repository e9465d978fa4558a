"""Tools that say something: one for each command that an agent may use."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ledger.adapters.mcp.cutting import shortened
from ledger.adapters.mcp.desk import Desk
from ledger.adapters.mcp.hushing import REDACTED, hushed, in_words
from ledger.adapters.mcp.offered import Offer
from ledger.adapters.mcp.schemas import CALL_ID, Schema, in_json, object_of, read_command
from ledger.aio.handles import AsyncRun
from ledger.application.refusals import refusal_error
from ledger.application.resuming import Resumption
from ledger.application.shared import run_id
from ledger.canonical import invalid, load_text
from ledger.commands import Command, ForkRun, OpenChild, OpenRun, ResumeRun, forbidden_to_agents
from ledger.errors import PositionConflict, RunNotFound
from ledger.gate import KINDS
from ledger.record import Record
from ledger.run.decision import Refusal
from ledger.secrets import Secrets
from ledger.values import write_time

LOOKED_BACK = 1000
"""How many of the newest events of a run are searched for a call that was made before."""

_TRIES = 16
_PREFIX = "mcp:"
_CALL_ID = re.compile(CALL_ID["pattern"])

_TEXT: Schema = {"type": "string"}
_POSITION: Schema = {"type": "integer", "minimum": 0}
_EVENT = {"run": _TEXT, "position": _POSITION, "name": _TEXT, "id": _TEXT, "at": _TEXT}
_SAID: dict[str, Schema] = {
    "run": _TEXT,
    "position": {**_POSITION, "description": "Where the statement stands in the run."},
    "repeated": {"type": "boolean", "description": "It stood there already, and nothing was added."},
    "status": {"type": "string", "description": "Of the run: open, suspended, held or closed."},
    "events": {
        "type": "array",
        "description": "What was recorded for it.",
        "items": object_of(_EVENT, _EVENT),
    },
}
SAID = object_of({**_SAID, "redacted": REDACTED}, _SAID)
"""What a tool that says something answers."""

_SOME_TEXT: Schema = {"type": ["string", "null"]}
RESUMED = object_of(
    {
        "run": _TEXT,
        "verdict": {
            "type": "string",
            "description": "continue: the run goes on, and you are at work on it; else it does not.",
        },
        "dry_run": {"type": "boolean", "description": "Nothing was recorded."},
        "position": {"type": ["integer", "null"], "description": "Where the decision stands; null: nowhere."},
        "incarnation": {"type": ["integer", "null"]},
        "status": _SOME_TEXT,
        "reasons": {
            "type": "array",
            "description": "Every reason why not, the strictest first, with the event that clears it.",
            "items": {"type": "object"},
        },
        "message": {**_SOME_TEXT, "description": "What the resume left in the history."},
        "prompt": {**_SOME_TEXT, "description": "What you have to know before anything else."},
    },
    ("run", "verdict", "dry_run", "reasons"),
)
"""What `run_resume` answers."""


class Answer(NamedTuple):
    """What a tool answers: a document, and words for models that read no documents."""

    document: dict[str, Any]
    words: str


# --- saying ----------------------------------------------------------------------------------------


async def say(desk: Desk, offer: Offer, given: Mapping[str, Any]) -> Answer:
    """Say a command to a run, as the actor of the desk.

    Raises:
        InvalidInput: an argument is missing, unknown or malformed; `path` names it.
        LedgerError: what the command comes to.
    """
    arguments = dict(given)
    run, call_id = _run(arguments.pop("run", None)), _call_id(arguments.pop("call_id", None))
    dry_run = _flag(arguments.pop("dry_run", False)) if offer.kind is ResumeRun else False
    command = read_command(offer, arguments)
    _for_agents(command)
    if isinstance(command, ResumeRun):
        return await _resume(desk, run, dry_run=dry_run)
    command, told = hushed(command, run, desk.secrets)
    answer = await _say(desk, run, command, call_id)
    return (
        answer if not told else Answer({**answer.document, "redacted": told}, answer.words + in_words(told))
    )


async def _say(desk: Desk, run: str, command: Command, call_id: str | None) -> Answer:
    if isinstance(command, OpenRun):
        return await _open(desk, run, command)
    if isinstance(command, OpenChild) and desk.runtime is not None:
        command = command.with_fields({"runtime": desk.runtime})
    handle = await desk.handle(run)
    if isinstance(command, ForkRun):
        return await _fork(desk, handle, command)
    if call_id is None:
        stated = await handle.do(command)
        records, repeated, position = stated.records, stated.repeated, stated.position
    else:
        # Side by side each would take the place of the others, and all but one would try again.
        async with desk.turn(run):
            records, repeated, position = await _once(desk, handle, command, call_id)
    status = (await handle.contract).status
    return _said(run, position, status, records, repeated=repeated)


async def _open(desk: Desk, run: str, command: OpenRun) -> Answer:
    is_there = await _is_there(desk, run)
    fields = {name: value for name, value in command.__dict__.items() if name != "runtime"}
    # Unset it is as the ledger was opened, and no model loosens that.
    fields["require_authority"] = command.require_authority or None
    handle = await desk.awaited.open_run(run, actor=desk.actor, runtime=desk.runtime, **fields)
    desk.keep(handle)
    records = [] if is_there else await _beginning(desk, run)
    words = f"{run} was opened like this before: nothing was added." if is_there else f"Opened {run}."
    return _said(run, 1, "open", records, repeated=is_there)._replace(words=f"{words} The run is open.")


async def _fork(desk: Desk, handle: AsyncRun, command: ForkRun) -> Answer:
    """Fork a run, and tell what was recorded in the fork: in the run itself nothing is."""
    is_there = await _is_there(desk, command.as_run)
    stated = await handle.do(command)
    records = [] if is_there else await _beginning(desk, command.as_run)
    status = (await handle.contract).status
    fork = command.as_run
    words = f"Opened {fork}, a fork of {handle.id} at its position {command.at}."
    if is_there:
        words = f"{fork} was forked like this before, from {handle.id}: nothing was added."
    words = f"{words} It performs nothing; {handle.id} is {status}."
    return _said(handle.id, stated.position, status, records, repeated=is_there)._replace(words=words)


async def _is_there(desk: Desk, run: str) -> bool:
    try:
        await desk.awaited.contract(run)
    except RunNotFound:
        return False
    return True


async def _beginning(desk: Desk, run: str) -> list[Record]:
    return [record async for record in desk.awaited.log(run, limit=1)]


async def _resume(desk: Desk, run: str, *, dry_run: bool) -> Answer:
    found = await desk.awaited.resume(run, actor=desk.actor, runtime=desk.runtime, dry_run=dry_run)
    if found.run is not None:
        desk.keep(found.run)
    contract = found.contract
    document = {
        "run": run,
        "verdict": found.verdict.value,
        "dry_run": dry_run,
        "position": found.position,
        "incarnation": None if contract is None else contract.incarnation,
        "status": None if contract is None else contract.status,
        "reasons": [
            {
                "kind": one.kind,
                "verdict": KINDS[one.kind].verdict.value,
                "what": one.what,
                "cleared_by": one.cleared_by,
                **({} if one.position is None else {"position": one.position}),
            }
            for one in found.reasons
        ],
        "message": found.message,
        "prompt": None
        if found.prompt is None
        else shortened(found.prompt, "The tool contract has all of it."),
    }
    return Answer(document, shortened(_verdict_words(run, found, dry_run=dry_run), "See the contract."))


def _verdict_words(run: str, found: Resumption[AsyncRun], *, dry_run: bool) -> str:
    told = " (nothing was recorded)" if dry_run else ""
    lines = [f"Verdict on {run}{told}: {found.verdict.value}"]
    lines += [f"- {one.kind}: {one.what}; cleared by {one.cleared_by}" for one in found.reasons]
    return "\n".join([*lines, *filter(None, (found.message, found.prompt))])


def _said(
    run: str, position: int, status: str, records: tuple[Record, ...] | list[Record], *, repeated: bool
) -> Answer:
    events = [
        {
            "run": record.run,
            "position": record.position,
            "name": record.name,
            "id": record.id,
            "at": write_time(record.at),
        }
        for record in records
    ]
    document = {
        "run": run,
        "position": position,
        "repeated": repeated,
        "status": status,
        "events": events,
    }
    names = ", ".join(record.name for record in records) or "nothing new"
    again = ": it stood there already" if repeated else ""
    words = f"Recorded in {run} at position {position}{again} ({names}). The run is {status}."
    return Answer(document, words)


# --- once ------------------------------------------------------------------------------------------


async def _once(
    desk: Desk, handle: AsyncRun, command: Command, call_id: str
) -> tuple[tuple[Record, ...], bool, int]:
    """Say a command unless the same call said it before: what is recorded names the call as its cause.

    It is said at the place up to which was searched, so that two of the same call cannot both be first.

    Raises:
        InvalidInput: another call of this actor had this name.
        PositionConflict: others wrote to the run, again and again.
    """
    cause = f"{_PREFIX}{call_id}:{_digest(command, desk.secrets)}"
    for attempt in range(_TRIES):
        contract = await handle.contract
        after = max(0, contract.position - LOOKED_BACK)
        records = [one async for one in desk.awaited.log(handle.id, after=after)]
        found = _by_cause(desk, records, call_id, cause)
        if found:
            return found, True, found[-1].position
        try:
            place = records[-1].position if records else contract.position
            stated = await handle.do(command, expected=place, causation=cause)
        except PositionConflict:
            if attempt + 1 == _TRIES:
                raise
        else:
            return stated.records, stated.repeated, stated.position
    raise AssertionError("the last try returns or raises")


def _by_cause(desk: Desk, records: list[Record], call_id: str, cause: str) -> tuple[Record, ...]:
    mine = tuple(
        record
        for record in records
        if record.actor.id == desk.actor.id and (record.causation or "").startswith(f"{_PREFIX}{call_id}:")
    )
    if any(record.causation != cause for record in mine):
        raise invalid("call_id", f"{call_id!r} names another call, at position {mine[0].position}")
    return mine


def _digest(command: Command, secrets: Secrets) -> str:
    """Digest what a command says; not its secrets, of which there may be few enough to be tried."""
    said = command.model_dump(mode="json")
    for name, as_payload in in_json(type(command)).items():
        text = said[name]["json_text"] if as_payload and said[name] is not None else said[name]
        said[name] = None if text is None else load_text(text)
    text = json.dumps([command.name, secrets.redact(said)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# --- arguments that are no fields ------------------------------------------------------------------


def _run(given: Any) -> str:
    if given is None:
        raise invalid("run", "it is missing: name the run")
    return run_id(given)


def _call_id(given: Any) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or len(given) > CALL_ID["maxLength"] or not _CALL_ID.fullmatch(given):
        raise invalid("call_id", "give 1 to 100 of the characters A-Z a-z 0-9 . _ -")
    return given


def _flag(given: Any) -> bool:
    if given is None:
        return False
    if not isinstance(given, bool):
        raise invalid("dry_run", f"give true or false, not {given!r:.50}")
    return given


def _for_agents(command: Command) -> None:
    """Refuse what no agent may say, whoever the actor is.

    Raises:
        NotForAgents: always, where it is so.
    """
    if forbidden_to_agents(command):
        said = f"{command.name} as it is said here is for people and services: nobody says it over MCP"
        raise refusal_error(Refusal("not_for_agents", said, evidence={"command": command.name}))
