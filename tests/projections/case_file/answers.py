"""All golden answers."""

from __future__ import annotations

from tests.projections.case_file import (
    answers_acts,
    answers_consent,
    answers_lives,
    answers_permissions,
    answers_rules,
    answers_thoughts,
)
from tests.projections.case_file.golden import Golden

ANSWERS: tuple[Golden, ...] = (
    *answers_rules.ANSWERS,
    *answers_permissions.ANSWERS,
    *answers_acts.ANSWERS,
    *answers_thoughts.ANSWERS,
    *answers_lives.ANSWERS,
    *answers_consent.ANSWERS,
)
