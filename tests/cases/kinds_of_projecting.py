"""Kinds about read models: what stops them, what is missing or doubled in them, whose rows they are."""

from __future__ import annotations

from typing import Final

from tests.cases.kind import cannot_occur, covered

PROJECTING: Final = (
    covered(
        "072",
        "one event that cannot be handled stops the line",
        "projections/test_stopping.py::test_rows_are_kept_up_to_the_record_before_it",
        "projections/test_stopping.py::test_the_others_go_on_and_so_does_a_follower",
        "projections/test_parking.py::test_it_is_set_aside_with_all_that_follows_and_the_others_go_on",
        "adapters/cli/test_project.py::test_a_stopped_one_is_bad_news_with_its_place",
        "adapters/cli/test_project.py::test_a_run_that_is_set_aside_is_bad_news_until_it_is_handled",
    ),
    covered(
        "073",
        "what is skipped was to be kept aside, and nobody built that",
        "projections/test_parking.py::test_it_is_set_aside_with_all_that_follows_and_the_others_go_on",
        "projections/test_parking.py::test_whatever_was_set_aside_the_rows_after_the_fix_are_those_of_one_fold",
        "projections/test_parking.py::test_an_answer_names_what_is_aside_and_none_is_given_about_it",
        "stores/test_builds.py::test_streams_that_are_aside_are_kept_with_the_page_and_go_with_the_build",
    ),
    cannot_occur(
        "074",
        "a subscription is stuck at a place whose event was deleted",
        "no event is deleted; one that is not there says that the ledger is another, and that is told",
        "projections/test_restored.py::test_a_log_that_ends_before_its_cursor_is_told_and_not_passed_over",
    ),
    covered(
        "075",
        "the place is stored apart from the view, and lost in the first batch",
        "projections/test_killed.py::test_on_sqlite_a_page_is_kept_or_not_whenever_its_process_dies",
        "projections/test_killed.py::test_on_postgresql_a_page_is_kept_or_not_whenever_its_process_dies",
        "stores/test_read_models.py::test_rows_and_cursor_are_stored_together_or_not_at_all",
    ),
    covered(
        "076",
        "while a view is rebuilt its users see half of it",
        "projections/test_rebuilding.py::test_it_is_made_beside_what_is_read_and_takes_its_place_when_it_has_caught_up",
        "projections/test_asking_builds.py::test_answers_come_from_what_is_served_all_through_a_rebuild",
    ),
    covered(
        "077",
        "a view is rebuilt while it is read and written to, and one can go back",
        "projections/test_rebuilding.py::test_rows_are_read_and_events_appended_all_through_a_rebuild",
        "projections/test_rebuilding.py::test_one_goes_back_and_it_catches_up",
        "projections/test_killed.py::test_on_sqlite_a_swap_is_made_or_not_whenever_its_process_dies",
        "projections/test_killed.py::test_on_postgresql_a_swap_is_made_or_not_whenever_its_process_dies",
        "projections/test_identical.py::test_rows_are_those_of_one_fold_however_they_came_about",
    ),
    cannot_occur(
        "078",
        "a new version does once more to the outside what the old one did",
        "a handler puts rows and has nothing else to act with; what acts are effects, each claimed once",
        "projections/test_identical.py::test_a_handler_has_nothing_to_act_on_the_outside_with",
        "projections/test_rebuilding.py::test_a_newer_version_takes_the_place_of_an_older_one_and_no_older_one_does",
    ),
    covered(
        "081",
        "tables can be made in one schema only",
        "stores/test_read_models.py::test_tables_are_made_once_and_have_the_columns_that_were_declared",
        "stores/test_postgres_read_models.py::test_a_writer_may_not_make_tables_and_is_told_who_does",
    ),
    covered(
        "082",
        "what was meant for one tenant's row changes the row of the same number of another",
        "stores/test_read_models.py::test_rows_of_another_tenant_are_never_read_changed_or_deleted",
        "stores/test_postgres_read_models.py::test_tenants_are_kept_apart_by_the_database_itself",
        "projections/test_catching_up.py::test_tenants_with_equal_names_do_not_meet",
    ),
    covered(
        "083",
        "names that look alike become one",
        "stores/test_read_models.py::test_a_page_of_rows_goes_on_behind_a_key",
        "projections/test_runs.py::test_runs_of_tenants_with_equal_names_stay_apart",
    ),
    covered(
        "147",
        "a reader's place is ahead of a ledger that was restored from a backup",
        "projections/test_restored.py::test_a_log_that_ends_before_its_cursor_is_told_and_not_passed_over",
        "projections/test_restored.py::test_a_record_of_the_same_place_that_is_another_is_told",
        "projections/test_restored.py::test_records_of_others_that_are_lost_hide_nothing",
        "projections/test_restored.py::test_on_postgresql_it_is_told_as_well",
    ),
    covered(
        "168",
        "each subscription keeps a connection for its lock",
        "stores/test_postgres_read_models.py::test_however_many_runners_keep_no_connection",
    ),
)
