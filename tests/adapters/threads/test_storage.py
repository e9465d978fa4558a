"""What states take up: a conversation that grows costs what is new, and pruned it costs what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import Ledger
from ledger.adapters.threads.dropping import prune
from tests.adapters.threads.plain import BY, chat, kept, opened, states_of, values
from tests.stores.conftest import KINDS

TURNS = 300
SIZE = 1024
LIVE = TURNS * SIZE
EVERY_TIME = 50_000_000
"""Bytes that the same conversation takes where each state is stored whole, about."""


def records(ledger: Ledger, run: str) -> int:
    return sum(len(row.record) for row in ledger.store.read(ledger.tenant, run))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_growing_conversation_takes_what_is_new_and_pruned_what_it_is(kind: str, tmp_path: Path) -> None:
    with opened(KINDS[kind](tmp_path)) as ledger:
        states = states_of(ledger)
        chat(states, "t", TURNS, size=SIZE)
        grown = kept(ledger).bytes + records(ledger, "t#1")
        assert grown <= EVERY_TIME / 20
        before = values(states, "t")[None, str(TURNS)]
        freed = prune(states.threads, "t", by=BY)
        assert (freed.states, values(states_of(ledger), "t")) == (TURNS - 1, {(None, str(TURNS)): before})
        assert kept(ledger).bytes <= LIVE * 1.1


def test_branches_of_a_thread_share_what_they_have_in_common_and_threads_do_not(tmp_path: Path) -> None:
    with opened(KINDS["sqlite"](tmp_path)) as ledger:
        states = states_of(ledger)
        chat(states, "t", 32, size=SIZE)
        first = kept(ledger).bytes
        found = states.find("t", "32")
        assert found is not None
        both = states.read(found, learn=True).values
        for branch in ("a", "b"):
            states.save("t", branch, {"list": [*both["list"], branch]}, b"", parent="32")
        assert kept(ledger).bytes - first < 2 * SIZE
        states.save("other", "1", both, b"")
        assert kept(ledger).bytes - first > 32 * SIZE
