"""Golden answers about goals, grounds and what was seen."""

from __future__ import annotations

from tests.projections.case_file.golden import Golden, at
from tests.projections.case_file.pen import when
from tests.projections.case_file.thoughts import (
    AFTER_LOOKING,
    ON_A_GUESS,
    STILL_ON_IT,
    TRIED_TWICE,
    UNDER_MODEL_5,
)

GOALS = (
    Golden(
        "goal-history",
        "Three goals and two plans, each by whom and why.",
        "position at what revision by actor reason",
        [
            (1, at("03-24 09:00"), "goal", 1, None, "agent:desk", None),
            (2, at("03-24 09:00"), "plan", 1, "agent:desk", "agent:desk", None),
            (3, at("03-24 09:10"), "goal", 2, "human:kim", "human:kim", "she wrote again"),
            (4, at("03-24 09:10"), "plan", 2, "human:kim", "human:kim", "the mail"),
            (5, at("03-24 09:20"), "goal", 3, "customer:29", "agent:desk", "by telephone"),
        ],
        {"run": "run-29"},
    ),
)

BASIS = (
    Golden(
        "basis-of-decision",
        "The payment rests on the guess itself; at that time nobody had refuted it.",
        "position what on_ref directly on_position text refuted_position refuted_by evidence effects_after "
        "effects_after_refuted first_after_refuted",
        [
            (
                *(4, f"effect:{ON_A_GUESS.key}", "assumption:cancelled", 1, 2, "The flight was cancelled"),
                *(7, "human:kim", "it was late only", 2, 1, STILL_ON_IT.key),
            )
        ],
        {"run": "run-30", "ref": f"effect:{ON_A_GUESS.key}"},
    ),
    Golden(
        "basis-of-decision",
        "The fee rests on a guess that rests on the one that is wrong.",
        "on_ref directly refuted_position",
        [("assumption:cancelled", 0, 7), ("assumption:entitled", 1, None)],
        {"run": "run-30", "ref": f"effect:{STILL_ON_IT.key}"},
    ),
    Golden(
        "basis-of-decision",
        "What the payment of run 31 had looked at was withdrawn after it.",
        "what on_ref directly refuted_position refuted_by evidence effects_after_refuted",
        [
            (
                *(f"effect:{AFTER_LOOKING.key}", "observation:booking:31", 1, 8),
                *("human:kim", "the price was old", 0),
            )
        ],
        {"run": "run-31"},
    ),
)

SEEN = (
    Golden(
        "seen-before-effect",
        "What run 31 had before it paid: its runtime, the act's own tool, a message, a booking and an "
        "answer.",
        "position kind name key value digest model",
        [
            (1, "model", "opened", None, "atlas-4", None, None),
            (1, "prompt", "opened", None, "p-2026-02", None, None),
            (1, "tool_schema", "opened", None, "t-7", None, None),
            (2, "message", "user", "m-1", '"My flight 31 was cancelled"', None, None),
            (3, "observation", "find_booking", "booking:31", '{"price":"12.00"}', None, None),
            (4, "observation", "atlas", "answer:1", None, "a" * 64, "atlas-4"),
            (5, "tool", "refund", None, None, None, None),
        ],
        {"key": AFTER_LOOKING.key},
    ),
    Golden(
        "seen-before-effect",
        "Another model was adopted before the payment.",
        "position kind name value",
        [
            (2, "model", "adopted", "atlas-5"),
            (2, "prompt", "adopted", "p-2026-03"),
            (2, "tool_schema", "adopted", "t-7"),
            (3, "tool", "refund", None),
        ],
        {"key": UNDER_MODEL_5.key},
    ),
    Golden(
        "seen-before-effect",
        "The second attempt had seen the state of the service, the first had not.",
        "effect_position kind key",
        [
            (2, "model", None),
            (2, "prompt", None),
            (2, "tool_schema", None),
            (2, "tool", None),
            (6, "model", None),
            (6, "prompt", None),
            (6, "tool_schema", None),
            (6, "observation", "service:status"),
            (6, "tool", None),
        ],
        {"key": TRIED_TWICE.key},
    ),
    Golden(
        "same-runtime",
        "The new model: adopted in run 32, opened with in run 33.",
        "run position how field value",
        [("run-32", 2, "adopted", "model", "atlas-5"), ("run-33", 1, "opened", "model", "atlas-5")],
        {"model": "atlas-5"},
    ),
    Golden(
        "same-runtime",
        "Revision 3 of the policy of refunds was accepted once.",
        "run position how value subject",
        [("run-11", 2, "accepted", "3", "limit-50")],
        {"source": "policy:refunds", "revision": "3"},
    ),
    Golden(
        "same-runtime",
        "Revision 7 of privacy was accepted and read again.",
        "run position how subject",
        [("run-11", 3, "accepted", "no-names"), ("run-11", 4, "acknowledged", None)],
        {"source": "policy:privacy", "revision": "7"},
    ),
    Golden(
        "same-runtime",
        "Where the old model answered or was at work on the morning of the 25th.",
        "run position how field",
        [
            ("run-31", 1, "opened", "model"),
            ("run-31", 4, "observed", "model"),
            ("run-32", 1, "opened", "model"),
        ],
        {"model": "atlas-4", "since": when("03-25 00:00"), "before": when("03-26 00:00")},
    ),
)

ANSWERS = (*GOALS, *BASIS, *SEEN)
