"""Golden answers about stops and resumes, reviews, subjects and writers."""

from __future__ import annotations

from tests.projections.case_file.golden import Golden, HashOf, at
from tests.projections.case_file.lives import REVIEWED
from tests.projections.case_file.pen import when
from tests.projections.case_file.rules import SIMPLE

RESUMES = (
    Golden(
        "resumes",
        "Refused for two reasons, then let go on by Kim, 20 minutes after the goal was confirmed.",
        "position verdict incarnation gap_seconds take_over kinds actor session",
        [
            (3, "replan", None, None, None, "source_revised, idle", "agent:desk", "s-1"),
            (5, "continue", 2, 1200, 0, None, "human:kim", "web-7"),
        ],
        {"run": "run-34"},
    ),
    Golden(
        "resumes",
        "What had to be restarted.",
        "run position kinds",
        [("run-36", 6, "goal_refuted")],
        {"verdict": "restart"},
    ),
    Golden(
        "resumes",
        "Who went on on the 27th.",
        "run position take_over session",
        [("run-35", 3, 1, "s-2")],
        {"verdict": "continue", "since": when("03-27 00:00"), "before": when("03-28 00:00")},
    ),
)

REVIEWS = (
    Golden(
        "reviews",
        "All of them: run 39 went on after it was reviewed, three events; of run 40 the first note covers "
        "the opening only, and nothing followed the objection.",
        "run position head head_hash meaning by actor note changed_after",
        [
            ("run-39", 2, 1, HashOf("run-39", 1), "reviewed", "human:lee", "human:lee", None, 3),
            ("run-40", 2, 1, HashOf("run-40", 1), "noted", "human:lee", "human:lee", None, 2),
            (
                *("run-40", 4, 3, HashOf("run-40", 3), "objection", "human:lee", "human:lee"),
                *("who cancelled this?", 0),
            ),
        ],
    ),
    Golden(
        "changed-since-review",
        "The payment came after it.",
        "review_position reviewed_by meaning head position name thing actor",
        [
            (2, "human:lee", "reviewed", 1, 3, "effect.intended", f"effect:{REVIEWED.key}", "agent:desk"),
            (2, "human:lee", "reviewed", 1, 4, "effect.started", f"effect:{REVIEWED.key}", "agent:desk"),
            (2, "human:lee", "reviewed", 1, 5, "effect.succeeded", f"effect:{REVIEWED.key}", "agent:desk"),
        ],
        {"run": "run-39"},
    ),
    Golden("changed-since-review", "Nothing came after the objection.", "position", [], {"run": "run-40"}),
    Golden(
        "changed-since-review",
        "Nobody reviewed it: all of it is new.",
        "review_position position name",
        [(None, 1, "run.opened")],
        {"run": "run-41"},
    ),
)

TIME = (
    Golden(
        "timeline",
        "Run 01, from its opening to its end.",
        "position at name thing by actor hash",
        [
            (1, at("03-02 09:00"), "run.opened", None, None, "agent:desk", HashOf("run-01", 1)),
            (
                *(2, at("03-02 09:00"), "constraint.accepted", "constraint:limit-100", "agent:desk"),
                *("agent:desk", HashOf("run-01", 2)),
            ),
            (
                *(3, at("03-02 09:05"), "effect.intended", f"effect:{SIMPLE.key}", None, "agent:desk"),
                HashOf("run-01", 3),
            ),
            (
                *(4, at("03-02 09:05"), "effect.started", f"effect:{SIMPLE.key}", None, "agent:desk"),
                HashOf("run-01", 4),
            ),
            (
                *(5, at("03-02 09:05"), "effect.succeeded", f"effect:{SIMPLE.key}", None, "agent:desk"),
                HashOf("run-01", 5),
            ),
            (6, at("03-02 09:10"), "run.closed", None, None, "agent:desk", HashOf("run-01", 6)),
        ],
        {"run": "run-01"},
    ),
    Golden(
        "said-on",
        "On the morning of the 22nd two promises of run 28 were open, and a third was Kim's by then; now it "
        "is closed, and they are open still.",
        "section id changed",
        [
            ("goal", None, 0),
            ("obligation", "file", 0),
            ("obligation", "voucher", 0),
            ("status", None, 1),
        ],
        {"run": "run-28", "date": when("03-22 09:00")},
    ),
    Golden(
        "said-on",
        "Run 04 was held to 100 EUR at five past nine, and is to 500 now.",
        "section id changed then_position now_position",
        [
            ("goal", None, 0, 1, 1),
            ("constraint", "limit", 1, 2, 3),
            ("status", None, 0, 1, 1),
        ],
        {"run": "run-04", "date": when("03-06 09:05")},
    ),
)

PEOPLE = (
    Golden(
        "writers",
        "One agent, three sessions, one of which nobody proved.",
        "actor session authenticated_by events first_position last_position",
        [
            ("agent:desk", "s-1", "mtls", 1, 1, 1),
            ("agent:desk", "s-2", "mtls", 1, 2, 2),
            ("agent:desk", "s-3", None, 3, 3, 5),
        ],
        {"run": "run-42"},
    ),
    Golden(
        "writers",
        "A service wrote once for Kim.",
        "actor on_behalf_of events first_position",
        [
            ("agent:desk", None, 6, 1),
            ("service:relay", '["human:kim"]', 1, 4),
        ],
        {"run": "run-20"},
    ),
    Golden(
        "about-subject",
        "Customer 1: the whole beginning of run 01, the openings of 24 and 39, and the owner of run 41.",
        "run position name how actor",
        [
            ("run-01", 1, "run.opened", "about", "agent:desk"),
            ("run-01", 2, "constraint.accepted", "about", "agent:desk"),
            ("run-24", 1, "run.opened", "about", "agent:desk"),
            ("run-39", 1, "run.opened", "about", "agent:desk"),
            ("run-41", 1, "run.opened", "owner", "agent:desk"),
        ],
        {"subject": "customer:1"},
    ),
)

ANSWERS = (*RESUMES, *REVIEWS, *TIME, *PEOPLE)
