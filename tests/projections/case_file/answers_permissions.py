"""Golden answers about grants and approvals."""

from __future__ import annotations

from tests.projections.case_file.consent import WAITED
from tests.projections.case_file.golden import Golden, at
from tests.projections.case_file.pen import when
from tests.projections.case_file.permissions import (
    AS_ASKED,
    ASKED,
    BY_AGENT,
    BY_ITSELF,
    CHILDS,
    DENIED,
    EXPIRED,
    FORGOTTEN,
    GRANTED,
    NO_GRANT,
    OTHER_TERMS,
    OTHERWISE,
    RENEWED,
    TOO_LATE,
    TWICE,
)

AUTHORITY = (
    Golden(
        "authority-of-effect",
        "Paid in the morning, on a grant until noon that was renewed later.",
        "run position valid_at_act covers grant principal session scopes budget expires_at granted_by "
        "granted_position actor_of_grant renewed_position revoked_at",
        [
            (
                *("run-12", 3, "yes", 1, "g-12", "agent:desk", "s-1", '["refund"]', '{"EUR":"40.00"}'),
                *(at("03-14 12:00"), "human:kim", 2, "human:kim", None, None),
            )
        ],
        {"key": GRANTED.key},
    ),
    Golden(
        "authority-of-effect",
        "Paid half past twelve: the same grant, renewed at noon until six.",
        "position valid_at_act expires_at renewed_position",
        [(7, "yes", at("03-14 18:00"), 6)],
        {"key": RENEWED.key},
    ),
    Golden(
        "authority-of-effect",
        "An hour after the grant had ended, by somebody nobody authenticated; revoked only later.",
        "position valid_at_act expires_at granted_by revoked_position revoked_at revoked_by",
        [(3, "expired", at("03-14 10:00"), "human:sam", 9, at("03-14 11:30"), "human:kim")],
        {"key": EXPIRED.key},
    ),
    Golden(
        "authority-of-effect",
        "The mail cites no grant.",
        "position valid_at_act grant",
        [(6, "none", None)],
        {"key": NO_GRANT.key},
    ),
    Golden(
        "authority-of-effect",
        "The child drew on its own part of its parent's grant.",
        "run grant budget carved_run carved_id valid_at_act",
        [("run-15", "c-1", '{"EUR":"10.00"}', "run-14", "g-14", "yes")],
        {"key": CHILDS.key},
    ),
)

_EXECUTED = "approval key answer approved_args executed executed_args same executed_key terms_same tool_same"
_ARGS = '{"amount":"%s","booking":%d}'

APPROVALS = (
    Golden(
        "approved-against-executed",
        "Paid as asked.",
        _EXECUTED,
        [
            (
                *("a-16", AS_ASKED.key, "approved", _ARGS % ("120.00", 16), 1),
                *(_ARGS % ("120.00", 16), 1, AS_ASKED.key, 1, 1),
            )
        ],
        {"run": "run-16"},
    ),
    Golden(
        "approved-against-executed",
        "120 EUR were approved, 210 were paid on it.",
        _EXECUTED,
        [
            (
                *("a-17", ASKED.key, "approved", _ARGS % ("120.00", 17), 1),
                *(_ARGS % ("210.00", 17), 0, OTHERWISE.key, 1, 1),
            )
        ],
        {"run": "run-17"},
    ),
    Golden(
        "approved-against-executed",
        "The goal was revised in between, so the terms were others.",
        "approval executed same terms_same",
        [("a-21", 1, 1, 0)],
        {"run": "run-21"},
    ),
    Golden(
        "approved-against-executed",
        "Denied, and nothing was done.",
        "approval answer answered_by executed executed_args",
        [("a-22", "denied", "human:kim", 0, None)],
        {"run": "run-22"},
    ),
    Golden(
        "approvers",
        "All answers of the 16th: Kim twice, another agent, and Sam to the request of Sam, whom a grant "
        "entitles; of the others nothing says who may approve. Only Kim's count: an agent approves nothing, "
        "and nobody what they asked for.",
        "run approval answer counts by actor authenticated_by role is_person is_requester entitled "
        "entitled_by",
        [
            (
                *("run-16", "a-16", "approved", 1, "human:kim", "human:kim", "oidc", "lead"),
                *(1, 0, "unknown", None),
            ),
            (
                *("run-17", "a-17", "approved", 1, "human:kim", "human:kim", "oidc", "lead"),
                *(1, 0, "unknown", None),
            ),
            (
                *("run-18", "a-18", "approved", 0, "agent:checker", "agent:checker", "mtls", None),
                *(0, 0, "unknown", None),
            ),
            (
                *("run-19", "a-19", "approved", 0, "human:sam", "human:sam", None, None),
                *(1, 1, "yes", "grant:g-19"),
            ),
        ],
        {"since": when("03-16 00:00"), "before": when("03-17 00:00")},
    ),
    Golden(
        "approvers",
        "A service carried Kim's answer in, too late to count.",
        "by actor actor_kind on_behalf_of is_person counts",
        [("human:kim", "service:relay", "service", '["human:kim"]', 1, 0)],
        {"run": "run-20"},
    ),
    Golden(
        "void-approvals",
        "The answer came an hour late, and the act began on it all the same: past its time, and on no "
        "answer.",
        "position why answer executed_key executed_position",
        [
            (4, "late", "approved", None, None),
            (6, "expired", None, TOO_LATE.key, 5),
            (6, "not_approved", None, TOO_LATE.key, 5),
        ],
        {"run": "run-20"},
    ),
    Golden(
        "void-approvals",
        "Another agent answered, so nobody had approved what was paid on it; an hour later Sam answered what "
        "Sam had asked.",
        "run position why answer executed_key",
        [
            ("run-18", 4, "not_a_person", "approved", None),
            ("run-18", 6, "not_approved", None, BY_AGENT.key),
            ("run-19", 5, "by_requester", "approved", None),
            ("run-19", 7, "not_approved", None, BY_ITSELF.key),
        ],
        {"since": when("03-16 11:00"), "before": when("03-16 13:00")},
    ),
    Golden(
        "void-approvals",
        "The act is another than was asked about.",
        "why key executed_key",
        [("key_changed", ASKED.key, OTHERWISE.key)],
        {"run": "run-17"},
    ),
    Golden(
        "void-approvals",
        "The goal changed between answer and act.",
        "why answered_position executed_position",
        [("terms_changed", 4, 6)],
        {"run": "run-21"},
    ),
    Golden(
        "void-approvals",
        "Lee's no came after Kim's yes; what Sam answered was never asked; the gift was forgotten.",
        "position why approval answer answered_by",
        [
            (5, "conflicting", "a-23", "denied", "human:lee"),
            (6, "unknown_id", "a-99", "approved", "human:sam"),
            (11, "unanswered", "a-23-gift", None, None),
        ],
        {"run": "run-23"},
    ),
    Golden(
        "void-approvals",
        "Before the request for the gift had expired it was open and not forgotten.",
        "position why",
        [(5, "conflicting"), (6, "unknown_id")],
        {"run": "run-23"},
        now=when("03-18 11:30"),
    ),
    Golden(
        "effects",
        "What was done on Kim's approvals: as asked, otherwise than asked, under other terms, once against "
        "Lee's word, and as asked once more. The late answer made no approval.",
        "run position key approval status",
        [
            ("run-16", 5, AS_ASKED.key, "a-16", "succeeded"),
            ("run-17", 5, OTHERWISE.key, "a-17", "succeeded"),
            ("run-21", 6, OTHER_TERMS.key, "a-21", "succeeded"),
            ("run-23", 7, TWICE.key, "a-23", "succeeded"),
            ("run-43", 6, WAITED.key, "a-43", "succeeded"),
        ],
        {"approver": "human:kim"},
    ),
    Golden(
        "effects",
        "What was intended and never begun in the runs about approvals.",
        "run position key",
        [("run-17", 2, ASKED.key), ("run-22", 2, DENIED.key), ("run-23", 10, FORGOTTEN.key)],
        {"status": "pending", "before": when("03-19 00:00")},
    ),
    Golden(
        "effects",
        "What another agent said yes to is approved by nobody.",
        "run key approver",
        [],
        {"approver": "agent:checker"},
    ),
    Golden(
        "effects",
        "Nor by Sam what Sam had asked for; the act cites the request all the same.",
        "run key approver",
        [("run-19", BY_ITSELF.key, None)],
        {"approval": "a-19"},
    ),
)

ANSWERS = (*AUTHORITY, *APPROVALS)
