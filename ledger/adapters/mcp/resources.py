"""What clients read by its address: runs, contracts, briefs and logs, under `ledger://`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote_to_bytes

from ledger.adapters.mcp import asking, reading
from ledger.adapters.mcp.desk import Desk
from ledger.adapters.mcp.saying import Answer
from ledger.adapters.mcp.schemas import read_model
from ledger.canonical import invalid

JSON, MARKDOWN = "application/json", "text/markdown"
RUNS, QUESTIONS = "ledger://runs", "ledger://questions"
OF_A_RUN: Mapping[str, str] = {
    "contract": "What is in force: as JSON, and in words for a model.",
    "brief": "What somebody must know who takes it over: as JSON, and in words.",
    "log": "What happened, a page at a time.",
}
TEMPLATES: Mapping[str, str] = {
    "contract": "ledger://runs/{run}/contract",
    "brief": "ledger://runs/{run}/brief",
    "log": "ledger://runs/{run}/log{?after}",
}
"""By what is told of a run, the template of its address (RFC 6570): the id is percent-encoded."""

_ADDRESS = re.compile(r"ledger://runs/([^/?#]+)/(contract|brief|log)(?:\?([^#]*))?")


class Content(NamedTuple):
    """What stands at an address, in one form."""

    mime_type: str
    text: str


def address(run: str, what: str) -> str:
    """Return the address of what is told of a run."""
    return f"ledger://runs/{quote(run, safe='')}/{what}"


async def read(desk: Desk, uri: str) -> list[Content]:
    """Read what stands at an address.

    Raises:
        InvalidInput: nothing can stand there.
        RunNotFound: no such run was opened.
    """
    if uri == RUNS:
        return _in_json(await reading.runs(desk, read_model(reading.RunsArguments, {})))
    if uri == QUESTIONS:
        return _in_json(await asking.questions(desk, read_model(asking.QuestionsArguments, {})))
    found = _ADDRESS.fullmatch(uri)
    if found is None:
        known = ", ".join((RUNS, QUESTIONS, *TEMPLATES.values()))
        raise invalid("uri", f"nothing stands at {uri!r:.200}; known are {known}")
    run, what, query = _decoded(found[1]), found[2], found[3]
    more = _query(query or "", ("after",) if what == "log" else ())
    if what == "log":
        return _in_json(await reading.log(desk, read_model(reading.LogArguments, {"run": run, **more})))
    asked = read_model(reading.OfRunArguments, {"run": run})
    answer = await (reading.contract if what == "contract" else reading.brief)(desk, asked)
    return [*_in_json(answer), Content(MARKDOWN, answer.words)]


def _decoded(text: str) -> str:
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise invalid("uri", "the id of the run is no percent-encoded UTF-8") from None


def _query(text: str, known: tuple[str, ...]) -> dict[str, Any]:
    pairs = parse_qsl(text, keep_blank_values=True)
    given = dict(pairs)
    if len(given) < len(pairs):
        raise invalid("uri", "a part of the query is given more than once")
    for name, value in given.items():
        if name not in known or not (value.isascii() and value.isdecimal() and len(value) < 16):
            raise invalid("uri", f"{name!r:.60} is not taken here" if name not in known else f"{name}=N")
    return {name: int(value) for name, value in given.items()}


def _in_json(answer: Answer) -> list[Content]:
    return [Content(JSON, json.dumps(answer.document, ensure_ascii=False))]
