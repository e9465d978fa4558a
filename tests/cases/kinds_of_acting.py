"""Kinds about acts on the outside: done twice, or begun again although nobody knows what became of them."""

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
        "effects/test_replays.py::test_a_replay_of_what_was_replayed_calls_nothing_and_adds_nothing",
        rest="approvals",
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
        rest="approvals",
    ),
)
