"""Write the reference pages anew: `python -m tests.reference`."""

from __future__ import annotations

from tests.reference.pages import FOLDER, PAGES

FOLDER.mkdir(parents=True, exist_ok=True)
for name, page in PAGES.items():
    (FOLDER / name).write_text(page(), encoding="utf-8")
