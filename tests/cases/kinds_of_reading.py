"""Kinds about reading: queries, snapshots, restored copies, following, and running it all."""

from __future__ import annotations

from typing import Final

from tests.cases.kind import cannot_occur, comes_with, covered

READING: Final = (
    # --- asking ----------------------------------------------------------------------------------
    covered(
        "117 118",
        "an id or a filter is a pattern or a piece of a query",
        "cases/test_names.py::test_a_filter_compares_text_and_nothing_else",
        "stores/test_reading.py::test_names_that_look_alike_stay_apart",
    ),
    covered(
        "119",
        "a filter nobody knows lists everything",
        "application/test_reading.py::test_an_unknown_filter_is_refused",
        "stores/test_reading.py::test_a_search_names_exactly_one_digest",
    ),
    # --- snapshots, copies -----------------------------------------------------------------------
    covered(
        "121",
        "what stands at the edge of a snapshot is lost when its format changes",
        "stores/test_snapshots.py::test_loading_is_the_nearest_snapshot_and_what_came_after",
        "application/test_reading.py::test_a_snapshot_anywhere_and_its_tail_are_the_full_fold",
        "application/test_reading.py::test_a_snapshot_of_another_fold_is_passed_over",
    ),
    covered(
        "159",
        "a snapshot that fails makes an append look failed",
        "application/test_reading.py::test_a_failing_snapshot_never_fails_the_append",
        "stores/test_sqlite_faults.py::test_a_snapshot_that_cannot_be_saved_harms_no_append",
        "stores/test_snapshots.py::test_a_second_snapshot_at_a_position_replaces_the_first",
    ),
    covered(
        "160",
        "a snapshot is believed where the log says otherwise",
        "stores/test_snapshots.py::test_a_snapshot_that_is_not_on_the_chain_is_passed_over",
        "integrity/test_beside.py::test_a_snapshot_that_is_not_the_fold_is_found",
    ),
    covered(
        "161",
        "snapshots are taken and never used",
        "application/test_reading.py::test_loading_reads_only_what_the_snapshot_lacks",
    ),
    covered(
        "162",
        "what was remembered outlives a history that was set back",
        "cases/test_copies.py::test_a_snapshot_of_a_history_that_was_set_back_is_not_used",
        "cases/test_copies.py::test_a_handle_ahead_of_a_restored_ledger_writes_nothing",
        "cases/test_copies.py::test_a_handle_does_not_go_on_from_another_history_of_the_same_length",
    ),
    covered(
        "163",
        "a snapshot of an older fold is taken for the present one's",
        "application/test_reading.py::test_a_snapshot_of_another_fold_is_passed_over",
        "run/test_state.py::test_the_same_events_yield_the_same_contracts_in_every_release_of_this_fold",
    ),
    covered(
        "113",
        "restored rows collide with what is appended next",
        "cases/test_copies.py::test_a_restored_ledger_goes_on_behind_its_last_event",
        rest="PostgreSQL",
    ),
    comes_with("147", "a reader's place is ahead of a ledger that was restored from a backup", "projections"),
    covered(
        "164",
        "a place in the global order is given twice",
        "stores/test_sqlite.py::test_a_global_position_is_never_given_twice",
        "stores/test_sqlite.py::test_no_event_is_changed_removed_or_replaced_by_sql",
    ),
    # --- the global order, and following it ------------------------------------------------------
    covered(
        "133",
        "a row of failed appends stalls the reader",
        "stores/test_races.py::test_refusals_at_once_are_typed_and_leave_nothing_behind",
    ),
    covered(
        "134",
        "what is visible is put together from several moments",
        "stores/test_races.py::test_what_a_follower_has_passed_is_complete",
        rest="PostgreSQL",
    ),
    covered(
        "135 140 143",
        "a follower at the end misses events under load",
        "stores/test_races.py::test_followers_under_load_miss_nothing_and_see_nothing_twice",
        "stores/recording/test_subscription.py::test_a_follower_misses_and_doubles_nothing_while_many_write",
        rest="PostgreSQL",
    ),
    comes_with("136", "an event is given up because its neighbour grew old", "PostgreSQL"),
    comes_with("137", "writers under different locks commit out of order", "PostgreSQL"),
    comes_with("138", "a restarted server or a jump in the numbers stops the reader for good", "PostgreSQL"),
    comes_with("139", "a place is one number where the order needs two", "PostgreSQL"),
    comes_with("141", "a pooler in between makes followers skip events", "PostgreSQL"),
    comes_with("142", "the quick way of writing gives up the order of the slow one", "PostgreSQL"),
    comes_with("148", "the global order is paid for in throughput", "PostgreSQL"),
    covered(
        "149",
        "random ids scatter over the index",
        "cases/test_times.py::test_ids_of_events_rise_with_time",
        "cases/test_times.py::test_a_ledger_draws_ids_that_rise_with_time",
    ),
    covered(
        "114",
        "no notifications, so nothing is followed",
        "stores/test_waiting.py::test_what_nobody_announces_is_found_by_looking_again",
    ),
    covered(
        "125",
        "announcing costs where nobody listens",
        "stores/test_waiting.py::test_an_announcement_takes_no_lock_while_nobody_waits",
        rest="PostgreSQL",
    ),
    covered(
        "126",
        "what is committed between looking and waiting is missed",
        "stores/test_waiting.py::test_an_announcement_between_looking_and_waiting_is_not_missed",
        rest="PostgreSQL",
    ),
    covered(
        "127",
        "announcing makes commits wait for one another",
        "stores/test_waiting.py::test_an_announcement_wakes_all_who_wait_together",
        rest="PostgreSQL",
    ),
    covered(
        "128",
        "announcements that never arrive stop the reader",
        "stores/test_waiting.py::test_what_nobody_announces_is_found_by_looking_again",
        rest="PostgreSQL",
    ),
    cannot_occur(
        "166",
        "a dropped subscription is told only once",
        "nothing is called back: a follower is an iterator, and each that is cut off raises or ends",
        "stores/recording/test_subscription.py::test_a_closed_ledger_ends_a_subscription_with_an_error",
        "application/test_reading.py::test_a_live_follower_ends_with_the_ledger_or_when_nothing_comes",
    ),
    covered(
        "167",
        "what a filter leaves out holds the place back",
        "stores/test_reading.py::test_a_follower_of_one_tenant_moves_past_the_records_of_others",
        "stores/recording/test_subscription.py::test_events_of_other_topics_move_the_position",
    ),
    comes_with("168", "each subscription keeps a connection for its lock", "projections"),
    covered(
        "169",
        "no subscriptions on the embedded store",
        "stores/recording/test_runs.py::test_a_projection_of_eventsourcing_follows_runs",
        "stores/recording/test_applications.py::test_a_projection_follows_an_application_while_it_works",
        "application/test_reading.py::test_a_live_follower_gets_what_is_written_later",
    ),
    # --- operating -------------------------------------------------------------------------------
    comes_with("124", "a migration of a large table stops the writers", "PostgreSQL"),
    comes_with("129", "verifying everything, every time, takes all night", "seals"),
    cannot_occur(
        "130",
        "rows from before the chain make its first link a lie",
        "no release stored an event without its hash, and what happened elsewhere enters as events",
        "record/test_decoding.py::test_a_record_without_one_of_its_fields_is_undecodable",
        "integrity/test_chain.py::test_a_first_event_that_names_one_before_it_is_found",
    ),
    covered(
        "131",
        "a detected loss has the exit code of a check that could not run",
        "adapters/cli/test_verify.py::test_a_detected_truncation_does_not_share_the_code_of_could_not_run",
        "adapters/cli/test_entry.py::test_no_two_endings_share_a_code",
    ),
    covered(
        "132",
        "verifying keeps the writers waiting",
        "adapters/cli/test_verify.py::test_writers_are_not_kept_waiting",
        "stores/test_sqlite.py::test_a_long_read_neither_blocks_nor_sees_later_appends",
    ),
    covered(
        "144",
        "each batch opens a connection and leaves it",
        "stores/test_sqlite.py::test_reading_and_appending_opens_no_connection_each_time",
        rest="projections",
    ),
    cannot_occur(
        "145",
        "the tables cannot be made inside a caller's transaction",
        "a store opens connections of its own and makes its tables in a transaction of its own",
        "stores/test_sqlite_file.py::test_threads_that_open_a_new_file_at_once_all_find_a_ledger",
    ),
    comes_with("146", "listening takes the connection that appending needs", "PostgreSQL"),
    covered(
        "170",
        "no way to specify what a history and a command yield",
        "test_testing.py::test_the_example_of_the_module_runs",
        "test_testing.py::test_a_history_goes_back_to_a_position_or_a_moment",
        rest="projections",
    ),
)
