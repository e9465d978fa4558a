"""Where the CPU time of one append goes."""

from __future__ import annotations

import cProfile
import pstats
import time
from itertools import count
from pathlib import Path

from ledger import open_ledger
from tests.benchmarks.workload import ACTOR, moves

_EVENTS = 3_000
_PARTS = {
    "build the command": ("sayings.py", "build"),
    "decide": ("decide.py", "decide"),
    "encode and hash": ("codec.py", "encode"),
    "fold": ("state.py", "replay"),
    "store": ("sqlite.py", "append"),
    "save snapshots": ("kinds.py", "_run_snapshot"),
    "store snapshots": ("sqlite.py", "put_snapshot"),
}


def measure(folder: Path) -> tuple[float, dict[str, float]]:
    """Return CPU microseconds of one append, and the share of it that each part takes."""
    with open_ledger(folder / "cpu.db", actor=ACTOR) as ledger:
        step = moves(ledger.open_run("cpu", "goal"), count())
        for _ in range(200):
            step()
        begin = time.process_time()
        for _ in range(_EVENTS):
            step()
        each = (time.process_time() - begin) / _EVENTS * 1e6
        profile = cProfile.Profile(time.process_time)
        profile.enable()
        for _ in range(_EVENTS):
            step()
        profile.disable()
    return each, _shares(pstats.Stats(profile))


def _shares(stats: pstats.Stats) -> dict[str, float]:
    total: float = stats.total_tt  # type: ignore[attr-defined]
    found = dict.fromkeys(_PARTS, 0.0)
    for (file, _, function), row in stats.stats.items():  # type: ignore[attr-defined]
        for part, (name, wanted) in _PARTS.items():
            if function == wanted and Path(file).name == name:
                found[part] += row[3] / total
    moved = [part for part, share in found.items() if not share]
    if moved:
        raise LookupError(f"no time was seen in {', '.join(moved)}: their functions have other names now")
    found["handle and the rest"] = max(0.0, 1 - sum(found.values()))
    return found
