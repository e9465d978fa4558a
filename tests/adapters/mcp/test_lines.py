"""Lines over standard input: messages, what is none, and what is too long."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as t
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage

from ledger.adapters.mcp.lines import MOST_BYTES, UNREADABLE, Lines, Read, TooLong, id_of, relay
from tests.adapters.cli.command import PROGRAM, environment

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def of(*parts: bytes) -> Callable[[int], Awaitable[bytes]]:
    """Return a source that gives its bytes part by part."""
    left = iter(parts)

    async def read(most: int) -> bytes:
        return next(left, b"")

    return read


async def all_of(lines: Lines) -> list[bytes | TooLong]:
    found = []
    while (line := await lines.next()) is not None:
        found.append(line)
    return found


@given(
    st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=6),
    st.integers(1, 60),
)
def test_lines_are_told_whole_however_they_arrive_and_those_that_are_too_long_are_told_apart(
    wanted: list[bytes], size: int
) -> None:
    whole = b"".join(line + b"\n" for line in wanted)
    parts = [whole[at : at + size] for at in range(0, len(whole), size)]
    found = anyio.run(lambda: all_of(Lines(of(*parts), most=20)))
    assert found == [line if len(line) <= 20 else TooLong(line[:20], line[-20:]) for line in wanted]


def test_what_is_too_long_is_not_held_and_the_last_line_needs_no_end() -> None:
    lines = Lines(of(b"[" * 9_000, b"a" * 9_000, b"z" * 9_000 + b"\nlast"), most=10_000)
    long, last = anyio.run(lambda: all_of(lines))
    assert long == TooLong(b"[" * 4096, b"z" * 4096)
    assert last == b"last"


@pytest.mark.anyio
async def test_one_that_is_no_message_is_answered_and_the_others_are_passed_on() -> None:
    messages, readable = anyio.create_memory_object_stream[Read](9)
    outgoing, answers = anyio.create_memory_object_stream[SessionMessage](9)
    async with readable, outgoing, answers:
        with anyio.fail_after(30):
            await relay(Lines(of(PING, b"no JSON\n", b'"\xff"\n', PING)), messages, outgoing)
        passed = [one async for one in readable]
        assert [one.message for one in passed if isinstance(one, SessionMessage)] == [
            t.JSONRPCRequest(jsonrpc="2.0", id=1, method="ping")
        ] * 2
        for _ in range(2):
            answer = answers.receive_nowait().message
            assert answer == UNREADABLE
            assert '"id":null' in answer.model_dump_json(by_alias=True, exclude_unset=True)


@pytest.mark.anyio
async def test_a_server_that_has_ended_is_passed_nothing() -> None:
    messages, readable = anyio.create_memory_object_stream[Read](9)
    outgoing, answers = anyio.create_memory_object_stream[SessionMessage](9)
    readable.close()
    async with outgoing, answers:
        with anyio.fail_after(30):
            await relay(Lines(of(PING)), messages, outgoing)
        assert answers.statistics().current_buffer_used == 0


LONG = "x" * 9_000


@pytest.mark.parametrize(
    ("message", "id"),
    [
        ({"jsonrpc": "2.0", "id": 7, "method": "m", "params": {"id": "own", "text": LONG}}, 7),
        ({"id": "a-1", "jsonrpc": "2.0", "params": {"text": LONG}}, "a-1"),
        ({"method": "m", "params": {"id": "own", "text": LONG}, "jsonrpc": "2.0", "id": 7}, 7),
        ({"method": "m", "params": {"text": LONG, "id": "own"}, "id": "ä", "jsonrpc": "2.0"}, None),
        ({"method": "m", "params": {"text": LONG, "id": "own"}}, None),
        ({"method": "m", "params": {"text": LONG, "more": [{"id": 5}]}}, None),
        ({"method": "m", "params": {"text": LONG + '"id":5}'}}, None),
        ({"params": {"text": LONG}, "id": 7, "more": {"text": LONG}}, None),
        ({"id": None, "params": {"text": LONG}}, None),
    ],
)
def test_the_id_of_what_is_too_long_is_read_where_it_is_surely_the_messages_own(
    message: dict[str, Any], id: str | int | None
) -> None:
    for separators in ((",", ":"), (", ", ": ")):
        text = json.dumps(message, separators=separators).encode()
        assert id_of(TooLong(text[:4096], text[-4096:])) == id


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


def lines_of(messages: Iterable[object]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in messages)


@pytest.mark.slow
def test_a_process_answers_a_message_that_is_too_long_and_goes_on_until_it_is_told_to_end(
    tmp_path: Path,
) -> None:
    command = [str(PROGRAM), "mcp", "--ledger", str(tmp_path / "l.db"), "--create", "--actor", "agent:a"]
    long = {"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"text": "x" * MOST_BYTES}}
    fits = {"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"text": "x" * (MOST_BYTES - 100)}}
    with subprocess.Popen(
        command,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines_of([HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}]))
        process.stdin.write(lines_of([long, fits]))
        process.stdin.flush()
        told: dict[int, Any] = {}
        while len(told) < 3:
            answer = json.loads(process.stdout.readline())
            told[answer["id"]] = answer
        assert "result" in told[1]
        assert told[2]["error"]["code"] == t.INVALID_REQUEST
        assert "4,194,304 bytes" in told[2]["error"]["message"]
        assert told[3]["result"] == {}
        # Its standard input is open, and it waits there.
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


@pytest.mark.slow
def test_a_process_without_standard_input_says_so(tmp_path: Path) -> None:
    command = ["mcp", "--ledger", str(tmp_path / "l.db"), "--create", "--actor", "agent:a"]
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" <&-', str(PROGRAM), *command],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "standard input" in done.stderr
