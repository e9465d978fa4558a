"""Golden answers about rules that ask for a person or refuse."""

from __future__ import annotations

from hashlib import sha256

from tests.projections.case_file.consent import ASKS, REFUSED, UNASKED, WAITED
from tests.projections.case_file.golden import Golden, at
from tests.projections.case_file.pen import when

_DAY = {"since": when("03-30 00:00"), "before": when("03-31 00:00")}
_ARGS = '{"amount":"%s","booking":%d}'


def _drawn(seed: str) -> list[tuple[str, str, int]]:
    """Draw by hand from what was intended that day; what was denied was never begun."""
    there = [(WAITED.run, WAITED.key, 1), (REFUSED.run, REFUSED.key, 0), (UNASKED.run, UNASKED.key, 1)]
    return sorted(there, key=lambda one: sha256("\n".join((seed, *one[:2])).encode()).hexdigest())


WAITING = (
    Golden(
        "effects",
        "Intended as it began to wait, and once more as it was begun; Kim approved the second.",
        "position args status status_position approval approver",
        [
            (3, _ARGS % ("150.00", 43), "succeeded", 8, None, None),
            (6, _ARGS % ("150.00", 43), "succeeded", 8, "a-43", "human:kim"),
        ],
        {"run": "run-43"},
    ),
    Golden(
        "effects",
        "As it waited, nothing had been begun; nor has what was denied ever been.",
        "run position status status_position",
        [("run-43", 3, "pending", 3)],
        _DAY,
        as_of=when("03-30 09:39"),
    ),
    Golden("effects", "Denied, so never begun.", "position status", [(3, "pending")], {"run": "run-44"}),
    Golden("open-outcomes", "What waits has no outcome that anybody could look for.", "key", [], _DAY),
    Golden(
        "approved-against-executed",
        "Paid as asked, on the approval that it cites; what was denied was not paid.",
        "run position answer answered_by executed executed_position cited same terms_same tool_same",
        [
            ("run-43", 4, "approved", "human:kim", 1, 6, 1, 1, 1, 1),
            ("run-44", 4, "denied", "human:lee", 0, None, None, None, None, None),
        ],
        _DAY,
    ),
    Golden(
        "approvers",
        "Kim's yes was brought by a service for Kim; Lee wrote the no. Both count, and nobody had asked for "
        "themselves.",
        "run answer counts by actor is_person answered_self is_requester asked_for",
        [
            ("run-43", "approved", 1, "human:kim", "service:relay", 1, 1, 0, 0),
            ("run-44", "denied", 1, "human:lee", "human:lee", 1, 1, 0, 0),
        ],
        _DAY,
    ),
    Golden(
        "void-approvals",
        "Nothing came to nothing.",
        "approval why",
        [],
        _DAY,
    ),
    Golden(
        "authority-of-effect",
        "No grant was needed. As it only waited it drew on none.",
        "position valid_at_act",
        [(6, "none")],
        {"key": WAITED.key},
    ),
    Golden(
        "constraints-at-effect",
        "The rule was in force when it was asked about and when it was begun, and acts are held to it; its "
        "words were claimed, for the source had not published them.",
        "id text author source revision published enforced effect_position",
        [
            ("ask-100", ASKS, "human:max", "policy:payments", "9", 0, 1, 3),
            ("ask-100", ASKS, "human:max", "policy:payments", "9", 0, 1, 6),
        ],
        {"key": WAITED.key},
    ),
    Golden(
        "constraint-history",
        "What of that day's constraints is enforced: all, for each has a rule.",
        "run id enforced",
        [
            ("run-43", "ask-100", 1),
            ("run-44", "ask-100", 1),
            ("run-45", "limit-500", 1),
            ("run-46", "ask-100", 1),
        ],
        _DAY,
    ),
    Golden(
        "interventions",
        "Kim was waited for for half an hour, Lee for ten minutes.",
        "run what by actor response_seconds to_position",
        [
            ("run-43", "approved", "human:kim", "service:relay", 30 * 60, 4),
            ("run-44", "denied", "human:lee", "human:lee", 10 * 60, 4),
        ],
        _DAY,
    ),
    Golden(
        "sample-of-effects",
        "Three effects were intended; one of them was never begun.",
        "run key begun",
        _drawn("consent"),
        {"seed": "consent", "size": 10, **_DAY},
    ),
)

HELD = (
    Golden(
        "violations",
        "120.01 EUR were paid, and nobody had been asked; the 150 EUR that Kim approved are fine.",
        "run key effect_position at constraint source revision asserted_by verdict condition value",
        [
            (
                *("run-46", UNASKED.key, 4, at("03-30 12:10"), "ask-100", "policy:payments", "9"),
                *("human:max", "broken", "a person approves it before it starts", None),
            )
        ],
        _DAY,
    ),
    Golden(
        "refused-calls",
        "Lee's no refused it, which stands at position 5.",
        "position rule refused_by key args approval denied_by constraint",
        [(6, "approval_denied", 5, REFUSED.key, _ARGS % ("150.00", 44), "a-44", "human:lee", None)],
        {"run": "run-44"},
    ),
    Golden(
        "refused-calls",
        "What constraints of the policy of payments refused: 501 EUR, by a limit that Max asserted.",
        "run position rule refused_by args constraint source revision asserted_by",
        [
            (
                *("run-45", 3, "constraint_violated", 2, _ARGS % ("501.00", 45), "limit-500"),
                *("policy:payments", "9", "human:max"),
            )
        ],
        {"source": "policy:payments"},
    ),
)

ANSWERS = (*WAITING, *HELD)
