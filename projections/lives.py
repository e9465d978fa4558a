"""The projection `lives`: how runs began, stopped, went on and ended, and what the gate said of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ledger.events import (
    Event,
    Reason,
    ResumeRefused,
    RunClosed,
    RunForked,
    RunOpened,
    RunRestarted,
    RunResumed,
    RunSuspended,
)
from ledger.record import Record
from ledger.stores.read_models import Cell
from ledger.values import Verdict
from ledger.values.times import write_time
from projections.base import Column
from projections.facts import Fact, Facts, fact_table
from projections.words import storable

STEPS, REASONS = "steps", "reasons"


class Lives(Facts):
    """One row for each step of a run's life, and one for each reason of a verdict that held it."""

    name = "lives"
    version = 1
    wants = frozenset(
        {
            RunOpened,
            RunSuspended,
            RunResumed,
            ResumeRefused,
            RunForked,
            RunRestarted,
            RunClosed,
        }
    )
    tables = (
        # `cause`: of an opening how it is related to `other_run`, of a suspension what stopped the run.
        # `other_run`: the parent, the origin of a fork, the predecessor, of an end the successor.
        fact_table(
            STEPS,
            Column("what"),
            Column("by", optional=True),
            Column("reason", optional=True),
            Column("cause", optional=True),
            Column("verdict", optional=True),
            Column("gap_seconds", "integer", optional=True),
            Column("incarnation", "integer", optional=True),
            Column("take_over", "integer", optional=True),
            Column("prompt_digest", optional=True),
            Column("outcome", optional=True),
            Column("other_run", optional=True),
            Column("other_position", "integer", optional=True),
            Column("other_hash", optional=True),
            indexes=(("what", "at"), ("other_run",)),
        ),
        fact_table(
            REASONS,
            Column("n", "integer"),
            Column("kind"),
            Column("what"),
            Column("ref_position", "integer", optional=True),
            Column("since", optional=True),
            Column("who", optional=True),
            Column("cleared_by"),
            more_key=("n",),
        ),
    )

    def facts(self, record: Record) -> Iterable[Fact]:
        event = record.event
        yield Fact(STEPS, _step(event))
        if isinstance(event, ResumeRefused):
            for number, reason in enumerate(event.reasons, 1):
                yield Fact(REASONS, _reason(number, reason))


def _step(event: Event) -> Mapping[str, Cell]:
    match event:
        case RunOpened(parent=None):
            return {"what": "opened", "by": event.owner}
        case RunOpened(parent=parent):
            assert parent is not None
            return {
                "what": "opened",
                "by": event.owner,
                "cause": parent.relation,
                "other_run": parent.run,
                "other_position": parent.position,
            }
        case RunSuspended():
            reason = storable(event.reason)
            return {"what": "suspended", "by": event.by, "cause": event.cause, "reason": reason}
        case RunResumed():
            return {
                "what": "resumed",
                "verdict": Verdict.CONTINUE.value,
                "gap_seconds": event.gap_seconds,
                "incarnation": event.incarnation,
                "take_over": int(event.take_over),
                "prompt_digest": event.prompt_digest,
            }
        case ResumeRefused():
            return {"what": "resume_refused", "verdict": event.verdict.value}
        case _:
            return _kin(event)


def _kin(event: Event) -> Mapping[str, Cell]:
    """Put what ties a run to another one, or ends it."""
    match event:
        case RunForked():
            return {
                "what": "forked",
                "by": event.by,
                "reason": storable(event.reason),
                "other_run": event.origin,
                "other_position": event.at,
                "other_hash": event.hash,
            }
        case RunRestarted():
            return {
                "what": "restarted",
                "by": event.by,
                "reason": storable(event.reason),
                "other_run": event.predecessor,
                "other_position": event.predecessor_position,
                "other_hash": event.predecessor_hash,
            }
        case RunClosed():
            return {
                "what": "closed",
                "by": event.by,
                "reason": storable(event.reason),
                "outcome": event.outcome.value,
                "other_run": event.successor,
            }
        case _:
            raise AssertionError(f"{event.name} is no step of a life")


def _reason(number: int, reason: Reason) -> Mapping[str, Cell]:
    return {
        "n": number,
        "kind": reason.kind,
        "what": storable(reason.what),
        "ref_position": reason.position,
        "since": None if reason.since is None else write_time(reason.since),
        "who": reason.who,
        "cleared_by": reason.cleared_by,
    }
