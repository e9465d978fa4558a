"""The processes of peers: what they are told and answer."""

from __future__ import annotations

import sys
from pathlib import Path

import psycopg
import pytest

from tests.benchmarks.peers.process import Peer, PeerFailed

_PYTHON = Path(sys.executable)


def test_a_peer_takes_as_many_steps_as_it_is_told_and_says_how_long_they_took(fresh_database: str) -> None:
    with Peer(_PYTHON, "tests.benchmarks.peers.aggregate", fresh_database) as peer:
        (side,) = peer.sides
        spent = [peer.take(side, 3), peer.take(side, 2)]
    assert all(seconds > 0 for seconds in spent)
    with psycopg.connect(fresh_database) as connection:
        stored = connection.execute(
            "SELECT originator_version, count(*) FROM application_events GROUP BY 1 ORDER BY 1"
        ).fetchall()
    assert stored == [(1, 5), (2, 5)]


def test_a_peer_that_cannot_begin_tells_why() -> None:
    with pytest.raises(PeerFailed, match="No module named"):
        Peer(_PYTHON, "tests.benchmarks.peers.nobody", "postgresql://nowhere")


def test_a_peer_that_ends_instead_of_answering_tells_why(fresh_database: str) -> None:
    with (
        Peer(_PYTHON, "tests.benchmarks.peers.aggregate", fresh_database) as peer,
        pytest.raises(PeerFailed, match="KeyError: 'no such side'"),
    ):
        peer.take("no such side", 1)
