"""An outside outlives whoever calls it, and ends with the session of tests, however that ends."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.outside import mails, orders, payments
from tests.outside.manners import HELD, LATE, Manner
from tests.outside.outside import ROOT, Outside
from tests.servers.session import current
from tests.servers.waiting import until

KINDS = ("payments", "orders", "mails")

CALLS = {
    "payments": "from tests.outside.payments import charge; charge({url!r}, 'k', 1, '17')",
    "orders": "from tests.outside.orders import order; order({url!r}, 'k', 'tea')",
    "mails": "from tests.outside.mails import send; send({port}, 'k', 'kim@example.org', 'Hello')",
}
RECORDS: dict[str, Callable[[Outside], list[str]]] = {
    "payments": lambda server: [made.key for made in payments.charges(server.url)],
    "orders": lambda server: [made.key for made in orders.orders(server.url)],
    "mails": lambda server: [mail.key for mail in mails.mails(server)],
}
SESSION = """
import sys
from tests.outside.outside import Outside
from tests.servers import session
opened = session.Session()
session.join(opened.folder)
outside = Outside(sys.argv[1])
print(outside.port, outside.pid, opened.folder, flush=True)
sys.stdin.read()
opened.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("manner", [HELD, LATE])
def test_what_a_killed_caller_had_sent_is_done(
    request: pytest.FixtureRequest, kind: str, manner: Manner
) -> None:
    server: Outside = request.getfixturevalue(f"{kind.removesuffix('s')}_server")
    server.expect(manner)
    code = CALLS[kind].format(url=server.url, port=server.port)
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as caller:
        server.until_held()
        caller.kill()
    assert RECORDS[kind](server) == (["k"] if manner == HELD else [])
    server.release()
    until(lambda: RECORDS[kind](server) == ["k"], "what was sent is done")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_held_is_dropped_with_the_record(request: pytest.FixtureRequest, kind: str) -> None:
    server: Outside = request.getfixturevalue(f"{kind.removesuffix('s')}_server")
    server.expect(LATE)
    code = CALLS[kind].format(url=server.url, port=server.port)
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.DEVNULL) as caller:
        server.until_held()
        server.forget()
        assert caller.wait()
    assert RECORDS[kind](server) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("killed", [True, False])
def test_an_outside_ends_with_its_session(kind: str, killed: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SESSION, kind],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as session:
        assert session.stdin is not None
        assert session.stdout is not None
        port, pid, folder = session.stdout.readline().split()
        socket.create_connection(("127.0.0.1", int(port))).close()
        if killed:
            session.kill()
        else:
            session.stdin.close()
    until(lambda: _gone(int(port)), "nobody listens any more")
    until(lambda: not _alive(int(pid)), "the process is gone")
    until(lambda: not os.path.lexists(folder), "the session's folder is gone")


def test_an_outside_that_cannot_start_says_why() -> None:
    before = set(current().iterdir())
    with pytest.raises(RuntimeError, match=r"No module named tests\.outside\.none_server"):
        Outside("none")
    assert set(current().iterdir()) == before


def test_what_is_not_done_needs_an_answer() -> None:
    with pytest.raises(ValueError, match="not done"):
        Manner(does=False)


def _gone(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    return False


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
