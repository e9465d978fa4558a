"""How much memory a rebuild takes: by itself in a process that does nothing else, and with workers."""

from __future__ import annotations

import multiprocessing
import resource
from multiprocessing.connection import Connection
from pathlib import Path

from ledger import open_ledger
from projections.built_in import BUILT_IN
from projections.rebuilding import rebuild
from tests.benchmarks.measure import Result
from tests.benchmarks.workload import ACTOR

_MOST = 300.0


def memory(path: Path, *, workers: int) -> Result:
    """Rebuild everything in a process of its own, and divide the most it had by 300 MB."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    # It starts processes itself.
    process = context.Process(target=_rebuilt, args=(path, workers, there))
    process.start()
    there.close()
    own, worker = here.recv()
    process.join()
    most = own + (worker * workers if workers > 1 else 0.0)
    note = f"{own:,.0f} MB" if workers == 1 else f"{own:,.0f} MB and {workers} times {worker:,.0f} MB"
    name = f"memory of a rebuild in {workers} process{'es more' if workers > 1 else ''} / {_MOST:.0f} MB"
    return Result(name, most / _MOST, most / _MOST, most / _MOST, "<= 1", note)


def _rebuilt(path: Path, workers: int, parent: Connection) -> None:
    with open_ledger(path, actor=ACTOR) as ledger:
        rebuild(ledger, list(BUILT_IN.values()), fresh=True, workers=workers, url=str(path))
    # What a process is said to have had at most by `getrusage` begins with what its parent had.
    told = Path("/proc/self/status").read_text().splitlines()
    own = next(line for line in told if line.startswith("VmHWM"))
    parent.send((int(own.split()[1]) / 1024, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024))
