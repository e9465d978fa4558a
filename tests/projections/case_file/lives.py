"""Runs 34 to 42: stops and resumes, successors and forks, and what reviewers signed."""

from __future__ import annotations

from ledger.events import (
    EffectIntended,
    GoalRevised,
    Parent,
    Reason,
    ResumeRefused,
    ReviewSigned,
    RunClosed,
    RunForked,
    RunRestarted,
    RunResumed,
    RunSuspended,
)
from ledger.values import Actor, Ending, Verdict
from tests.projections.case_file.desk import AGENT, KIM, LEE, LIMIT_100, SAM, Act, accepted, done, opened
from tests.projections.case_file.pen import Late, Pen, Written, when

AGENT_ELSEWHERE = Actor("agent:desk", session="s-2", authenticated_by="mtls")
UNPROVEN = Actor("agent:desk", session="s-3")

PAID = Act("run-36", "pay", "refund", {"amount": "11.00", "booking": 36})
AGAIN = Act(
    "run-37",
    "pay-again",
    "refund",
    {"amount": "11.00", "booking": 36},
    root="run-36",
    repeat_reason="the first transfer came back",
)
REVIEWED = Act("run-39", "pay", "refund", {"amount": "13.00", "booking": 39})
NOTED = Act("run-42", "pay", "refund", {"amount": "14.00", "booking": 42})


def tell(pen: Pen) -> None:
    """Say what happened in these runs."""
    _stopped(pen)
    _succeeded(pen)
    _reviewed(pen)
    _written(pen)


def _resumed(gap: int, incarnation: int, *, take_over: bool = False) -> RunResumed:
    return RunResumed(gap_seconds=gap, incarnation=incarnation, prompt_digest="b" * 64, take_over=take_over)


def _stopped(pen: Pen) -> None:
    # 34: Kim stops the run; the agent is refused, since a policy has moved on; Kim says that the goal stands,
    # and lets it go on 40 minutes after it was stopped.
    pen.at("03-26 09:00").say("run-34", AGENT, opened("Refund booking 34"))
    pen.at("03-26 09:10").say(
        "run-34", KIM, RunSuspended(by="human:kim", cause="asked", reason="the customer is on the phone")
    )
    pen.at("03-26 09:20").say(
        "run-34",
        AGENT,
        ResumeRefused(
            verdict=Verdict.REPLAN,
            reasons=(
                Reason(
                    kind="source_revised",
                    cleared_by="constraint.revision_acknowledged",
                    what="policy:refunds has a new revision",
                    since=when("03-12 08:00"),
                    who="human:kim",
                ),
                Reason(kind="idle", cleared_by="goal.revised", what="it lay still", position=1),
            ),
        ),
    )
    pen.at("03-26 09:30").say(
        "run-34", KIM, GoalRevised(by="human:kim", reason="it stands", text="Refund booking 34")
    )
    pen.at("03-26 09:50").say("run-34", KIM, _resumed(1200, 2))

    # 35: a limit stops it; the agent takes it over in another session the next day.
    pen.at("03-26 10:00").say("run-35", AGENT, opened("Refund booking 35"))
    pen.at("03-26 10:05").say("run-35", AGENT, RunSuspended(cause="steps", reason="3 steps"))
    pen.at("03-27 10:05").say("run-35", AGENT_ELSEWHERE, _resumed(86_400, 2, take_over=True))


def _succeeded(pen: Pen) -> None:
    # 36 and 37: the gate says restart, Kim restarts it, and the successor pays once more on purpose.
    pen.at("03-27 11:00").say("run-36", AGENT, opened("Refund booking 36"), accepted("limit", LIMIT_100))
    pen.at("03-27 11:01")
    done(pen, PAID, until="03-27 11:02")
    pen.at("03-27 11:30").say(
        "run-36",
        AGENT,
        ResumeRefused(
            verdict=Verdict.RESTART,
            reasons=(
                Reason(
                    kind="goal_refuted",
                    cleared_by="run.restarted",
                    what="the goal rests on what is wrong",
                    position=1,
                ),
            ),
        ),
    )
    closing = RunClosed(by="human:kim", outcome=Ending.RESTARTED, reason="begin anew", successor="run-37")
    pen.at("03-27 12:00").say("run-36", KIM, closing)

    def restarted(written: Written) -> RunRestarted:
        return RunRestarted(
            by="human:kim",
            effects_done=1,
            predecessor="run-36",
            predecessor_hash=written.hash_of("run-36", 7),
            predecessor_position=7,
            reason="begin anew",
        )

    pen.say(
        "run-37",
        KIM,
        opened(
            "Refund booking 36 again",
            parent=Parent(position=7, relation="successor", root="run-36", run="run-36"),
        ),
        restarted,
        accepted("limit", LIMIT_100),
    )
    pen.at("03-27 12:30")
    done(pen, AGAIN, until="03-27 12:31")

    # 38: a fork of 29, to see what would have been.
    def forked(written: Written) -> RunForked:
        return RunForked(at=2, by="human:lee", hash=written.hash_of("run-29", 2), origin="run-29")

    pen.at("03-28 09:00").say(
        "run-38",
        LEE,
        opened("Refund booking 29", parent=Parent(position=2, relation="fork", root="run-29", run="run-29")),
        forked,
    )


def _signed(run: str, head: int, meaning: str, note: str | None = None) -> Late:
    def signed(written: Written) -> ReviewSigned:
        hash = written.hash_of(run, head)
        return ReviewSigned(by="human:lee", hash=hash, head=head, meaning=meaning, note=note)  # type: ignore[arg-type]

    return signed


def _reviewed(pen: Pen) -> None:
    # 39: reviewed, and changed since.
    pen.at("03-28 10:00").say("run-39", AGENT, opened("Refund booking 39"), about=("customer:1",))
    pen.at("03-28 10:10").say("run-39", LEE, _signed("run-39", 1, "reviewed"))
    pen.at("03-28 10:20")
    done(pen, REVIEWED, until="03-28 10:21")

    # 40: noted first, then an objection that nothing has followed.
    pen.at("03-28 11:00").say("run-40", AGENT, opened("Refund booking 40"))
    pen.at("03-28 11:10").say("run-40", LEE, _signed("run-40", 1, "noted"))
    pen.at("03-28 11:20").say("run-40", SAM, RunClosed(by="human:sam", outcome=Ending.CANCELLED))
    pen.at("03-28 11:30").say("run-40", LEE, _signed("run-40", 3, "objection", "who cancelled this?"))

    # 41: never reviewed.
    pen.at("03-28 12:00").say("run-41", AGENT, opened("Refund booking 41", owner="customer:1"))


def _written(pen: Pen) -> None:
    # 42: three sessions write, one of which nobody proved; the intent of the second was never carried out.
    never: EffectIntended = Act("run-42", "mail", "send_mail", {"to": "customer:42"}).intended()
    pen.at("03-29 09:00").say("run-42", AGENT, opened("Refund booking 42"))
    pen.at("03-29 09:10").say("run-42", AGENT_ELSEWHERE, never)
    pen.at("03-29 09:20")
    done(pen, NOTED, UNPROVEN, until="03-29 09:21")
