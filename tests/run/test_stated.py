"""An event takes from its command what both call by the same name, so both must mean the same by it."""

import pytest

from ledger.commands import (
    CloseRun,
    Command,
    ForkRun,
    NarrowAuthority,
    OpenChild,
    RestartRun,
    RevokeAuthority,
)
from ledger.events import AuthorityRevoked, Event, RunClosed, RunOpened
from ledger.run.decide import RULES
from ledger.run.sources import SOURCE_RULES

# What these come to in other runs, or owe a person, is built field by field, mostly from what stands already.
STATED: dict[type[Command], tuple[type[Event], ...]] = {
    CloseRun: (RunClosed,),
    ForkRun: (),
    NarrowAuthority: (),
    OpenChild: (RunOpened,),
    RestartRun: (),
    RevokeAuthority: (AuthorityRevoked,),
}

PAIRS = [
    (command, event)
    for rulings in (RULES, SOURCE_RULES)
    for command, ruling in rulings.items()
    for event in STATED.get(command, ruling.events)
    if event.model_fields.keys() & command.model_fields.keys()
]

# Where the two differ, the event admits more, or the rule never takes the field from the command.
OTHERWISE = {
    ("effect.claim", "effect.refused", "args"): "None stands for arguments that hold a secret",
    ("effect.report_failure", "effect.disputed", "error"): "only a failure that is told has an error",
    ("effect.report_failure", "effect.unknown", "error"): "of what was sent again there may be no error",
    ("observation.record", "observation.recorded", "observed_at"): "an imported observation has no time",
    ("run.close", "run.closed", "outcome"): "only a restart closes a run as restarted",
    ("state.save", "state.saved", "content"): "said with the content itself, it names it when it is kept",
    ("state.save_part", "state.part_saved", "content"): "likewise",
    ("constraint.accept", "constraint.accepted", "accepted_by"): "None stands for the actor",
}


@pytest.mark.parametrize(("command", "event"), PAIRS, ids=lambda kind: kind.name)
def test_fields_of_one_name_hold_one_kind_of_value(command: type[Command], event: type[Event]) -> None:
    for name in event.model_fields.keys() & command.model_fields.keys():
        if (command.name, event.name, name) in OTHERWISE:
            continue
        asked, said = command.model_fields[name], event.model_fields[name]
        assert repr(asked.annotation) == repr(said.annotation), name
        assert repr(asked.metadata) == repr(said.metadata), name
