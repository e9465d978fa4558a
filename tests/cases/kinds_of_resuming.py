"""Kinds about going on after a stop: what was lost, lapsed or changed meanwhile, and nobody asked about."""

from __future__ import annotations

from typing import Final

from tests.cases.kind import covered

RESUMING: Final = (
    covered(
        "020",
        "to go back inside a nested run begins all of it anew",
        "cases/test_resumes.py::test_a_position_inside_a_child_is_where_its_fork_stands",
        "run/test_forks.py::test_a_fork_stands_where_its_origin_stood_and_may_and_owes_nothing",
    ),
    covered(
        "021 022 023",
        "what is wanted and owed stands in the transcript alone, and is lost when that is summarised",
        "cases/test_resumes.py::test_the_latest_goal_and_every_constraint_outlive_the_transcript",
        "run/test_resuming.py::test_the_digest_is_of_what_the_contract_says_right_after_the_resume",
        "run/test_meanwhile.py::test_a_seam_tells_the_gap_the_verdict_and_what_changed",
    ),
    covered(
        "024",
        "a recovered run waits between two steps, and nobody is told that it does",
        "cases/test_resumes.py::test_a_run_recovered_at_a_step_boundary_tells_since_when_nothing_was_heard_of_it",
    ),
    covered(
        "025",
        "a run waits for an act of its own that nobody will ever report",
        "cases/test_resumes.py::test_an_act_that_a_suspended_run_left_open_is_unknown_and_a_person_leads_out",
        "gate/test_acting.py::test_a_lease_that_lapsed_leaves_unknown_what_was_being_executed",
    ),
    covered(
        "026",
        "an approval that was given under another policy is used all the same",
        "cases/test_resumes.py::test_an_approval_that_was_given_under_other_terms_is_cited_as_lapsed",
        "cases/test_approvals.py::test_an_approval_is_not_used_under_another_policy",
        "application/test_approvals_between.py"
        "::test_what_changes_the_terms_after_the_approval_has_a_person_asked_anew",
        "gate/test_acting.py::test_an_approval_binds_to_what_it_was_asked_under",
    ),
    covered(
        "027",
        "authority is looked at once, when the run begins",
        "cases/test_resumes.py::test_authority_is_looked_at_with_each_act",
        "application/test_approvals_together.py"
        "::test_an_answer_and_the_revocation_of_the_grant_at_once_leave_no_act_without_authority",
        "gate/test_acting.py::test_what_was_revoked_is_remembered_until_the_run_goes_on",
    ),
    covered(
        "028",
        "a program that was edited goes on from where the old one stopped",
        "cases/test_resumes.py::test_an_approval_is_void_once_the_plan_or_the_program_is_another",
        "cases/test_approvals.py::test_an_approval_is_not_used_by_a_program_that_was_edited",
        "gate/test_holding.py::test_each_field_of_the_fingerprint_is_compared_where_both_say_it",
    ),
    covered(
        "029",
        "after days a run goes on that nobody wants any more",
        "cases/test_resumes.py::test_who_was_away_for_days_is_asked_whether_the_goal_still_holds",
        "gate/test_holding.py::test_a_run_that_nobody_stopped_is_idle_until_somebody_still_wants_it",
    ),
)
