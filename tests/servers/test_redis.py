"""The Redis of the tests does what its methods say."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.servers.redis import RedisServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with closing(RedisServer(tmp_path / "redis")) as server:
        yield server


def test_it_loses_everything_when_it_is_killed_and_comes_back_on_its_port(server: RedisServer) -> None:
    with server.client() as client:
        client.set("a", b"1")
        server.flush()
        assert client.get("a") is None
        client.set("a", b"2")
        server.kill()
        with pytest.raises(redis.ConnectionError):
            client.get("a")
        server.start()
        assert client.get("a") is None


def test_frozen_it_takes_connections_and_answers_nothing(server: RedisServer) -> None:
    server.freeze()
    once = Retry(NoBackoff(), 0)
    client = redis.Redis(port=server.port, socket_timeout=0.05, retry=once)
    with client, pytest.raises(redis.TimeoutError):
        client.ping()
    server.thaw()
    with server.client() as client:
        assert client.ping()


@pytest.mark.parametrize(("ci", "told"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_want_of_it_skips_a_test_and_fails_it_in_continuous_integration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, told: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(told, match="no redis-server"):
        RedisServer(tmp_path / "redis")
