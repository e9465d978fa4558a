"""Kinds about writing: appends, bytes, the chain, time, and that what is written can be read."""

from __future__ import annotations

from typing import Final

from tests.cases.kind import comes_with, covered

WRITING: Final = (
    # --- appending -------------------------------------------------------------------------------
    comes_with("084", "only a blocking interface", "the async ledger"),
    covered(
        "085",
        "failing appends collide among themselves",
        "stores/test_races.py::test_refusals_at_once_are_typed_and_leave_nothing_behind",
    ),
    covered(
        "086",
        "a conflict for writers who expected nothing",
        "cases/test_writers.py::test_writers_who_expect_nothing_all_begin_one_new_stream",
        "application/test_writing.py::test_24_writers_of_one_run_all_get_through",
    ),
    covered(
        "087",
        "a conflict with oneself, for reading twice",
        "cases/test_writers.py::test_the_same_source_read_twice_is_no_conflict",
        "stores/test_append.py::test_the_same_guard_twice_is_no_conflict",
    ),
    covered(
        "088",
        "the row about a stream disagrees with its events",
        "cases/test_writers.py::test_writers_who_expect_nothing_all_begin_one_new_stream",
        "stores/test_sqlite_processes.py::test_processes_that_write_at_once_all_succeed",
        "integrity/test_beside.py::test_a_head_that_is_not_where_its_source_stands_is_found",
    ),
    covered(
        "108",
        "the second writer overwrites the first",
        "stores/test_append.py::test_a_writer_that_is_behind_is_told_the_actual_position",
        "application/test_writing.py::test_expected_surfaces_the_conflict",
    ),
    covered(
        "109 165",
        "a busy database fails writers instead of letting them wait",
        "stores/test_sqlite.py::test_an_append_waits_for_another_that_writes",
        "stores/test_sqlite_processes.py::test_processes_that_write_at_once_all_succeed",
    ),
    covered(
        "115",
        "an acknowledgement that was lost looks like a conflict",
        "stores/test_append.py::test_the_same_append_again_returns_the_same_places",
        "stores/test_sqlite_faults.py::test_an_acknowledgement_lost_at_the_commit_is_no_conflict",
        "application/test_writing.py::test_a_lost_acknowledgement_is_found_after_others_went_on",
    ),
    covered(
        "116",
        "whether a repeat is seen depends on what its writer expects",
        "stores/test_append.py::test_the_same_append_again_returns_the_same_places",
        "stores/test_append.py::test_the_same_id_with_other_content_is_refused",
    ),
    covered(
        "120",
        "a run that was accepted and never begun leaves no trace",
        "cases/test_writers.py::test_a_run_is_there_for_everybody_before_its_first_step",
        "stores/test_sqlite_processes.py::test_a_killed_writer_loses_nothing_that_was_acknowledged",
    ),
    covered(
        "122",
        "the end of a step is visible without its result",
        "stores/test_append.py::test_several_streams_are_appended_all_or_nothing",
        "stores/test_sqlite_faults.py::test_whatever_fails_a_repeat_stores_everything_once",
        "stores/test_sqlite_processes.py::test_a_killed_writer_loses_nothing_that_was_acknowledged",
    ),
    covered(
        "123",
        "results that come at once replace one another",
        "cases/test_writers.py::test_thirty_results_at_once_are_all_in_the_contract",
        "stores/test_races.py::test_results_of_thirty_calls_at_once_are_all_kept",
    ),
    covered(
        "156",
        "a limit of the driver shows through a large append",
        "stores/test_append.py::test_ten_thousand_events_in_one_append",
    ),
    covered(
        "157",
        "one large value hangs the append",
        "stores/test_append.py::test_a_record_of_a_megabyte_and_more_is_stored_or_refused_but_never_cut",
        "cases/test_values.py::test_a_large_result_is_stored_whole_and_read_back",
        rest="PostgreSQL",
    ),
    covered(
        "158",
        "what was admitted in writing is too large to read",
        "record/test_records.py::test_a_record_too_large_is_refused_naming_both_sizes",
        "cases/test_values.py::test_a_large_result_is_stored_whole_and_read_back",
        "cases/test_values.py::test_a_text_beyond_its_limit_is_refused_when_it_is_written",
    ),
    # --- canonical bytes -------------------------------------------------------------------------
    covered(
        "089",
        "a number is rounded between hashing and sending",
        "vocabulary/test_amounts.py::test_what_is_not_exact_or_not_plain_is_refused",
        "record/test_canonical.py::test_any_bit_pattern_of_a_double_is_written_or_refused",
        "cases/test_values.py::test_what_json_would_convert_is_refused_in_a_request",
    ),
    covered(
        "090",
        "one value has two spellings, or a key becomes text unasked",
        "record/test_canonical.py::test_one_value_has_one_text",
        "record/test_canonical.py::test_what_is_not_json_is_refused_with_its_place",
        "cases/test_values.py::test_what_json_would_convert_is_refused_in_a_request",
    ),
    covered(
        "091 099",
        "the hash does not cover all of the content",
        "record/test_decoding.py::test_every_changed_byte_breaks_the_chain",
        "record/test_decoding.py::test_a_change_anywhere_is_noticed_even_when_hashed_anew",
        "integrity/test_sqlite.py::test_every_altered_byte_of_an_event_names_it",
    ),
    covered(
        "092",
        "a field is hashed and not stored",
        "vocabulary/test_unions.py::test_no_field_has_an_alias_or_is_left_out",
        "record/test_records.py::test_a_record_holds_no_float_and_no_null",
        "record/test_golden.py::test_the_hash_and_the_columns_can_be_computed_without_the_ledger",
    ),
    covered(
        "093",
        "deeply nested input overruns the stack of whoever reads it",
        "record/test_reading_json.py::test_what_could_be_read_in_two_ways_is_refused",
        "record/test_decoding.py::test_whole_bytes_that_are_no_record_are_undecodable",
        "cases/test_imports.py::test_a_hostile_line_is_reported_and_stores_nothing",
    ),
    covered(
        "094",
        "the database rewrites a value after it was hashed",
        "stores/test_append.py::test_what_is_read_is_byte_for_byte_what_was_appended",
        "vocabulary/test_amounts.py::test_an_amount_keeps_its_digits_and_scale",
        "integrity/test_sqlite.py::test_every_altered_column_names_the_first_broken_event",
    ),
    comes_with("095", "a signed envelope that no other verifier accepts", "seals"),
    covered(
        "096",
        "an encoder is taken for the standard that it only resembles",
        "record/test_canonical.py::test_any_json_value_is_written_as_the_oracle_writes_it",
        "record/test_canonical.py::test_the_encoder_of_python_alone_would_not_do",
    ),
    covered(
        "097",
        "one text has two readings",
        "record/test_reading_json.py::test_what_could_be_read_in_two_ways_is_refused",
        "record/test_decoding.py::test_other_spellings_never_pass_for_the_canonical_bytes",
        "record/test_decoding.py::test_a_field_that_no_record_has_is_refused",
        "cases/test_imports.py::test_a_hostile_line_is_reported_and_stores_nothing",
    ),
    # --- the chain -------------------------------------------------------------------------------
    covered(
        "098",
        "the quick way of writing lets a reader miss events",
        "stores/test_races.py::test_followers_under_load_miss_nothing_and_see_nothing_twice",
        rest="PostgreSQL",
    ),
    covered(
        "100 103",
        "writers at once fork the chain",
        "stores/test_races.py::test_24_writers_on_one_run_do_not_fork_it",
        "stores/test_races.py::test_of_writers_that_expect_the_same_position_one_wins",
        "stores/test_sqlite_processes.py::test_processes_that_write_at_once_all_succeed",
    ),
    covered(
        "101 110",
        "events of one moment have no order, or are called old",
        "cases/test_times.py::test_any_number_of_events_fit_into_one_moment",
    ),
    covered(
        "102",
        "streams share the hash of the last event, and nobody computes it again",
        "stores/test_races.py::test_24_writers_on_24_runs_never_meet",
        "integrity/test_rows.py::test_every_changed_byte_names_its_event",
    ),
    # --- time ------------------------------------------------------------------------------------
    covered(
        "104",
        "a clock that goes back changes the order",
        "cases/test_times.py::test_a_clock_that_goes_back_changes_no_order",
        "application/test_writing.py::test_time_never_falls_along_a_run",
        "adapters/test_checkup.py::test_a_clock_that_went_back_is_noticed",
    ),
    comes_with("105", "an attested time before what it attests", "seals"),
    covered(
        "171",
        "what was in force and what was known are one question",
        "cases/test_times.py::test_what_was_in_force_and_what_was_known_are_two_questions",
        "run/test_constraints.py::test_it_is_in_force_within_its_valid_time_only",
    ),
    # --- what is written can be read -------------------------------------------------------------
    covered(
        "106",
        "an event is written that no reader knows",
        "vocabulary/test_unions.py::test_an_event_that_no_reader_knows_is_not_written",
        "vocabulary/test_unions.py::test_every_event_and_command_is_registered",
    ),
    covered(
        "107 152",
        "a value comes back as another type",
        "cases/test_values.py::test_what_json_would_convert_is_refused_in_a_request",
        "cases/test_values.py::test_what_json_would_convert_is_reported_by_its_type",
        "cases/test_values.py::test_what_json_has_comes_back_as_it_was",
        "record/test_records.py::test_every_event_reads_back_as_it_was_written_in_the_bytes_of_the_oracle",
    ),
    covered(
        "111",
        "stored bytes are unpickled",
        "record/test_no_code_in_data.py::test_no_module_can_unpickle_evaluate_or_import_by_name",
    ),
    covered(
        "112",
        "stored data names code, and reading runs it",
        "record/test_decoding.py::test_objects_that_name_code_are_data_or_refused",
        "cases/test_imports.py::test_a_hostile_line_is_reported_and_stores_nothing",
    ),
    covered(
        "150",
        "something invalid is stored, and what holds it can never be loaded again",
        "cases/test_values.py::test_what_no_reader_could_read_is_never_stored",
        "cases/test_values.py::test_what_makes_no_run_is_never_stored",
    ),
    covered(
        "151",
        "an unknown type becomes a bare mapping, and work goes on with it",
        "record/test_decoding.py::test_an_unknown_event_is_refused_by_name",
        "record/test_decoding.py::test_a_newer_format_names_both_numbers",
    ),
    covered(
        "153",
        "what is rebuilt depends on the process that rebuilds it",
        "cases/test_copies.py::test_a_contract_is_the_same_warm_and_cold",
        "application/test_reading.py::test_snapshots_change_no_answer",
        rest="projections",
    ),
    covered(
        "154 172 173",
        "a class that moves or is renamed orphans what it wrote",
        "cases/test_names.py::test_classes_may_move_and_be_renamed",
        "record/test_golden.py::test_no_stored_byte_names_a_place_in_the_code",
        "vocabulary/test_unions.py::test_names_are_unique_dotted_and_stated_by_each_class",
    ),
    covered(
        "155",
        "a name in a row imports what it likes",
        "stores/recording/test_mapper.py::test_no_topic_imports_a_module",
        "stores/recording/test_mapper.py::test_a_topic_of_anything_else_is_not_resolved",
        "stores/recording/test_runs.py::test_a_topic_is_the_name_of_the_event_and_nothing_else",
    ),
)
