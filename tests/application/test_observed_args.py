"""What something was read with is recorded beside what was read, so that it can be read again."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ledger.canonical import canonical_text
from tests.application.conftest import SetClock
from tests.application.performing import Outside, Waiting, last, opened

LONGEST = 16 * 1024


@pytest.fixture
def ledger(store: Any, clock: SetClock) -> Any:
    return Waiting(store, clock)()


@pytest.mark.parametrize(
    "args", [{"order": 17}, {}, {"deep": {"\U0001f680": [1, 2.5, None]}}, {"zwei": "2", "eins": 1}]
)
def test_arguments_are_recorded_as_the_text_they_are_known_by(ledger: Any, args: dict[str, Any]) -> None:
    opened(ledger).perform("look", args, Outside(), recovery="read_only")
    seen = last(ledger)
    assert seen.args == canonical_text(args)
    assert seen.args_digest == hashlib.sha256(seen.args.encode()).hexdigest()
    assert ledger.contract("r").observations[0].args == seen.args


@pytest.mark.parametrize("letter", ["x", "é"])
def test_of_long_arguments_only_the_digest_is_recorded(ledger: Any, letter: str) -> None:
    run = opened(ledger)
    room = (LONGEST - len('{"text":""}')) // len(letter.encode())
    for length, is_kept in ((room, True), (room + 1, False)):
        args = {"text": letter * length}
        run.perform("look", args, Outside(), recovery="read_only")
        seen, text = last(ledger), canonical_text(args)
        assert seen.args == (text if is_kept else None)
        assert seen.args_digest == hashlib.sha256(text.encode()).hexdigest()
