"""All tools: those that read, and one for each command that an agent may use."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

from pydantic import BaseModel

from ledger.adapters.mcp import asking, reading
from ledger.adapters.mcp.desk import Desk
from ledger.adapters.mcp.offered import ENDS, ONCE, Offer, offers, why_not
from ledger.adapters.mcp.saying import RESUMED, SAID, Answer, say
from ledger.adapters.mcp.schemas import CALL_ID, Schema, read_model, schema_of, schema_of_model
from ledger.commands import COMMAND_CLASSES

Call = Callable[[Desk, Mapping[str, Any]], Awaitable[Answer]]


class Tool(NamedTuple):
    """A tool as clients see it, and what it does."""

    name: str
    title: str
    about: str
    takes: Schema
    answers: Schema
    call: Call
    reads: bool = False
    """It records nothing."""
    ends: bool = False
    """It ends something for good."""
    is_repeatable: bool = True
    """Called again with the same arguments at once, it adds nothing."""


class Reading(NamedTuple):
    """A tool that reads, as it is written down here."""

    name: str
    title: str
    about: str
    takes: type[BaseModel]
    answers: Mapping[str, Schema]
    """Members of the answer that are always there; others depend on what is asked about."""
    read: Callable[[Desk, Any], Awaitable[Answer]]


_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}
_OBJECTS: Schema = {"type": "array", "items": {"type": "object"}}
_NEXT: Schema = {"type": ["string", "integer", "null"], "description": "Give it as `after`; null: no more."}

READINGS: tuple[Reading, ...] = (
    Reading(
        "contract",
        "Contract of a run",
        "What is in force in a run, now or earlier: goal, constraints, plan, promises, authority, effects "
        "that are open. Read it before you act, and again after a refusal.",
        reading.OfRunArguments,
        {"run": _TEXT, "position": _NUMBER, "status": _TEXT, "now": _TEXT},
        reading.contract,
    ),
    Reading(
        "brief",
        "Takeover brief of a run",
        "What somebody must know who takes over a run: how it came to its goal, what was done outside, what"
        " nobody knows, what must not be relied on, what to do next.",
        reading.OfRunArguments,
        {"run": _TEXT, "position": _NUMBER, "status": _TEXT},
        reading.brief,
    ),
    Reading(
        "may",
        "May this act begin?",
        "Whether an act may begin now, and all that is against it. Nothing is recorded and nothing is done: "
        "acts are performed by programs, not here. A tool that is not `declared` is weighed as one of which "
        "nothing is known, so its program may be told more.",
        reading.MayArguments,
        {
            "run": _TEXT,
            "tool": _TEXT,
            "declared": _FLAG,
            "allowed": _FLAG,
            "done": _FLAG,
            "key": _TEXT,
            "position": _NUMBER,
            "objections": _OBJECTS,
            "recorded": _FLAG,
        },
        reading.may,
    ),
    Reading(
        "runs",
        "List runs",
        "Which runs there are, by id, a page at a time; `unread` names those that cannot be read.",
        reading.RunsArguments,
        {"runs": _OBJECTS, "unread": _OBJECTS, "next": _NEXT},
        reading.runs,
    ),
    Reading(
        "log",
        "Events of a run",
        "What happened in a run and who wrote it, in order, a page at a time.",
        reading.LogArguments,
        {"run": _TEXT, "events": _OBJECTS, "next": _NEXT},
        reading.log,
    ),
    Reading(
        "questions",
        "List the questions that have a name",
        "The questions that `ask` answers: what each answers, what it cannot tell, what it takes.",
        asking.QuestionsArguments,
        {"questions": _OBJECTS},
        asking.questions,
    ),
    Reading(
        "ask",
        "Ask a question that has a name",
        "An exact answer over all runs, as of a stated place in the ledger: who asserted what when, which "
        "rule held at an act, what is open. `questions` lists what can be asked.",
        asking.AskArguments,
        {
            "question": _TEXT,
            "as_of": _TEXT,
            "columns": _OBJECTS,
            "rows": _OBJECTS,
            "notes": {"type": "array"},
        },
        asking.answer,
    ),
    Reading(
        "verify",
        "Is the record what was written?",
        "Whether the record of a run is what was written: every byte is compared, which takes a while where "
        "it is long. It cannot show that the end was cut off, or that all was written anew.",
        reading.RunArguments,
        {"run": _TEXT, "standing": _TEXT, "events": _NUMBER, "findings": _OBJECTS},
        reading.verify,
    ),
)
"""All tools that read."""


@cache
def tools() -> Mapping[str, Tool]:
    """Return all tools by name, those that read first."""
    told = [*map(_reading, READINGS), *map(_saying, offers())]
    return {one.name: one for one in told}


def not_offered() -> dict[str, str]:
    """Return the commands that are no tools, and why."""
    reasons = {kind.name: why_not(kind) for kind in COMMAND_CLASSES}
    return {name: why for name, why in reasons.items() if why is not None}


def _reading(one: Reading) -> Tool:
    async def call(desk: Desk, given: Mapping[str, Any]) -> Answer:
        return await one.read(desk, read_model(one.takes, given))

    answers = {"type": "object", "properties": dict(one.answers), "required": sorted(one.answers)}
    return Tool(one.name, one.title, one.about, schema_of_model(one.takes), answers, call, reads=True)


def _saying(offer: Offer) -> Tool:
    name = offer.kind.name
    about, more, answers = [inspect.getdoc(offer.kind) or ""], {"call_id": CALL_ID}, SAID
    if offer.kind.report:
        about.append("A report of what happened: it is taken also while the run is held, and after its end.")
    elif offer.kind.remedy:
        about.append("Possible also while the run is held or suspended.")
    if name == "run.resume":
        more = {"dry_run": {"type": "boolean", "description": "Only tell; record nothing."}}
        answers = RESUMED
    elif name in ONCE:
        more = {}
    return Tool(
        offer.tool,
        name,
        "\n\n".join(about),
        schema_of(offer, more),
        answers,
        partial(_said, offer),
        ends=name in ENDS,
        is_repeatable=name != "run.resume",
    )


async def _said(offer: Offer, desk: Desk, given: Mapping[str, Any]) -> Answer:
    return await say(desk, offer, given)
