"""Runs 29 to 33: goals and plans, what was taken for granted, and what was seen."""

from __future__ import annotations

from ledger.events import (
    AssumptionMade,
    AssumptionRefuted,
    EffectFailed,
    GoalRevised,
    MessageRecorded,
    ObservationInvalidated,
    ObservationRecorded,
    PlanCommitted,
    PlanRevised,
    RuntimeAdopted,
)
from ledger.values import ErrorSaid, Payload, Step
from tests.projections.case_file.desk import AGENT, KIM, MODEL_4, MODEL_5, Act, args_of, done, opened
from tests.projections.case_file.pen import Pen, when

ON_A_GUESS = Act(
    "run-30", "pay", "refund", {"amount": "35.00", "booking": 30}, rests_on=("assumption:cancelled",)
)
STILL_ON_IT = Act(
    "run-30", "pay-fee", "refund", {"amount": "5.00", "booking": 30}, rests_on=("assumption:entitled",)
)
AFTER_LOOKING = Act(
    "run-31", "pay", "refund", {"amount": "12.00", "booking": 31}, rests_on=("observation:booking:31",)
)
UNDER_MODEL_5 = Act("run-32", "pay", "refund", {"amount": "8.00", "booking": 32})
TRIED_TWICE = Act("run-33", "pay", "refund", {"amount": "9.00", "booking": 33}, max_attempts=2)


def tell(pen: Pen) -> None:
    """Say what happened in these runs."""
    _goals(pen)
    _assumed(pen)
    _seen(pen)


def _goals(pen: Pen) -> None:
    # 29: the goal is revised twice, the plan once.
    pen.at("03-24 09:00").say(
        "run-29",
        AGENT,
        opened("Refund booking 29"),
        PlanCommitted(
            by="agent:desk", steps=(Step(name="look", tool="find_booking"), Step(name="pay", tool="refund"))
        ),
    )
    pen.at("03-24 09:10").say(
        "run-29",
        KIM,
        GoalRevised(
            by="human:kim", reason="she wrote again", text="Refund booking 29\nand tell the customer"
        ),
        PlanRevised(
            by="human:kim",
            reason="the mail",
            steps=(
                Step(name="look", tool="find_booking"),
                Step(name="pay", tool="refund"),
                Step(name="mail", tool="send_mail", rests_on=("assumption:reads-mail",)),
            ),
        ),
    )
    pen.at("03-24 09:20").say(
        "run-29",
        AGENT,
        GoalRevised(by="customer:29", reason="by telephone", text="Rebook booking 29\nand tell the customer"),
    )


def _assumed(pen: Pen) -> None:
    # 30: a payment rests on a guess, a second guess rests on the first, and the first is wrong.
    pen.at("03-24 10:00").say(
        "run-30",
        AGENT,
        opened("Refund booking 30"),
        AssumptionMade(id="cancelled", by="agent:desk", text="The flight was cancelled"),
        AssumptionMade(
            id="entitled",
            by="agent:desk",
            rests_on=("assumption:cancelled",),
            text="The customer may have the fee back",
        ),
    )
    pen.at("03-24 10:10")
    done(pen, ON_A_GUESS, until="03-24 10:11")
    pen.at("03-24 11:00").say(
        "run-30",
        KIM,
        AssumptionRefuted(
            id="cancelled", by="human:kim", evidence="it was late only", occurred_at=when("03-23 18:00")
        ),
    )
    pen.at("03-24 11:10")
    done(pen, STILL_ON_IT, until="03-24 11:11")


def _seen(pen: Pen) -> None:
    # 31: a message, a booking that was looked up and a model's answer come before the payment; the look at
    # the booking is withdrawn later.
    pen.at("03-25 09:00").say(
        "run-31",
        AGENT,
        opened("Refund booking 31"),
        MessageRecorded(id="m-1", role="user", content=Payload(json_text='"My flight 31 was cancelled"')),
        ObservationRecorded(
            key="booking:31",
            tool="find_booking",
            args=args_of(booking=31),
            fresh_for=3600,
            observed_at=when("03-25 09:00"),
            value=Payload(json_text='{"price":"12.00"}'),
        ),
        ObservationRecorded(
            key="answer:1",
            tool="atlas",
            observed_at=when("03-25 09:00"),
            runtime=MODEL_4,
            value=Payload(digest="a" * 64, size=20_000),
        ),
    )
    pen.at("03-25 09:05")
    done(pen, AFTER_LOOKING, until="03-25 09:06")
    pen.at("03-25 09:30").say(
        "run-31", KIM, ObservationInvalidated(key="booking:31", by="human:kim", reason="the price was old")
    )

    # 32: another model goes on with the run; the payment is its act.
    pen.at("03-25 10:00").say("run-32", AGENT, opened("Refund booking 32"))
    pen.at("03-25 10:10").say(
        "run-32", KIM, RuntimeAdopted(by="human:kim", reason="atlas-4 is retired", runtime=MODEL_5)
    )
    pen.at("03-25 10:20")
    done(pen, UNDER_MODEL_5, until="03-25 10:21")

    # 33: begun under the new model; the first attempt fails, and something is seen before the second.
    pen.at("03-25 11:00").say("run-33", AGENT, opened("Refund booking 33", runtime=MODEL_5))
    pen.at("03-25 11:01").say(
        "run-33",
        AGENT,
        TRIED_TWICE.intended(),
        TRIED_TWICE.started(until="03-25 11:02"),
        EffectFailed(attempt=1, error=ErrorSaid(message="busy", type="Busy"), key=TRIED_TWICE.key),
        ObservationRecorded(
            key="service:status",
            tool="status",
            observed_at=when("03-25 11:01"),
            value=Payload(json_text='"up again"'),
        ),
    )
    pen.at("03-25 11:05").say(
        "run-33",
        AGENT,
        TRIED_TWICE.intended(),
        TRIED_TWICE.started(2, until="03-25 11:06"),
        TRIED_TWICE.succeeded(2),
    )
