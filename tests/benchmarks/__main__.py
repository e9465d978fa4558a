"""Run the benchmarks: `python -m tests.benchmarks [--json] [name ...]`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.benchmarks import appends, cpu, footprint, loading, replay

SUITES = {
    "appends": appends.measure,
    "replay": replay.measure,
    "loading": loading.measure,
    "footprint": footprint.measure,
}


def main() -> None:
    """Measure what was named, or everything, and print one line a ratio."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"any of {', '.join([*SUITES, 'cpu'])}; none: all of them")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    asked = parser.parse_args()
    unknown = set(asked.names) - {*SUITES, "cpu"}
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}")
    names = asked.names or [*SUITES, "cpu"]
    document: dict[str, object] = {"ratios": []}
    if not asked.json:
        print("median (quartiles) of interleaved rounds; compare ratios, never runs\n")
    for name in names:
        # On the disk the repository lies on: a memory file system would make syncing free.
        with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".bench-") as folder:
            if name == "cpu":
                document["cpu"] = _cpu(Path(folder), quiet=asked.json)
            else:
                _ratios(name, Path(folder), document, quiet=asked.json)
    if asked.json:
        json.dump(document, sys.stdout, indent=2)
        print()


def _ratios(name: str, folder: Path, document: dict[str, object], *, quiet: bool) -> None:
    ratios = document["ratios"]
    assert isinstance(ratios, list)
    for result in SUITES[name](folder):
        ratios.append(asdict(result))
        if not quiet:
            spread = f"({result.low:.2f}-{result.high:.2f})"
            print(f"{result.name:<58} {result.ratio:6.2f} {spread:<14} goal {result.goal:<8} {result.note}")
            sys.stdout.flush()


def _cpu(folder: Path, *, quiet: bool) -> dict[str, object]:
    each, shares = cpu.measure(folder)
    if not quiet:
        print(f"\nCPU time of one append: {each:.0f} microseconds here, under a profiler shared as")
        for part, share in sorted(shares.items(), key=lambda item: -item[1]):
            print(f"  {part:<22} {share:5.0%}")
    return {"microseconds": each, "shares": shares}


if __name__ == "__main__":
    main()
