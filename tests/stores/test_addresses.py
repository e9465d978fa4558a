"""Addresses: what is no address is refused instead of becoming a file, and no refusal shows a password."""

from __future__ import annotations

import traceback
from contextlib import closing
from pathlib import Path

import pytest

from ledger.errors import InvalidInput
from ledger.stores.opening import file_of, is_postgres, open_store
from ledger.stores.postgres.address import parse


@pytest.mark.parametrize(
    "wrong",
    [
        "host=127.0.0.1 dbname=app",
        " dbname = app",
        "user=app password=hush",
        "service=ledger",
        "postgresql:app",
        "Postgres:app",
        "postgresql:/app",
        "MySQL://h/d",
    ],
)
def test_what_looks_like_a_server_does_not_become_a_file(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput) as refused:
        open_store(wrong)
    assert "postgresql://" in str(refused.value)
    assert "hush" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            "memory:",
            "memory://",
            ":Memory:",
            "file::memory:?cache=shared",
            "sqlite:///:memory:",
            "sqlite://",
        ),
        *(":memory: ", " :memory:", ":memory:\n", ": memory :", "file:x?mode=memory&cache=shared"),
        *("file:x?cache=shared&mode=memory", "FILE:/x?MODE=Memory", "sqlite:///x?mode=memory"),
    ],
)
def test_what_others_write_for_memory_does_not_become_a_file(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=" :memory: "):
        open_store(wrong)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", ["file:runs.db", "file:runs.db?cache=shared", "File:///runs.db"])
def test_a_uri_of_a_file_does_not_become_the_name_of_one(wrong: str) -> None:
    with pytest.raises(InvalidInput, match="an address is a file path"):
        file_of(wrong)


def test_a_file_may_have_any_name_that_is_given_as_a_path() -> None:
    assert file_of("./host=a") == Path("host=a")
    assert file_of("./memory:") == Path("memory:")
    assert file_of("./file:x") == Path("file:x")
    assert file_of("memory") == Path("memory")
    assert file_of(Path("postgresql:app")) == Path("postgresql:app")


def test_the_scheme_is_told_whatever_its_case(fresh_database: str) -> None:
    shouted = fresh_database.replace("postgresql", "PostgreSQL")
    assert is_postgres(shouted)
    with closing(open_store(shouted)) as store:
        assert store.end() == 0
    assert file_of("SQLite:///runs.db") == Path("runs.db")


@pytest.mark.parametrize(
    "wrong",
    [
        "postgresql://app:hush@hush@host/app",
        "postgresql://app:hush/hush@host/app",
        "postgresql://app:hush?hush@host/app?schema=x",
        "postgresql://app:hush?hush=hush@host/app",
        "postgresql://app:%hush@host/app",
        "postgresql://app:hush hush@host/app",
        "postgresql://app:hush@[host/app",
        "postgresql://app:hush",
        "postgresql://host/app?password=%hush",
        "PostgreSQL://app:%hush@host/app",
    ],
)
def test_a_password_that_is_not_encoded_is_refused_and_not_shown(wrong: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        open_store(wrong)
    assert "%40" in str(refused.value)
    assert "hush" not in "".join(traceback.format_exception(refused.value))
    assert "hush" not in str(refused.value.data)


def test_an_encoded_password_is_taken_as_it_is() -> None:
    assert parse("postgresql://app:p%40%2F%25s@h:1,i:2/d").parameters == {
        "user": "app",
        "password": "p@/%s",
        "host": "h,i",
        "port": "1,2",
        "dbname": "d",
    }
    assert parse("postgresql:///d?host=/tmp").parameters == {"host": "/tmp", "dbname": "d"}


def test_a_replica_may_be_named_with_its_user() -> None:
    address = parse("postgresql://h/d?replica_url=postgresql%3A%2F%2Fuser@replica&ssl=true")
    assert address.options == {"replica_url": "postgresql://user@replica"}
    assert address.parameters["sslmode"] == "require"


def test_an_option_that_nobody_knows_is_named() -> None:
    with pytest.raises(InvalidInput, match="no_such_option"):
        parse("postgresql://h/d?no_such_option=1")


def test_who_writes_key_and_value_for_the_replica_is_told_to_write_a_url() -> None:
    with pytest.raises(InvalidInput, match="postgresql://"):
        parse("host=replica")
