"""Questions that have a name, and their answers."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from ledger.adapters.mcp.cutting import some
from ledger.adapters.mcp.desk import Desk
from ledger.adapters.mcp.reading import Arguments, Limit, in_json, in_thread
from ledger.adapters.mcp.saying import Answer
from ledger.canonical import invalid
from ledger.values import Count, Id, no_such


class AskArguments(Arguments):
    """A question, and what it is asked about."""

    as_of: Annotated[str | None, Field(pattern=r"^[0-9]{1,19}$")] = None
    """A global position, as `as_of` of an answer: what the ledger said then. It counts
    the events of all tenants."""
    limit: Limit = 100
    """Most rows."""
    offset: Count = 0
    """How many rows to pass over; with `as_of` of the first answer the rows stay the same."""
    parameters: Annotated[dict[str, str | int], Field(default_factory=dict)]
    """The parameters of the question by name; a time as 2026-01-31T09:15:00Z."""
    question: Id
    """Its name, as `questions` lists it."""


class QuestionsArguments(Arguments):
    """Which questions to tell of."""

    question: Id | None = None
    """One alone, by its name, with what its columns mean."""


async def questions(desk: Desk, asked: QuestionsArguments) -> Answer:
    """List the questions: what each answers, cannot tell, and takes."""
    from ledger.adapters.cli.ask_view import question_document
    from projections.questions.catalogue import QUESTIONS, question_named

    # The example is a command line, and the columns are told with each answer, too.
    untold = {"columns", "example"} if asked.question is None else {"example"}
    named = QUESTIONS.values() if asked.question is None else [question_named(asked.question)]
    told = [
        {name: value for name, value in question_document(one).items() if name not in untold} for one in named
    ]
    return in_json({"questions": told})


async def answer(desk: Desk, asked: AskArguments) -> Answer:
    """Answer a question."""
    from ledger.adapters.cli.ask_view import answer_document
    from projections.asking import ask
    from projections.questions.catalogue import question_named

    question = question_named(asked.question)
    times = {one.name for one in question.parameters if one.kind == "time"}
    given: dict[str, Any] = {
        name: _time(name, value) if name in times else value for name, value in asked.parameters.items()
    }
    as_of = None if asked.as_of is None else int(asked.as_of)
    for own in {"as_of", "now", "catch_up", "progress"} & given.keys():
        raise invalid(
            f"parameters.{own}", no_such("parameter", own, [one.name for one in question.parameters])
        )
    # It is not left behind by a caller that goes away: it moves read models on.
    found = await in_thread(partial(ask, desk.ledger, question, as_of=as_of, **given))
    document = answer_document(found)
    rows = some(document["rows"], asked.limit, asked.offset)
    left_out = {"left_out": {"rows": rows.left_out}} if rows.left_out else {}
    return in_json({**document, "rows": rows.items, "left_out_runs": list(found.left_out), **left_out})


def _time(name: str, given: Any) -> datetime:
    from ledger.values import utc

    try:
        return utc(datetime.fromisoformat(given))
    except (TypeError, ValueError, OverflowError):
        raise invalid(f"parameters.{name}", "give a time with its zone, as 2026-01-31T09:15:00Z") from None
