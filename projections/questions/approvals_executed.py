"""What was approved, against what was done."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, NamedTuple

from projections.questions.approvals_asked import ASKED_AGAIN, BEGUN, COUNTING, REPLACED, Runtimes, same
from projections.questions.approvals_bound import Bindings
from projections.questions.base import PERIOD, SOME_RUN, AnswerColumn, Asked, Question, Row
from projections.questions.placing import in_place, within

_REQUESTS = f"""
    SELECT r.run, r.position, r.at, r.id, r.key, r.tool_schema, r.runtime_digest, r.terms_digest,
        i.tool, i.args, a.answer, a.by, a.at, a.position
    FROM {{approvals.requests}} AS r
    LEFT JOIN {{effects.intents}} AS i ON i.run = r.run AND i.position = (
        SELECT MAX(n.position) FROM {{effects.intents}} AS n
        WHERE n.key = r.key AND n.run || '' = r.run AND n.position < r.position
    )
    LEFT JOIN {{approvals.answers}} AS a ON a.run = r.run AND a.position = ({COUNTING})
    WHERE %s
"""

# An intent that another attempt took the place of before it began was not what began.
_ACTS = f"""
    SELECT r.run, r.position, i.position, i.key, i.tool, i.args, i.tool_schema, i.terms_digest,
        i.approval, s.position, s.at
    FROM {{approvals.requests}} AS r
    CROSS JOIN {{effects.intents}} AS i
    CROSS JOIN {{effects.steps}} AS s
    WHERE %s AND %s AND s.run = i.run AND s.position = ({BEGUN}) AND s.position > r.position
        AND NOT EXISTS (
            SELECT 1 FROM {{effects.intents}} AS n
            WHERE n.key = i.key AND n.run || '' = i.run
                AND n.position > i.position AND n.position < s.position
        )
        AND s.position < COALESCE(({ASKED_AGAIN}), s.position + 1)
"""

# What cites no request is on the last one about its key.
_SILENT = f"""{_ACTS}
        AND s.position < COALESCE(({REPLACED}), s.position + 1)
"""


class ApprovedAgainstExecuted(Question):
    """Arguments that were approved against those that were executed."""

    name = "approved-against-executed"
    group = "Approvals"
    about = (
        "Every request for an approval with the arguments it asked about, against those of each act that "
        "then began on it, and whether terms, tool and runtime were still those it was asked under."
    )
    cannot = (
        "Whether the person was shown those arguments; an act under a key that nobody intended in the run "
        "before asking has arguments that nothing tells. Whether an approval that no act began on binds "
        "still: `intent-ledger approvals --all` tells."
    )
    parameters = (SOME_RUN, *PERIOD)
    columns = (
        AnswerColumn("run", "The run that asked."),
        AnswerColumn("position", "Where in the run it asked."),
        AnswerColumn("at", "When it asked; `since` and `before` go by this time."),
        AnswerColumn("approval", "The request, by its id in the run."),
        AnswerColumn("key", "The key of the act it asked about."),
        AnswerColumn("tool", "The tool of that act."),
        AnswerColumn("answer", "`approved` or `denied`: the answer that counts; empty: there is none."),
        AnswerColumn("answered_by", "Who is said to have answered so."),
        AnswerColumn("answered_at", "When."),
        AnswerColumn(
            "bound",
            "1: terms, plan and runtime were then those it was asked under; 0: it counts, and lets nothing "
            "begin unless they are so again; empty: no answer counts.",
        ),
        AnswerColumn("approved_args", "The arguments under the key when it asked, as JSON."),
        AnswerColumn("executed", "1: an act began on it; 0: none did."),
        AnswerColumn("executed_args", "The arguments of that act, as JSON."),
        AnswerColumn("same", "1: tool and arguments are the same, byte for byte; 0: they are not."),
        AnswerColumn("executed_tool", "The tool of the act that began."),
        AnswerColumn("executed_key", "Its key."),
        AnswerColumn("executed_position", "Where it was intended."),
        AnswerColumn("executed_at", "When it began."),
        AnswerColumn("cited", "1: the act cites the approval; 0: it only has the key that was asked about."),
        AnswerColumn("terms_same", "1: the terms were those it was asked under; 0: they were not."),
        AnswerColumn("tool_same", "1: so was the digest of the tool's schema; empty: none was asked under."),
        AnswerColumn("runtime_same", "1: so was the runtime; empty: it is not told of both."),
    )
    example = "run=refund-17"
    uses = ("approvals", "effects", "observations")

    def rows(self, asked: Asked) -> Iterable[Row]:
        asked_for = within(asked, "r")
        runtimes, bindings = Runtimes(asked), Bindings(asked)
        acts: dict[tuple[str, int], list[_Act]] = {}
        citing = _ACTS % ("i.approval = r.id AND i.run = r.run", asked_for)
        silent = _SILENT % (
            "i.key = r.key AND i.run || '' = r.run AND COALESCE(i.approval, '') = ''",
            asked_for,
        )
        for run, place, *act in asked.select(f"{citing} UNION ALL {silent}", **asked.given):
            acts.setdefault((run, place), []).append(_Act(*act))
        for row in sorted(asked.select(_REQUESTS % asked_for, **asked.given), key=in_place):
            request = _Request(*row)
            begun = sorted(acts.get((request.run, request.position), ()), key=attrgetter("begun"))
            bound = bindings.bound(request.run, request.answered_position)
            for one in begun or (None,):
                yield _row(request, bound, one, runtimes)


class _Request(NamedTuple):
    run: str
    position: int
    at: str
    id: str
    key: str
    tool_schema: str | None
    runtime_digest: str | None
    terms_digest: str | None
    tool: str | None
    args: str | None
    answer: str | None
    answered_by: str | None
    answered_at: str | None
    answered_position: int | None


class _Act(NamedTuple):
    position: int
    key: str
    tool: str
    args: str
    tool_schema: str | None
    terms_digest: str | None
    approval: str | None
    begun: int
    begun_at: str


def _row(request: _Request, bound: int | None, act: _Act | None, runtimes: Runtimes) -> Row:
    asked: tuple[Any, ...] = (
        *request[:5],
        request.tool,
        request.answer,
        request.answered_by,
        request.answered_at,
        bound,
        request.args,
    )
    if act is None:
        return (*asked, 0, *[None] * 10)
    known = request.args is not None
    return (
        *asked,
        1,
        act.args,
        int((act.tool, act.args) == (request.tool, request.args)) if known else None,
        act.tool,
        act.key,
        act.position,
        act.begun_at,
        int(act.approval is not None),
        same(request.terms_digest, act.terms_digest),
        same(request.tool_schema, act.tool_schema),
        runtimes.same(request.runtime_digest, request.run, act.position),
    )
