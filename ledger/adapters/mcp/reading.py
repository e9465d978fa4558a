"""Reading runs: what is in force, what may be done, what happened."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Annotated, Any, TypeVar

import anyio.to_thread
from pydantic import ConfigDict, Field, StringConstraints

from ledger.adapters.mcp.cutting import cut, lists_of, shortened, some
from ledger.adapters.mcp.desk import Desk
from ledger.adapters.mcp.saying import Answer
from ledger.application.listing import list_runs
from ledger.canonical import invalid
from ledger.values import Count, Id, Instant, Labels, Party, Position, RunId, Value, no_such

T = TypeVar("T")

_LIMIT = 50
_MOST = 200

Limit = Annotated[int, Field(ge=1, le=_MOST)]
_SECTION = "One list of it alone, by its name; with `offset`, to read on where `left_out` says there is more."
_OFFSET = "How many items of that list to pass over."
_AT = "As it stood at this position, or at this time; else now."


class Arguments(Value):
    """What a tool that reads takes."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class OfRunArguments(Arguments):
    """What is asked about one run."""

    at: Annotated[Position | Instant | None, Field(description=_AT)] = None
    limit: Limit = 100
    """Most items of each list."""
    offset: Annotated[Count, Field(description=_OFFSET)] = 0
    run: RunId
    """Id of the run."""
    section: Annotated[Id | None, Field(description=_SECTION)] = None


class MayArguments(Arguments):
    """An act that may begin or not."""

    args: Annotated[dict[str, Any], Field(default_factory=dict)]
    """Its arguments by name."""
    occurrence: Id | None = None
    """What tells it from another act that is alike and meant to be a second one."""
    run: RunId
    """Id of the run."""
    step: Id | None = None
    """The step of the plan that it belongs to."""
    tool: Id
    """Name of the tool that would act."""


class RunsArguments(Arguments):
    """Which runs to list."""

    after: RunId | None = None
    """Runs behind this id: `next` of the page before."""
    labels: Labels | None = None
    """Labels they all have."""
    limit: Limit = _LIMIT
    """Most runs."""
    owner: Party | None = None
    """For whom they work."""
    prefix: Annotated[str, StringConstraints(max_length=200)] = ""
    """What their ids begin with."""
    status: Annotated[str | None, Field(pattern="^(closed|held|open|suspended)$")] = None
    """closed, held, open or suspended."""
    thread: Id | None = None
    """The conversation that they belong to."""


class LogArguments(Arguments):
    """Which events of a run to tell."""

    after: Count = 0
    """Begin behind this position: `next` of the page before."""
    limit: Limit = _LIMIT
    """Most events."""
    run: RunId
    """Id of the run."""


class RunArguments(Arguments):
    """One run."""

    run: RunId
    """Id of the run."""


# --- runs ------------------------------------------------------------------------------------------


async def contract(desk: Desk, asked: OfRunArguments) -> Answer:
    """Tell what is in force in a run."""
    from ledger.adapters.cli.contract_view import contract_facts

    found = await desk.awaited.contract(asked.run, asked.at)
    now = _judged_at(desk, asked.at, found.at)
    facts = {**contract_facts(found), "now": _written(now)}
    return Answer(_part(facts, asked), shortened(found.to_prompt(now), "The tool log has all of it."))


async def brief(desk: Desk, asked: OfRunArguments) -> Answer:
    """Tell what somebody must know who takes over a run."""
    found = await desk.awaited.brief(asked.run, asked.at)
    facts = found.model_dump(mode="json", exclude_none=True)
    return Answer(_part(facts, asked), shortened(found.to_markdown(), "The tool log has all of it."))


async def may(desk: Desk, asked: MayArguments) -> Answer:
    """Tell whether an act may begin, and record nothing."""
    handle = await desk.handle(asked.run)
    known = asked.tool in desk.tools
    if desk.tools and not known:
        raise invalid("tool", no_such("tool", asked.tool, sorted(desk.tools)))
    function = None if known else _undeclared
    found = await handle.may(asked.tool, asked.args, function, step=asked.step, occurrence=asked.occurrence)
    objections = [
        {"code": one.rule, "message": one.message, "evidence": dict(one.evidence), "position": one.position}
        for one in found.objections
    ]
    document = {
        "run": asked.run,
        "tool": asked.tool,
        "declared": known,
        "allowed": found.allowed,
        "done": found.done,
        "key": found.key,
        "position": found.position,
        "objections": objections,
        "recorded": False,
    }
    if found.done:
        words = "It was done already: the program would be told what was recorded."
    else:
        words = "It may begin." if found.allowed else "It may not begin."
    told = [f"- {one['code']}: {one['message']}" for one in objections]
    if not known:
        told.append(f"{asked.tool} is not declared here, so its program may be told more.")
    return Answer(document, "\n".join([words, *told, "Nothing was recorded, and nothing was done."]))


def _undeclared(**args: Any) -> None:
    """Stand for a tool of which nothing is declared here; it is never called."""


async def runs(desk: Desk, asked: RunsArguments) -> Answer:
    """List runs."""
    page, unread = await in_thread(partial(list_runs, desk.ledger, **asked.model_dump()))
    listed = [run.model_dump(mode="json", exclude_none=True) for run in page.runs]
    taken, left_out = some(listed, asked.limit)
    document = {
        "runs": taken,
        "unread": [{"run": one.run, "code": one.error.code} for one in unread],
        "next": taken[-1]["run"] if left_out else page.next,
    }
    return in_json(document)


async def log(desk: Desk, asked: LogArguments) -> Answer:
    """Tell what happened in a run."""
    from ledger.adapters.cli.log import as_json_object

    # One more than is told, to know whether there is more.
    log = desk.awaited.log(asked.run, after=asked.after, limit=asked.limit + 1)
    records = [as_json_object(record) async for record in log]
    taken, left_out = some(records, asked.limit)
    return in_json({"run": asked.run, "events": taken, "next": taken[-1]["position"] if left_out else None})


async def verify(desk: Desk, asked: RunArguments) -> Answer:
    """Compare the record of a run with what was written."""
    from ledger.adapters.cli.verdict import summary
    from ledger.application.verifying import verify as verified

    report = await in_thread(partial(verified, desk.ledger, asked.run))
    document = cut({"run": asked.run, **summary(report)}, _MOST)
    found = "".join(f"\n- {one['what']}" for one in document["findings"][:10])
    return Answer(document, f"The record of {asked.run}: {document['standing']}.{found}")


# --- shared ----------------------------------------------------------------------------------------


def _part(facts: dict[str, Any], asked: OfRunArguments) -> dict[str, Any]:
    """Cut a document, or take one list of it."""
    if asked.section is None:
        if asked.offset:
            raise invalid("offset", "it counts items of a list: name it with section")
        return cut(facts, asked.limit)
    if not isinstance(facts.get(asked.section), list):
        raise invalid("section", no_such("list", asked.section, lists_of(facts)))
    part = some(facts[asked.section], asked.limit, asked.offset)
    plain = {name: value for name, value in facts.items() if not isinstance(value, list | dict)}
    more = {"left_out": {asked.section: part.left_out}} if part.left_out else {}
    return {**plain, asked.section: part.items, **more}


def _judged_at(desk: Desk, at: int | datetime | None, recorded: datetime) -> datetime:
    """Return the moment that what only time changes is judged by."""
    if at is None:
        return desk.now()
    return at if isinstance(at, datetime) else recorded


def _written(moment: datetime) -> str:
    from ledger.values import write_time

    return write_time(moment)


def in_json(document: dict[str, Any]) -> Answer:
    """Answer with a document, as JSON for who reads words alone."""
    return Answer(document, json.dumps(document, ensure_ascii=False))


async def in_thread(function: Callable[[], T]) -> T:
    """Call what has no awaited face; who is cancelled meanwhile waits for it."""
    return await anyio.to_thread.run_sync(function)
