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
        "stores/test_postgres_faults.py::test_snapshots_that_somebody_keeps_locked_harm_no_append",
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
        "stores/test_postgres_order.py::test_a_ledger_restored_into_a_server_with_lower_transaction_ids_goes_on_above",
        "stores/test_postgres_order.py::test_rows_beyond_the_transaction_ids_are_noticed_on_the_same_server",
        "stores/test_postgres_order.py::test_a_replica_that_is_promoted_goes_on_above_what_its_primary_showed",
    ),
    covered(
        "164",
        "a place in the global order is given twice",
        "stores/test_sqlite.py::test_a_global_position_is_never_given_twice",
        "stores/test_sqlite.py::test_no_event_is_changed_removed_or_replaced_by_sql",
        "stores/test_postgres_order.py::test_a_replica_that_is_promoted_goes_on_above_what_its_primary_showed",
        "stores/test_postgres_history.py::test_every_attempt_of_a_writer_to_alter_history_is_refused",
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
        "stores/test_postgres_followers.py::test_commits_between_the_statements_of_a_follower_are_not_skipped",
    ),
    covered(
        "135 140 143",
        "a follower at the end misses events under load",
        "stores/test_races.py::test_followers_under_load_miss_nothing_and_see_nothing_twice",
        "stores/recording/test_subscription.py::test_a_follower_misses_and_doubles_nothing_while_many_write",
        "stores/test_postgres_order.py::test_followers_of_several_processes_see_the_same_order",
        "stores/test_postgres_followers.py::test_a_transaction_that_outlasts_all_others_costs_followers_no_event",
        "aio/test_following.py::test_tasks_that_follow_while_many_write_miss_and_double_nothing",
    ),
    covered(
        "136",
        "an event is given up because its neighbour grew old",
        "stores/test_postgres_followers.py::test_nothing_is_given_up_because_its_neighbour_grew_old",
        "stores/test_postgres_order.py::test_a_write_transaction_in_another_database_holds_followers_back_and_is_named",
        "stores/test_postgres_stall.py::test_one_transaction_that_holds_back_for_long_is_noticed_once_in_each_stretch",
    ),
    covered(
        "137",
        "writers under different locks commit out of order",
        "stores/test_postgres_followers.py::test_whatever_is_not_committed_yet_is_neither_skipped_nor_waited_for",
        "stores/test_postgres_order.py::test_of_two_transactions_neither_is_skipped_in_whichever_order_they_commit",
    ),
    covered(
        "138",
        "a restarted server or a jump in the numbers stops the reader for good",
        "stores/test_postgres_followers.py::test_a_follower_goes_on_over_restarts_and_jumps_of_the_numbers",
        "stores/test_postgres_faults.py::test_a_follower_goes_on_over_lines_that_are_cut",
    ),
    covered(
        "139",
        "a place is one number where the order needs two",
        "stores/test_postgres_order.py::test_of_two_transactions_neither_is_skipped_in_whichever_order_they_commit",
        "stores/test_postgres_order.py::test_the_events_of_a_transaction_stand_together_in_the_order_they_were_given",
        "stores/test_postgres_order.py::test_a_transaction_that_took_its_id_early_does_not_come_behind_its_own_past",
    ),
    covered(
        "141",
        "a pooler in between makes followers skip events",
        "stores/test_postgres_followers.py::test_followers_behind_a_pooler_skip_nothing",
        "stores/test_races.py::test_followers_under_load_miss_nothing_and_see_nothing_twice",
    ),
    covered(
        "142",
        "the quick way of writing gives up the order of the slow one",
        "stores/test_postgres_followers.py::test_whatever_is_not_committed_yet_is_neither_skipped_nor_waited_for",
        "stores/test_postgres_order.py::test_of_two_transactions_neither_is_skipped_in_whichever_order_they_commit",
    ),
    covered(
        "148",
        "the global order is paid for in throughput",
        "stores/test_postgres_followers.py::test_whatever_is_not_committed_yet_is_neither_skipped_nor_waited_for",
        "stores/test_postgres_waiting.py::test_no_statement_notifies_listens_or_keeps_other_writers_out",
    ),
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
        "stores/test_postgres_waiting.py::test_no_statement_notifies_listens_or_keeps_other_writers_out",
    ),
    covered(
        "126",
        "what is committed between looking and waiting is missed",
        "stores/test_waiting.py::test_an_announcement_between_looking_and_waiting_is_not_missed",
        "stores/test_postgres_waiting.py::test_what_is_committed_between_looking_and_waiting_is_found",
    ),
    covered(
        "127",
        "announcing makes commits wait for one another",
        "stores/test_waiting.py::test_an_announcement_wakes_all_who_wait_together",
        "stores/test_postgres_waiting.py::test_no_statement_notifies_listens_or_keeps_other_writers_out",
    ),
    covered(
        "128",
        "announcements that never arrive stop the reader",
        "stores/test_waiting.py::test_what_nobody_announces_is_found_by_looking_again",
        "stores/test_postgres_waiting.py::test_no_statement_notifies_listens_or_keeps_other_writers_out",
        "stores/test_waiting.py::test_what_another_store_on_the_same_file_commits_is_noticed",
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
    covered(
        "169",
        "no subscriptions on the embedded store",
        "stores/recording/test_runs.py::test_a_projection_of_eventsourcing_follows_runs",
        "stores/recording/test_applications.py::test_a_projection_follows_an_application_while_it_works",
        "application/test_reading.py::test_a_live_follower_gets_what_is_written_later",
    ),
    # --- operating -------------------------------------------------------------------------------
    covered(
        "124",
        "a migration of a large table stops the writers",
        "stores/test_postgres_migrations.py::test_no_migration_rewrites_a_table_that_is_there_or_builds_an_index_on_it",
        "stores/test_postgres_migrations.py::test_a_migration_that_is_kept_waiting_gives_up_before_writers_do",
    ),
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
        "stores/test_postgres_waiting.py::test_a_long_read_keeps_neither_writers_nor_followers_waiting",
    ),
    covered(
        "144",
        "each batch opens a connection and leaves it",
        "stores/test_sqlite.py::test_reading_and_appending_opens_no_connection_each_time",
        "stores/test_postgres.py::test_the_number_of_connections_stays_small",
        "stores/test_postgres_read_models.py::test_however_many_runners_keep_no_connection",
    ),
    cannot_occur(
        "145",
        "the tables cannot be made inside a caller's transaction",
        "a store opens connections of its own and makes its tables in a transaction of its own",
        "stores/test_sqlite_file.py::test_threads_that_open_a_new_file_at_once_all_find_a_ledger",
        "stores/test_postgres.py::test_those_who_open_at_once_all_succeed",
    ),
    covered(
        "146",
        "listening takes the connection that appending needs",
        "stores/test_postgres_waiting.py::test_those_who_wait_keep_no_connection_from_those_who_read_and_write",
        "stores/test_postgres_waiting.py::test_a_store_that_could_not_read_is_refused_when_it_is_opened",
        "stores/test_postgres.py::test_who_finds_no_connection_free_in_time_is_told_so",
        "aio/test_following.py::test_however_many_tasks_follow_others_read_and_write",
    ),
    covered(
        "170",
        "no way to specify what a history and a command yield",
        "test_testing.py::test_the_example_of_the_module_runs",
        "test_testing.py::test_a_history_goes_back_to_a_position_or_a_moment",
    ),
)
