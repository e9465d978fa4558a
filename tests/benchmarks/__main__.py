"""Run the benchmarks: `python -m tests.benchmarks [--json] [name ...]`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from tests.benchmarks import (
    appends,
    asking,
    callers,
    checkpoints,
    cpu,
    effects,
    following,
    footprint,
    loading,
    one_run,
    postgres_appends,
    postgres_callers,
    postgres_checkpoints,
    postgres_footprint,
    postgres_reading,
    projecting,
    replay,
    resuming,
)
from tests.benchmarks.measure import Result
from tests.benchmarks.peers import measuring as peers
from tests.benchmarks.server import HERE, NoServer, postgres

EMBEDDED: dict[str, Callable[[Path], list[Result]]] = {
    "appends": appends.measure,
    "callers": callers.measure,
    "replay": replay.measure,
    "loading": loading.measure,
    "footprint": footprint.measure,
    "effects": effects.measure,
    "resuming": resuming.measure,
    "projecting": projecting.measure,
    "asking": asking.measure,
    "checkpoints": checkpoints.measure,
}
"""On SQLite, in an empty folder."""

LARGE: dict[str, Callable[[Path], list[Result]]] = {"asking-large": asking.measure_large}
"""The same, and only where it is named: it takes an hour, and several GB of disk."""

SERVED: dict[str, Callable[[str], list[Result]]] = {
    "postgres-appends": postgres_appends.measure,
    "postgres-callers": postgres_callers.measure,
    "one-run": one_run.measure,
    "postgres-reading": postgres_reading.measure,
    "postgres-effects": effects.measure_postgres,
    "postgres-resuming": resuming.measure_postgres,
    "postgres-projecting": projecting.measure_postgres,
    "postgres-footprint": postgres_footprint.measure,
    "postgres-checkpoints": postgres_checkpoints.measure,
    "following": following.measure,
    "peers": peers.measure,
}
"""On PostgreSQL, in an empty database."""

NAMES = (*EMBEDDED, *SERVED, "cpu")


def main() -> None:
    """Measure what was named, or everything, and print one line a ratio."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=_help())
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    asked = parser.parse_args()
    unknown = set(asked.names) - {*NAMES, *LARGE}
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}")
    names = asked.names or NAMES
    report = Report(quiet=asked.json)
    report.say("median (quartiles) of interleaved rounds; compare ratios, never runs")
    embedded = [measure for name, measure in (EMBEDDED | LARGE).items() if name in names]
    if embedded:
        report.say("\nSQLite")
    for measure in embedded:
        with _folder() as folder:
            report.add(measure(Path(folder)))
    _served([name for name in names if name in SERVED], report)
    if "cpu" in names:
        with _folder() as folder:
            report.cpu(*cpu.measure(Path(folder)))
    report.end()


def _help() -> str:
    return f"any of {', '.join((*NAMES, *LARGE))}; none: all but {', '.join(LARGE)}"


class Report:
    """What was measured, printed line by line as it comes, or as one document in the end."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._document: dict[str, object] = {}
        self._ratios: list[dict[str, object]] = []

    def add(self, results: Iterable[Result]) -> None:
        for result in results:
            self._ratios.append(asdict(result))
            spread = f"({result.low:.2f}-{result.high:.2f})"
            self.say(
                f"{result.name:<67} {result.ratio:6.2f} {spread:<14} goal {result.goal:<8} {result.note}"
            )

    def leave_out(self, names: list[str], reason: str) -> None:
        left_out = self._document.setdefault("left_out", {})
        assert isinstance(left_out, dict)
        left_out.update(dict.fromkeys(names, reason))
        for name in names:
            self.say(f"{name}: left out, {reason}")

    def cpu(self, each: float, shares: dict[str, float]) -> None:
        self._document["cpu"] = {"microseconds": each, "shares": shares}
        self.say(f"\nCPU time of one append: {each:.0f} microseconds here, under a profiler shared as")
        for part, share in sorted(shares.items(), key=lambda item: -item[1]):
            self.say(f"  {part:<22} {share:5.0%}")

    def say(self, line: str) -> None:
        if not self._quiet:
            print(line, flush=True)

    def end(self) -> None:
        if self._quiet:
            json.dump({"ratios": self._ratios, **self._document}, sys.stdout, indent=2)
            print()


def _served(names: list[str], report: Report) -> None:
    if not names:
        return
    try:
        with postgres() as cluster:
            report.say(f"\nPostgreSQL {cluster.major}")
            for name in names:
                report.add(SERVED[name](cluster.fresh_database()))
        if "peers" in names:
            for peer, reason in peers.absent().items():
                report.leave_out([peer], reason)
    except NoServer as none:
        report.say("\nPostgreSQL")
        report.leave_out(names, str(none))


def _folder() -> tempfile.TemporaryDirectory[str]:
    # On the disk the repository lies on: a memory file system would make syncing free.
    return tempfile.TemporaryDirectory(dir=HERE, prefix=".bench-")


if __name__ == "__main__":
    main()
