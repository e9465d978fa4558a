"""All golden answers."""

from __future__ import annotations

from tests.projections.case_file import answers_rules
from tests.projections.case_file.golden import Golden

ANSWERS: tuple[Golden, ...] = (*answers_rules.ANSWERS,)
