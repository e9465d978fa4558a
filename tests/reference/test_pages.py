"""The reference says what the code does, and nothing in it is without words."""

from __future__ import annotations

import re

import pytest

from ledger.commands import COMMAND_CLASSES
from ledger.events import EVENT_CLASSES
from ledger.run.sources import SOURCE_FOLDS
from ledger.run.state import FOLDS
from tests.reference.pages import FOLDER, PAGES

GLOSSARY = FOLDER.parent / "glossary.md"


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_says_what_the_code_does(name: str) -> None:
    """Write it anew with `python -m tests.reference` where it does not."""
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name]()


def test_no_page_stands_there_that_nothing_writes() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)


@pytest.mark.parametrize("kind", [*COMMAND_CLASSES, *EVENT_CLASSES], ids=lambda kind: kind.name)
def test_every_command_and_event_is_described(kind: type) -> None:
    assert kind.__doc__
    assert kind.__doc__.strip().endswith(".")


def test_every_fold_says_what_its_event_leaves() -> None:
    silent = [fold.__name__ for fold in (*FOLDS.values(), *SOURCE_FOLDS.values()) if not fold.__doc__]
    assert silent == []


def test_the_glossary_knows_every_event_and_command() -> None:
    words = GLOSSARY.read_text(encoding="utf-8")
    assert [kind.__name__ for kind in EVENT_CLASSES if f"`{kind.__name__}`" not in words] == []
    assert [kind.__name__ for kind in COMMAND_CLASSES if f"`{kind.__name__}`" not in words] == []


def test_the_glossary_explains_every_word_once() -> None:
    heads = re.findall(r"^- \*\*(.+?)\*\*", GLOSSARY.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(heads) > 40
    assert sorted(heads) == sorted(set(heads))
