"""Golden answers about what became of acts, what is owed, and what somebody stepped into."""

from __future__ import annotations

from hashlib import sha256

from tests.projections.case_file.acts import CONTRADICTED, FOUND_OUT, LEFT_ALONE, MAIL_28, NOBODY_KNOWS
from tests.projections.case_file.golden import Golden, at
from tests.projections.case_file.lives import AGAIN, PAID
from tests.projections.case_file.pen import when
from tests.projections.case_file.permissions import AS_ASKED, ASKED, BY_AGENT, OTHERWISE
from tests.projections.case_file.thoughts import TRIED_TWICE

_PERIOD = {"since": when("03-16 00:00"), "before": when("03-16 12:00")}


def _drawn(seed: str) -> list[tuple[str, str]]:
    """Draw by hand from what was intended on the morning of the 16th."""
    runs = {"run-16": (AS_ASKED,), "run-17": (ASKED, OTHERWISE), "run-18": (BY_AGENT,)}
    there = [(run, act.key) for run, acts in runs.items() for act in acts]
    return sorted(there, key=lambda one: sha256("\n".join((seed, *one)).encode()).hexdigest())


OUTCOMES = (
    Golden(
        "open-outcomes",
        "Nobody knows of one, one is contradicted, and a worker has been silent since its lease ended.",
        "run position key tool step status attempt since because",
        [
            ("run-24", 4, NOBODY_KNOWS.key, "refund", "pay", "unknown", 1, at("03-19 09:02"), "raised"),
            (
                "run-25",
                5,
                CONTRADICTED.key,
                "refund",
                "pay",
                "disputed",
                1,
                at("03-20 10:01"),
                "contradicted",
            ),
            (
                *("run-26", 3, LEFT_ALONE.key, "send_mail", "mail", "unknown", 1),
                *(at("03-20 09:02"), "lease_lapsed"),
            ),
        ],
    ),
    Golden(
        "open-outcomes",
        "While its lease lasted the worker was at work.",
        "key status since because lease_until",
        [(LEFT_ALONE.key, "executing", at("03-20 09:01"), None, at("03-20 09:02"))],
        {"run": "run-26"},
        now=when("03-20 09:01"),
    ),
    Golden(
        "open-outcomes",
        "At a quarter past eleven nobody knew whether booking 27 was paid back; at twelve Kim had found out.",
        "key status attempt because",
        [(FOUND_OUT.key, "unknown", 2, "lease_lapsed")],
        {"run": "run-27"},
        as_of=when("03-20 11:15"),
    ),
    Golden("open-outcomes", "As said before.", "key", [], {"run": "run-27"}),
    Golden(
        "effects",
        "Two attempts of one effect, and what became of it.",
        "position key status status_position",
        [(2, FOUND_OUT.key, "succeeded", 8), (5, FOUND_OUT.key, "succeeded", 8)],
        {"run": "run-27"},
    ),
    Golden(
        "sample-of-effects",
        "Two of the four effects of a morning, by the order of their hashes with this seed.",
        "drawn run key",
        [(place, *one) for place, one in enumerate(_drawn("audit 2026-03")[:2], 1)],
        {"seed": "audit 2026-03", "size": 2, **_PERIOD},
    ),
    Golden(
        "sample-of-effects",
        "With another seed, and more than there are.",
        "drawn run key",
        [(place, *one) for place, one in enumerate(_drawn("again"), 1)],
        {"seed": "again", "size": 100, **_PERIOD},
    ),
)

OWED = (
    Golden(
        "obligations",
        "One kept with evidence, one given up, one handed to Kim, one overdue since the 22nd, one with no "
        "date. The run ended with two of them open.",
        "id state ended_position ended_by evidence refs reason owed_by left_at",
        [
            (
                *("mail", "discharged", 10, "agent:desk", "mail 28 was sent"),
                *(f'["effect:{MAIL_28.key}"]', None, None, None),
            ),
            ("call", "waived", 11, "customer:28", None, None, "a mail is enough", None, None),
            (
                *("report", "transferred", 12, "human:sam", None, None),
                *("Kim knows the case", "human:kim", None),
            ),
            ("voucher", "overdue", None, None, None, None, None, None, at("03-23 09:00")),
            ("file", "open", None, None, None, None, None, None, at("03-23 09:00")),
        ],
        {"run": "run-28"},
    ),
    Golden(
        "obligations",
        "Owed to the customer, as it was said on the 21st at half past nine: all open, none due yet.",
        "id owed_to due state",
        [
            ("mail", "customer:28", None, "open"),
            ("call", "customer:28", None, "open"),
            ("voucher", "customer:28", at("03-22 12:00"), "open"),
        ],
        {"owed_to": "customer:28"},
        as_of=when("03-21 09:30"),
        now=when("03-21 09:30"),
    ),
)

STEPPED_IN = (
    Golden(
        "interventions",
        "Kim stopped it, and 40 minutes later let it go on.",
        "position what by actor reason response_seconds to_position",
        [
            (2, "suspended", "human:kim", "human:kim", "the customer is on the phone", None, None),
            (5, "resumed", None, "human:kim", None, 40 * 60, 2),
        ],
        {"run": "run-34"},
    ),
    Golden(
        "interventions",
        "A limit stopped it, which is nobody's intervention; a day later it was taken over from elsewhere.",
        "position what actor response_seconds to_position",
        [(3, "take_over", "agent:desk", 86_400, 2)],
        {"run": "run-35"},
    ),
    Golden(
        "interventions",
        "Kim settled by hand what had been unknown for half an hour.",
        "position what thing by reason response_seconds to_position",
        [
            (
                *(8, "overridden", f"effect:{FOUND_OUT.key}", "human:kim"),
                *("the bank statement of the 20th", 30 * 60, 7),
            )
        ],
        {"run": "run-27"},
    ),
    Golden(
        "interventions",
        "Approved half an hour after it was asked.",
        "position what thing by response_seconds to_position",
        [(4, "approved", "approval:a-16", "human:kim", 30 * 60, 3)],
        {"run": "run-16"},
    ),
    Golden(
        "interventions",
        "Restarted half an hour after the gate had said so; in the successor the payment is repeated on "
        "purpose.",
        "run position what by reason response_seconds to_run to_position",
        [
            ("run-37", 2, "restarted", "human:kim", "begin anew", 30 * 60, "run-36", 6),
            ("run-37", 4, "overridden", None, "the first transfer came back", None, "run-36", 3),
        ],
        {"run": "run-37"},
    ),
    Golden(
        "interventions",
        "Sam cancelled it.",
        "position what by",
        [(3, "cancelled", "human:sam")],
        {"run": "run-40"},
    ),
    Golden(
        "effects",
        "The same act twice in one lineage, under two keys.",
        "run key step",
        [("run-36", PAID.key, "pay"), ("run-37", AGAIN.key, "pay-again")],
        {"act": PAID.act},
    ),
    Golden(
        "effects",
        "An effect by the beginning of its key: both attempts, the second of which succeeded.",
        "run position status status_position",
        [("run-33", 2, "succeeded", 8), ("run-33", 6, "succeeded", 8)],
        {"key": TRIED_TWICE.key[:16]},
    ),
)

ANSWERS = (*OUTCOMES, *OWED, *STEPPED_IN)
