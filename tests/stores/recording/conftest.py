"""The stores that the recorders are tested on."""

from __future__ import annotations

import pytest

from ledger.stores.base import FullStore
from tests.stores.recording.application import settled


@pytest.fixture
def store(store: FullStore) -> FullStore:
    """Return an empty store of each kind, which shows all it holds."""
    return settled(store)
