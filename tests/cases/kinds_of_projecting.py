"""Kinds about read models: what stops them, what is missing or doubled in them, whose rows they are."""

from __future__ import annotations

from typing import Final

from tests.cases.kind import cannot_occur, comes_with, covered

PROJECTING: Final = (
    covered(
        "072",
        "one event that cannot be handled stops the line",
        "projections/test_stopping.py::test_rows_are_kept_up_to_the_record_before_it",
        "projections/test_stopping.py::test_the_others_go_on_and_so_does_a_follower",
        "adapters/cli/test_project.py::test_a_stopped_one_is_bad_news_with_its_place",
    ),
    cannot_occur(
        "073",
        "what is skipped was to be kept aside, and nobody built that",
        "nothing is skipped: a projection stops, names the place, and goes on there after the fix",
        "projections/test_stopping.py::test_two_poisons_stop_it_one_after_the_other",
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
    comes_with("076 077", "while a view is rebuilt its users see half of it", "projections"),
    cannot_occur(
        "078",
        "a new version does once more to the outside what the old one did",
        "a handler puts rows and has nothing else to act with; what acts are effects, each claimed once",
        "projections/test_restored.py::test_a_new_version_is_built_beside_the_old_one",
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
