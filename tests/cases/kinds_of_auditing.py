"""Kinds about the record as evidence: what it covers, what an alteration shows, what comes twice."""

from __future__ import annotations

from typing import Final

from tests.cases.kind import covered

AUDITING: Final = (
    covered(
        "066",
        "the chain covers what is added to a row later, and breaks by it",
        "cases/test_audits.py::test_what_is_kept_beside_the_events_is_no_part_of_the_chain",
    ),
    covered(
        "067",
        "somebody has to show that a log is what was written, and which rule held when",
        "cases/test_audits.py::test_one_changed_byte_names_the_first_event_that_is_not_as_written",
        "integrity/test_attacks.py::test_every_altered_byte_of_an_event_names_it",
        "projections/questions/test_constraints_in_force.py::test_each_is_told_with_author_time_source_and_record",
    ),
    covered(
        "068",
        "a trace is pushed again when its job is done",
        "cases/test_audits.py::test_the_same_batch_twice_has_the_same_positions",
        "application/test_exporting.py::test_the_same_file_twice_changes_nothing",
    ),
    covered(
        "069 070",
        "the whole state is stored again with every step",
        "cases/test_sizes.py::test_a_thing_that_happens_late_takes_no_more_bytes_than_an_early_one",
        "adapters/checkpointer/test_growth.py::test_a_history_that_grows_takes_little_more_than_its_messages",
        "adapters/threads/test_storage.py::test_a_growing_conversation_takes_what_is_new_and_pruned_what_it_is",
    ),
    covered(
        "071",
        "nearly all of a history is prompts that were sent again",
        "cases/test_sizes.py::test_a_model_that_is_asked_with_all_that_was_said_is_recorded_by_digests",
    ),
    covered(
        "079",
        "one question to the store for each event of a walk",
        "cases/test_sizes.py::test_a_contract_takes_as_many_questions_whatever_the_length_of_the_run",
    ),
    covered(
        "080",
        "the state of a run is put together anew each time it is read",
        "cases/test_sizes.py::test_a_contract_takes_as_many_questions_whatever_the_length_of_the_run",
    ),
)
