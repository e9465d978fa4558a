"""Every projection that comes with the ledger says what it keeps, where people look for that."""

from __future__ import annotations

from projections.built_in import BUILT_IN
from projections.runs import Runs
from tests.conftest import ROOT


def test_each_says_what_it_keeps_in_a_sentence() -> None:
    said = {name: one.about for name, one in BUILT_IN.items()}
    assert all(about.startswith("One row for each ") and about.endswith(".") for about in said.values()), said
    assert len(set(said.values())) == len(BUILT_IN)


def test_one_without_a_docstring_says_nothing() -> None:
    class Silent(Runs):
        pass

    assert not Silent().about


def test_the_page_lists_all_of_them_as_they_are() -> None:
    page = (ROOT / "docs/how-to/projections.md").read_text("utf-8")
    rows = [
        f"| `{name}` | {one.about} | {', '.join(f'`{table.name}`' for table in one.tables)} |"
        for name, one in BUILT_IN.items()
    ]
    assert "\n".join(["|---|---|---|", *rows, ""]) in page, "\n".join(rows)
