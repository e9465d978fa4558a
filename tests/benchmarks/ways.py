"""The ways in which each question is asked, about a run of a desk or what happened around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.benchmarks import desk

Given = dict[str, Any]

_OF_RUNS = (
    "relaxations",
    "before-acceptance",
    "violations",
    "violations-corrected",
    "refused-calls",
    "resumes",
    "reviews",
    "obligations",
    "approved-against-executed",
    "approvers",
    "void-approvals",
    "open-outcomes",
    "effects",
    "interventions",
)
"""They take a run, a period, or both."""


def asked(number: int) -> Iterator[tuple[str, Given]]:
    """Yield every question in each of the ways it is asked, about a run, or what happened around it."""
    run, key = {"run": desk.name(number)}, {"key": desk.key(number, 4)}
    source = {"source": f"policy:team-{number // desk.TOGETHER}"}
    period = {"since": desk.minute(number), "before": desk.minute(number + desk.TOGETHER)}
    for question in ("constraints-at-effect", "terms-at-effect", "authority-of-effect", "seen-before-effect"):
        yield question, key
    for question in ("basis-of-decision", "changed-since-review", "goal-history", "writers"):
        yield question, run
    yield "effects-after-change", run | {"id": "tone"}
    yield "said-on", run | {"date": desk.minute(number)}
    for question in ("relaxations", "before-acceptance"):
        yield question, source
    yield "constraint-history", run
    yield "constraint-history", source
    yield "constraint-history", period | {"asserted_by": desk.KIM}
    yield "affected-runs", source
    yield "affected-runs", source | {"item": "limit"}
    yield "timeline", run
    yield "timeline", run | period
    for question in _OF_RUNS:
        yield question, run
        yield question, period
        yield question, run | period
    yield "refused-calls", period | {"rule": "budget"}
    yield "refused-calls", period | {"tool": "refund"}
    yield "resumes", period | {"verdict": "reconcile"}
    yield "reviews", period | {"meaning": "reviewed"}
    yield "obligations", {"owed_to": f"customer:{number}"}
    yield "open-outcomes", period | {"tool": "refund"}
    yield "effects", key
    yield "effects", period | {"tool": "refund"}
    yield "effects", period | {"status": "unknown"}
    yield "effects", run | {"tool": "refund"}
    yield "sample-of-effects", period | {"seed": "x", "size": 5}
    yield "about-subject", {"subject": f"customer:{number}"}
    yield "about-subject", {"subject": desk.KIM} | period
    yield "same-runtime", {"model": f"model-{number // desk.TOGETHER}"}
    yield "same-runtime", {"digest": f"{number:064x}"}
    yield "same-runtime", source | {"revision": "1"}
