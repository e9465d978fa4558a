"""Who does not use eventsourcing does not load it."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOOK = """
import importlib, sys
importlib.import_module(sys.argv[1])
print([name for name in sys.modules if name.partition(".")[0] == "eventsourcing"])
"""


@pytest.mark.parametrize(
    ("module", "loads"),
    [
        ("ledger", False),
        ("ledger.stores.base", False),
        ("ledger.stores.memory", False),
        ("ledger.stores.sqlite", False),
        ("ledger.stores.recording", True),
    ],
)
def test_only_the_recorders_load_eventsourcing(module: str, loads: bool) -> None:
    done = subprocess.run([sys.executable, "-c", LOOK, module], capture_output=True, text=True, check=True)
    assert (done.stdout.strip() != "[]") == loads
