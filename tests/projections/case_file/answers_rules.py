"""Golden answers about constraints: in force, changed, broken, refused."""

from __future__ import annotations

from tests.projections.case_file.consent import UNASKED
from tests.projections.case_file.desk import LIMIT_50, LIMIT_100
from tests.projections.case_file.golden import Golden, HashOf, at
from tests.projections.case_file.pen import when
from tests.projections.case_file.rules import (
    BACKDATED,
    BEFORE_GIFT,
    BETWEEN,
    EARLY,
    ENDED,
    GENEROUS,
    GIFT,
    MOVED,
    MOVED_LATER,
    ON_LIMIT,
    SIMPLE,
    STRICT,
    TOO_MUCH,
)
from tests.projections.case_file.sources import LIMIT_100_AGAIN

_RULE = '{"require":[{"operator":"le","path":"/amount","value":%s}],"tools":["refund"]}'

_IN_FORCE = (
    "id text author accepted_by accepted_at source revision position hash admitted_position moved valid"
)
_REFUNDS = "policy:refunds"

IN_FORCE = (
    Golden(
        "constraints-at-effect",
        "The limit of revision 1 was accepted at position 2; the source stood at 2 for both.",
        _IN_FORCE,
        [
            (
                *("limit-100", LIMIT_100, "human:kim", "agent:desk", at("03-02 09:00")),
                *(_REFUNDS, "1", 2, HashOf("run-01", 2), 2, 0, 1),
            )
        ],
        {"key": SIMPLE.key},
    ),
    Golden(
        "constraints-at-effect",
        "Paid under revision 1 while the source had said revision 2 half an hour before: the run held the "
        "old words, and the source had moved.",
        "id text revision position admitted_position moved held_until ended_position effect_position",
        [("limit-100", LIMIT_100, "1", 2, 3, 1, at("03-05 09:00"), 9, 6)],
        {"key": BETWEEN.key},
    ),
    Golden(
        "constraints-at-effect",
        "The day before the source had not moved.",
        "revision position moved effect_position",
        [("1", 2, 0, 3)],
        {"key": MOVED.key},
    ),
    Golden(
        "constraints-at-effect",
        "After the new words were accepted they alone are in force.",
        "text revision position moved effect_position",
        [(LIMIT_100_AGAIN, "2", 9, 0, 10)],
        {"key": MOVED_LATER.key},
    ),
    Golden(
        "constraints-at-effect",
        "The mail was sent while gifts were forbidden; that ended ten minutes later. No position of the "
        "source was recorded with it, so nobody knows whether it had moved.",
        "id position held_until ended_position moved",
        [("no-gifts", 2, at("03-03 10:20"), 6, None)],
        {"key": BEFORE_GIFT.key},
    ),
    Golden(
        "constraints-at-effect",
        "The gift was sent between the withdrawal and the second acceptance: nothing was in force.",
        "id",
        [],
        {"key": GIFT.key},
    ),
    Golden(
        "constraints-at-effect",
        "In force by the record, and past the time until which it was valid.",
        "id valid valid_until",
        [("limit-50", 0, at("03-08 00:00"))],
        {"key": ENDED.key},
    ),
    Golden(
        "constraints-at-effect",
        "Two sources, two authors; Kim accepted one of them.",
        "id author accepted_by source revision position admitted_position",
        [
            ("limit-50", "human:kim", "human:kim", _REFUNDS, "3", 2, 5),
            ("no-names", "human:lee", "agent:desk", "policy:privacy", "7", 3, None),
        ],
        {"key": ON_LIMIT.key},
    ),
    Golden(
        "terms-at-effect",
        "The goal as opened and the limit; both were the terms from position 2 on, and the digest that was "
        "recorded is that of these records.",
        "run position hash what id terms_position agrees effect_position",
        [
            ("run-01", 1, HashOf("run-01", 1), "goal", None, 2, 1, 3),
            ("run-01", 2, HashOf("run-01", 2), "constraint", "limit-100", 2, 1, 3),
        ],
        {"key": SIMPLE.key},
    ),
    Golden(
        "terms-at-effect",
        "After the relaxation at position 3 the old words are no terms any more.",
        "what id text position",
        [("goal", None, "Refund booking 4", 1), ("constraint", "limit", "Never refund more than 500 EUR", 3)],
        {"key": GENEROUS.key},
    ),
)

_CHANGE = "run stream position at id what by reason old_text new_text effects_after first_effect_after"

CHANGED = (
    Golden(
        "relaxations",
        "The source reworded what the run held, and two effects were begun after that; then the run took "
        "over the new words, and one was. That the source withdrew limit-100 a week later concerns the run "
        "still.",
        "stream position what effects_after first_effect_after",
        [
            ("$source:policy:refunds", 3, "reworded_at_source", 2, BETWEEN.key),
            ("run-02", 9, "reworded", 1, MOVED_LATER.key),
            ("$source:policy:refunds", 5, "withdrawn_at_source", 0, None),
        ],
        {"run": "run-02"},
    ),
    Golden(
        "relaxations",
        "Sam withdrew the rule against gifts because somebody was upset, and one effect, the gift, followed. "
        "At its source it was withdrawn a week later, when the run held it again.",
        _CHANGE,
        [
            (
                *("run-03", "run-03", 6, at("03-03 10:20"), "no-gifts", "withdrawn", "human:sam"),
                *("she is upset", "Send no gift cards", None, 1, GIFT.key),
            ),
            (
                *("run-03", "$source:policy:refunds", 4, at("03-09 08:00"), "no-gifts"),
                *("withdrawn_at_source", "human:kim", "the shop sells them again"),
                *("Send no gift cards", None, 0, None),
            ),
        ],
        {"run": "run-03"},
    ),
    Golden(
        "relaxations",
        "On the 6th one limit was relaxed and another tightened.",
        "run position what old_text new_text effects_after first_effect_after",
        [
            ("run-04", 3, "relaxed", LIMIT_100, "Never refund more than 500 EUR", 1, GENEROUS.key),
            ("run-05", 3, "tightened", LIMIT_100, LIMIT_50, 1, STRICT.key),
        ],
        {"since": when("03-06 00:00"), "before": when("03-07 00:00")},
    ),
    Golden(
        "constraint-history",
        "Who said what of gifts to run 03: Kim's rule, accepted, withdrawn by Sam after twenty minutes, and "
        "accepted again by Kim's hand.",
        "position at held_until id asserted_by accepted_by actor source revision ended ended_position "
        "ended_by reason hash",
        [
            (
                *(2, at("03-03 10:00"), at("03-03 10:20"), "no-gifts", "human:kim", "agent:desk"),
                *("agent:desk", _REFUNDS, "1", "withdrawn", 6, "human:sam", "she is upset"),
                HashOf("run-03", 2),
            ),
            (
                *(10, at("03-03 10:40"), None, "no-gifts", "human:kim", "agent:desk"),
                *("human:kim", _REFUNDS, "1", None, None, None, None, HashOf("run-03", 10)),
            ),
        ],
        {"run": "run-03"},
    ),
    Golden(
        "constraint-history",
        "What Lee asserted anywhere.",
        "run position id source revision source_position published",
        [("run-11", 3, "no-names", "policy:privacy", "7", 2, 1)],
        {"asserted_by": "human:lee"},
    ),
    Golden(
        "constraint-history",
        "The limits called `limit`: superseded by a laxer and by a stricter one, and carried into a "
        "successor. Nothing ended those of the runs that were closed.",
        "run position text change supersedes held_until ended ended_position ended_by",
        [
            ("run-04", 2, LIMIT_100, None, None, at("03-06 09:10"), "superseded", 3, "human:kim"),
            ("run-04", 3, "Never refund more than 500 EUR", "relaxed", 2, None, None, None, None),
            ("run-05", 2, LIMIT_100, None, None, at("03-06 10:10"), "superseded", 3, "agent:desk"),
            ("run-05", 3, LIMIT_50, "tightened", 2, None, None, None, None),
            ("run-36", 2, LIMIT_100, None, None, None, None, None, None),
            ("run-37", 3, LIMIT_100, None, None, None, None, None, None),
        ],
        {"id": "limit"},
    ),
    Golden(
        "constraint-history",
        "At one o'clock on the 8th: accepted at noon, valid since the day before; and one that was valid "
        "until that morning only. What came in the afternoon is not known yet.",
        "run position valid_from valid_until valid rule",
        [
            (
                *("run-07", 2, None, None, 1),
                _RULE % "100",
            ),
            (
                *("run-08", 5, at("03-07 00:00"), None, 1),
                _RULE % "50",
            ),
            (
                *("run-09", 2, None, at("03-08 00:00"), 0),
                _RULE % "50",
            ),
        ],
        {"since": when("03-08 00:00"), "before": when("03-09 00:00")},
        as_of=when("03-08 13:00"),
        now=when("03-08 13:00"),
    ),
    Golden(
        "effects-after-change",
        "The gift was begun while the rule was withdrawn; the mail before it is none of them.",
        "key tool outcome change change_position by in_force text",
        [(GIFT.key, "send_gift", "succeeded", "withdrawn", 6, "human:sam", 0, None)],
        {"run": "run-03", "id": "no-gifts"},
    ),
    Golden(
        "before-acceptance",
        "Kim asserted the limit at eight; 70 EUR were paid at a quarter to nine, and the agent accepted the "
        "limit at nine. What was paid later is none.",
        "run position id asserted_by asserted_at known_by accepted_by accepted_at effect_key effect_at "
        "former_text",
        [
            (
                *("run-06", 5, "limit-50", "human:kim", at("03-07 08:00"), "stated", "agent:desk"),
                *(at("03-07 09:00"), EARLY.key, at("03-07 08:45"), None),
            )
        ],
        {"run": "run-06"},
    ),
    Golden(
        "before-acceptance",
        "The new words were published at eight, a fee was paid at half past under the old ones, and they "
        "were accepted at nine.",
        "run position known_by asserted_at effect_key former_text",
        [("run-02", 9, "published", at("03-05 08:00"), BETWEEN.key, LIMIT_100)],
        {"run": "run-02"},
    ),
    Golden(
        "affected-runs",
        "Who accepted limit-100: run 01 is closed and never looked again; run 02 took over revision 2, which "
        "ended its first acceptance; run 07 accepted revision 2. The source withdrew it on the 12th.",
        "run position id revision source_position status closed behind now",
        [
            ("run-01", 2, "limit-100", "1", 2, "in_force", 1, 1, "withdrawn"),
            ("run-02", 2, "limit-100", "1", 2, "ended", 0, None, "withdrawn"),
            ("run-02", 9, "limit-100", "2", 3, "in_force", 0, 1, "withdrawn"),
            ("run-07", 2, "limit-100", "2", 3, "in_force", 0, 1, "withdrawn"),
        ],
        {"source": _REFUNDS, "item": "limit-100"},
    ),
)

_BROKEN = "run key effect_position constraint constraint_position source revision asserted_by value view"

BROKEN = (
    Golden(
        "violations",
        "150 EUR against a limit of 100. 99.99 were fine; so were 90 against a limit of 50 that was valid "
        "until the day before, as it said itself when it was accepted. In run 46 nobody was asked.",
        _BROKEN,
        [
            (
                *("run-07", TOO_MUCH.key, 4, "limit-100", 2, _REFUNDS, "2", "human:kim"),
                *('"150.00"', "recorded"),
            ),
            ("run-46", UNASKED.key, 4, "ask-100", 2, "policy:payments", "9", "human:max", None, "recorded"),
        ],
    ),
    Golden(
        "violations-corrected",
        "By what is known now the limit of run 08 was valid from the 7th, so its 80 EUR broke it although it "
        "was accepted later; that of run 09 had ended.",
        _BROKEN,
        [
            ("run-07", TOO_MUCH.key, 4, "limit-100", 2, _REFUNDS, "2", "human:kim", '"150.00"', "both"),
            ("run-08", BACKDATED.key, 3, "limit-50", 5, None, None, "human:kim", '"80.00"', "corrected"),
            ("run-46", UNASKED.key, 4, "ask-100", 2, "policy:payments", "9", "human:max", None, "both"),
        ],
    ),
    Golden(
        "violations-corrected",
        "As of noon of the 8th less a minute nobody knew of the limit of run 08.",
        "run key",
        [("run-07", TOO_MUCH.key)],
        as_of=when("03-08 11:59"),
    ),
    Golden(
        "refused-calls",
        "Two refunds by the rule of the limit, which was accepted at position 2; one step off the plan.",
        "rule position tool step refused_by args actor evidence",
        [
            (
                *("constraint_violated", 3, "refund", "pay", 2),
                *('{"amount":"70.00","booking":10}', "agent:desk", '{"limit":"50"}'),
            ),
            (
                *("constraint_violated", 4, "refund", "pay", 2),
                *('{"amount":"60.00","booking":10}', "agent:desk", '{"limit":"50"}'),
            ),
            ("off_plan", 5, "send_gift", "gift", None, None, "agent:desk", None),
        ],
        {"run": "run-10"},
    ),
    Golden(
        "refused-calls",
        "The same by their rule alone, in all runs.",
        "run position",
        [("run-10", 3), ("run-10", 4), ("run-45", 3)],
        {"rule": "constraint_violated"},
    ),
)

ANSWERS = (*IN_FORCE, *CHANGED, *BROKEN)
