"""The reference pages, written from the code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.reference.adapters import adapters_page
from tests.reference.brief import brief_page
from tests.reference.commands import commands_page
from tests.reference.contract import contract_page
from tests.reference.effects import effects_page
from tests.reference.events import events_page
from tests.reference.gate import gate_page
from tests.reference.library import library_page
from tests.reference.questions import questions_page

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"

PAGES: dict[str, Callable[[], str]] = {
    "adapters.md": adapters_page,
    "brief.md": brief_page,
    "commands.md": commands_page,
    "contract.md": contract_page,
    "effects.md": effects_page,
    "events.md": events_page,
    "gate.md": gate_page,
    "library.md": library_page,
    "questions.md": questions_page,
}
"""The pages by file name."""
