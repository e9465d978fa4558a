"""What questions about approvals share: which answer counts, and under which runtime an act ran."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ledger.run.execution import merged
from ledger.run.keys import runtime_digest
from ledger.values import Runtime
from projections.questions.base import Asked

ASKED_AGAIN = """
    SELECT MIN(n.position) FROM {approvals.requests} AS n
    WHERE n.run = r.run AND n.id = r.id AND n.position > r.position
"""
"""Where the request `r` was made once more under its id: from there on an answer is to that one."""

REPLACED = """
    SELECT MIN(n.position) FROM {approvals.requests} AS n
    WHERE n.key = r.key AND n.run || '' = r.run AND n.position > r.position
"""
"""Where the act that the request `r` is about was asked about anew: of each act the last request stands."""

DONE = """
    SELECT MIN(n.position) FROM {effects.steps} AS n
    WHERE n.key = r.key AND n.run || '' = r.run AND n.position > r.position
        AND (n.what || '' = 'succeeded' OR (n.what || '' = 'reconciled' AND n.found = 'happened'))
"""
"""Where it was first said that the act which the request `r` is about was done: then it is let go."""


def asked_before(answer: str) -> str:
    """Select where the act of the request `r` was asked about before by who gives an answer, of this alias.

    Who asked before the act was done asked about another time it is done. Nor do those count whose request
    was let go before the act was asked about anew, since its id was given to that of another act: what was
    imported may do so.
    """
    return f"""
        SELECT MIN(p.position) FROM {{approvals.requests}} AS p
        WHERE p.key = r.key AND p.run || '' = r.run AND p.position < r.position
            AND p.requested_by IN ({answer}.by, COALESCE({answer}.decided_by, ''))
            AND NOT EXISTS (
                SELECT 1 FROM {{effects.steps}} AS d
                WHERE d.key = p.key AND d.run || '' = p.run
                    AND d.position > p.position AND d.position < r.position
                    AND (d.what || '' = 'succeeded' OR (d.what || '' = 'reconciled' AND d.found = 'happened'))
            )
            AND NOT EXISTS (
                SELECT 1 FROM {{approvals.requests}} AS m
                JOIN {{approvals.requests}} AS n
                    ON n.run = m.run AND n.id = m.id AND n.position > m.position AND n.key <> m.key
                WHERE m.key = p.key AND m.run || '' = p.run
                    AND m.position >= p.position AND m.position < r.position
                    AND n.position < (
                        SELECT MIN(k.position) FROM {{approvals.requests}} AS k
                        WHERE k.key = m.key AND k.run || '' = m.run AND k.position > m.position
                    )
            )
    """


COUNTING = f"""
    SELECT MIN(c.position) FROM {{approvals.answers}} AS c
    WHERE c.run = r.run AND c.id = r.id AND c.position > r.position AND c.is_person = 1
        AND c.by <> r.requested_by AND COALESCE(c.decided_by, '') <> r.requested_by
        AND (c.answer = 'denied' OR r.expires_at IS NULL OR c.at < r.expires_at)
        AND c.position < COALESCE(({ASKED_AGAIN}), c.position + 1)
        AND c.position < COALESCE(({REPLACED}), c.position + 1)
        AND c.position < COALESCE(({DONE}), c.position + 1)
        AND ({asked_before("c")}) IS NULL
"""
"""Where the answer to the request `r` stands that counts: as in the fold, the first by a person other than
those who asked, while the request stands; approved in time, or denied. A question that has it uses `effects`.

The fold remembers the last 64 people who asked for an act; here all of them are. Of an act whose success was
contradicted, which the fold asks about still, no later answer counts here.
"""

BEGUN = """
    SELECT MIN(n.position) FROM {effects.steps} AS n
    WHERE n.key = i.key AND n.run || '' = i.run AND n.position > i.position
        AND n.what || '' IN ('started', 'succeeded')
"""
"""Where what the intent `i` is about began. What was imported may be told as done only."""


class Runtimes:
    """Digests of the runtimes of runs, as approvals bind to them.

    A question that has them uses `observations`.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._known: dict[str, list[tuple[Any, ...]]] = {}

    def digest(self, run: str, before: int) -> str | None:
        """Return the digest of the runtime in force right before a position; None: nobody said which."""
        if run not in self._known:
            self._known[run] = self._read(run)
        return _digest(row for row in self._known[run] if row[0] < before)

    def same(self, asked_under: str | None, run: str, before: int) -> int | None:
        """Tell whether what was asked under is still in force; None: it is not told of one of the two."""
        if asked_under is None:
            return None
        now = self.digest(run, before)
        return None if now is None else int(now == asked_under)

    def _read(self, run: str) -> list[tuple[Any, ...]]:
        fields = ", ".join(f"t.{name}" for name in Runtime.model_fields)
        return self._asked.select(
            f"""
            SELECT t.position, t.how, {fields} FROM {{observations.runtimes}} AS t
            WHERE t.run = :run AND t.how IN ('opened', 'resumed', 'adopted') ORDER BY t.position
            """,
            run=run,
        )


def same(one: str | None, other: str | None) -> int | None:
    """Tell whether two are the same; None: it is not told of the first."""
    return None if one is None else int(one == other)


def _digest(rows: Iterable[tuple[Any, ...]]) -> str | None:
    runtime: Runtime | None = None
    for _, how, *fields in rows:
        said = Runtime(**dict(zip(Runtime.model_fields, fields, strict=True)))
        # An adopted one takes the place of the other whole; a resume may say less than there was.
        runtime = said if how == "adopted" else merged(runtime, said)
    return None if runtime is None else runtime_digest(runtime)
