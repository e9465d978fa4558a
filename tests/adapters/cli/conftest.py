"""A ledger as it should be, a hostile one, and the command as a call."""

from __future__ import annotations

import importlib
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger.adapters.cli import main
from tests.adapters.cli.acts import SHOP, make_acts
from tests.adapters.cli.command import Answer
from tests.adapters.cli.ledgers import make, make_hostile

Call = Callable[..., Answer]
Alter = Callable[[Path, str], None]
Module = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Start without settings, in a folder that holds nothing, and leave no path of a module behind."""
    # Whoever starts a process later hands it the path of this one.
    monkeypatch.setattr(sys, "path", list(sys.path))
    for setting in ("URL", "TENANT", "ACTOR"):
        monkeypatch.delenv(f"INTENT_LEDGER_{setting}", raising=False)
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make(folder / "good.db")
    make_hostile(folder / "hostile.db")
    make_acts(folder / "acts.db")
    return folder


@pytest.fixture
def good(_made: Path, tmp_path: Path) -> Path:
    """Return a ledger of its own for each test."""
    return Path(shutil.copy(_made / "good.db", tmp_path / "ledger.db"))


@pytest.fixture
def hostile(_made: Path, tmp_path: Path) -> Path:
    """Return a ledger whose texts are hostile."""
    return Path(shutil.copy(_made / "hostile.db", tmp_path / "hostile.db"))


@pytest.fixture
def acts(_made: Path, tmp_path: Path) -> Path:
    """Return a ledger of acts of some of which nobody knows whether they happened."""
    return Path(shutil.copy(_made / "acts.db", tmp_path / "acts.db"))


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    """Return a function that writes a module into the present folder, which is forgotten after the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    written: list[str] = []

    def write(name: str, text: str) -> Path:
        path = Path.cwd() / f"{name}.py"
        path.write_text(text)
        written.append(name)
        importlib.invalidate_caches()
        return path

    yield write
    for name in written:
        sys.modules.pop(name, None)


@pytest.fixture
def shop(module: Module) -> Path:
    """Return the module of a shop's tools."""
    return module("shop", SHOP)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Return the command as a function of its arguments."""

    def called(*arguments: str | Path) -> Answer:
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Answer(code, said.out, said.err)

    return called


@pytest.fixture
def alter() -> Alter:
    """Return a function that changes a ledger the way somebody with the file and no manners would."""

    def altered(path: Path, statement: str) -> None:
        with closing(sqlite3.connect(path)) as connection:
            triggers = connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall()
            for name, _ in triggers:
                connection.execute(f"DROP TRIGGER {name}")
            connection.executescript(statement)
            for _, text in triggers:
                connection.execute(text)
            connection.commit()

    return altered
