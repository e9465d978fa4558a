"""Kinds about acts on the outside: done twice, begun again in doubt, or done without who has to allow it."""

from __future__ import annotations

from typing import Final

from tests.cases.kind import covered

ACTING: Final = (
    # --- done twice ------------------------------------------------------------------------------
    covered(
        "005",
        "a retry after a crash between the deed and its record does it again",
        "effects/test_crashes.py::test_a_killed_worker_leaves_what_its_recovery_allows",
        "effects/test_crashes.py::test_a_successor_that_is_killed_too_leaves_no_more",
        "effects/test_crashes.py::test_reconciling_asks_about_what_a_killed_worker_left",
        "effects/test_lost_acknowledgements.py::test_what_a_store_that_stays_away_does_not_keep_is_found_out_later",
        "cases/test_acts.py::test_an_act_without_a_receipt_is_not_done_again_for_want_of_it",
    ),
    covered(
        "006 007",
        "a program that begins anew at each answer does again what it did before the question",
        "cases/test_acts.py::test_a_program_that_begins_anew_after_each_answer_acts_once",
        "cases/test_approvals.py::test_a_program_that_begins_anew_after_each_approval_acts_once",
        "effects/test_replays.py::test_a_replay_of_what_was_replayed_calls_nothing_and_adds_nothing",
    ),
    covered(
        "008",
        "who recovers at its start does again what is being done in the same process",
        "cases/test_acts.py::test_who_recovers_everything_leaves_to_its_worker_what_is_being_done",
        "effects/test_races.py::test_of_a_crowd_at_one_key_one_executes",
        "adapters/cli/test_reconcile.py::test_what_a_worker_is_executing_is_left_to_it",
    ),
    covered(
        "009",
        "a nested run does again what it did before it stopped",
        "cases/test_acts.py::test_what_a_child_did_before_it_stopped_is_told_to_whoever_goes_on",
        "cases/test_acts.py::test_an_act_without_a_receipt_is_not_done_again_for_want_of_it",
        "effects/test_races.py::test_the_runs_of_a_lineage_execute_one_act_once",
        "effects/test_races.py::test_what_an_ancestor_has_begun_is_in_flight_for_its_heir_and_lapses_for_it_too",
    ),
    # --- nobody knows ----------------------------------------------------------------------------
    covered(
        "017 019",
        "nothing is written before the act, so nobody can ask what became of it before it is done again",
        "application/test_performing.py::test_intent_and_start_are_stored_before_the_call",
        "effects/test_crashes.py::test_a_killed_worker_leaves_what_its_recovery_allows",
        "effects/test_crashes.py::test_a_person_settles_what_can_be_neither_asked_nor_deduped",
        "cases/test_acts.py::test_an_act_without_a_receipt_is_not_done_again_for_want_of_it",
        "cases/test_acts.py::test_what_nobody_classified_is_never_begun_again_by_itself",
        "gateway/test_tools.py::test_a_tool_of_which_nothing_is_said_is_never_done_again_and_listed_as_such",
    ),
    covered(
        "018",
        "an approved payment whose record was lost in a crash is made again",
        "cases/test_acts.py::test_what_nobody_classified_is_never_begun_again_by_itself",
        "effects/test_crashes.py::test_a_killed_worker_leaves_what_its_recovery_allows",
        "cases/test_approvals.py::test_an_approved_payment_whose_record_was_lost_is_not_made_again",
        "effects/test_approvals.py::test_who_performs_what_was_approved_is_killed_and_it_is_done_once",
    ),
    # --- waits for a person ----------------------------------------------------------------------
    covered(
        "010",
        "after an approval the session holds the answer to a call without the call",
        "cases/test_approvals.py::test_a_call_its_approval_and_its_result_are_one_record_whoever_reads_it",
        "application/test_approvals_moved.py"
        "::test_acts_that_wait_are_answered_and_performed_where_their_run_was_moved_to",
    ),
    covered(
        "011",
        "a result that somebody hands in passes for the approval that a call needs",
        "cases/test_approvals.py::test_a_result_is_no_answer_to_who_asks_whether_the_act_may_be_done",
        "adapters/langgraph/acting/test_approvals.py"
        "::test_what_is_no_answer_is_refused_and_may_be_answered_again",
    ),
    covered(
        "012",
        "calls that wait side by side share one id, and answers go astray",
        "cases/test_approvals.py"
        "::test_acts_that_wait_side_by_side_have_requests_of_their_own_and_answers_find_them",
        "application/test_approvals_together.py::test_claims_that_wait_in_one_group_are_requests_of_their_own",
        "application/test_approvals_together.py::test_all_who_ask_at_once_are_told_of_one_request",
        "adapters/langgraph/acting/test_approvals.py"
        "::test_answers_to_calls_that_run_at_once_go_to_what_each_was_asked_about",
        "adapters/langgraph/acting/test_approvals.py"
        "::test_the_calls_of_one_node_ask_one_after_another_and_no_answer_goes_to_another",
    ),
    covered(
        "013",
        "an answer to what is not, or no longer, asked is passed over in silence",
        "cases/test_approvals.py"
        "::test_an_answer_that_finds_nothing_to_answer_is_told_so_and_is_no_silent_yes",
        "application/test_approvals_together.py"
        "::test_of_two_who_answer_at_once_the_first_counts_and_both_are_recorded",
        "application/test_approvals_lost.py"
        "::test_an_answer_that_counted_is_told_so_whatever_happened_before_it_is_said_again",
        "application/test_approvals_lost.py"
        "::test_an_answer_that_did_not_count_is_told_so_whatever_happened_before_it_is_said_again",
        "adapters/langgraph/acting/test_approvals.py::test_an_answer_to_what_nobody_asked_is_an_error",
    ),
    covered(
        "014 015",
        "a branch or a replay takes the answer that its origin was given",
        "cases/test_approvals.py::test_a_branch_has_answers_of_its_own_and_leaves_those_of_its_origin_alone",
        "cases/test_approvals.py::test_a_replay_from_before_or_after_an_approval_takes_nobodys_yes",
        "application/test_approvals_together.py::test_runs_of_one_lineage_ask_each_for_itself_and_act_once",
        "adapters/langgraph/acting/test_approvals.py"
        "::test_a_branch_from_before_the_question_asks_anew_where_the_model_asks_anew",
        "adapters/langgraph/acting/test_approvals.py"
        "::test_a_branch_from_the_question_itself_asks_about_the_same_act_and_finds_its_answer",
        "adapters/langgraph/acting/test_approvals.py::test_another_thread_inherits_no_approval",
    ),
    covered(
        "016",
        "what a nested run waits for is kept in memory, and lost on the way through JSON",
        "cases/test_approvals.py::test_a_nested_run_waits_in_the_record_alone_and_goes_on_from_a_copy_of_it",
        "effects/test_approvals.py::test_who_asks_is_killed_and_another_asks_the_same_person_no_second_time",
    ),
    # --- in whose name ---------------------------------------------------------------------------
    covered(
        "001",
        "an approval is stored that nobody is known to have given",
        "cases/test_authority.py::test_an_answer_names_a_person_and_who_wrote_it_and_how_that_was_proven",
        "cases/test_authority.py::test_where_only_authenticated_people_are_heard_no_other_answer_is_taken",
        "cases/test_authority.py::test_where_only_authenticated_people_are_heard_they_are",
    ),
    covered(
        "002",
        "an agent gives itself the approval that it needs",
        "cases/test_authority.py::test_an_agent_answers_nothing_in_whatever_name",
        "application/test_approvals_moved.py"
        "::test_what_was_imported_as_an_answer_and_is_none_lets_nothing_begin",
    ),
    covered(
        "003",
        "somebody acts as somebody else, and the record names one of the two",
        "cases/test_authority.py"
        "::test_each_event_says_who_wrote_it_in_whose_name_and_each_hop_of_a_grant_has_an_id",
    ),
    covered(
        "004",
        "an audit cites a policy that was mended in its place since",
        "cases/test_authority.py"
        "::test_an_act_is_bound_to_the_words_it_was_admitted_under_whatever_the_policy_says_later",
        "application/test_approvals_between.py"
        "::test_what_else_the_source_says_anew_is_decided_again_and_the_approval_holds",
    ),
)
