"""What is given malformed is told in plain words, with its path, whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ledger import Ledger, Limits, open_ledger
from ledger.commands import MoveCursor, ResumeRun
from ledger.errors import InvalidInput

NO_POSITION = "a global position is a whole number, not '5'"


@pytest.mark.parametrize(
    ("call", "path", "reason"),
    [
        (lambda ledger: ledger.open_run(7, "goal"), "run", "an id is text, not 7"),
        (lambda ledger: ledger.run(None), "run", "an id is text, not None"),
        (lambda ledger: ledger.contract(b"r"), "run", "an id is text, not b'r'"),
        (lambda ledger: ledger.follow(after="5"), "after", NO_POSITION),
        (lambda ledger: ledger.follow(after="5", live=True), "after", NO_POSITION),
        (lambda ledger: ledger.log("r", after="5"), "after", "give a whole number from 0 on, not '5'"),
        (lambda ledger: ledger.log("r", limit=-1), "limit", "give a whole number from 0 on, not -1"),
        (
            lambda ledger: ledger.log_source("policy:x", after="5"),
            "after",
            "give a whole number from 0 on, not '5'",
        ),
        (lambda ledger: ledger.blob(7), "digest", "a digest is 64 hexadecimal digits"),
        (
            lambda ledger: ledger.run("r").do(ResumeRun()),
            "command",
            "a run goes on by `ledger.resume`, which asks the gate",
        ),
        (
            lambda ledger: ledger.run("r").do(MoveCursor(node="n"), expected="1"),
            "expected",
            "give a whole number from 0 on, not '1'",
        ),
        (
            lambda ledger: ledger.run("r").do(MoveCursor(node="n"), causation=7),
            "causation",
            "an id is text, not 7",
        ),
        (
            lambda ledger: ledger.run("r", correlation=b"c").move("n"),
            "correlation",
            "an id is text, not b'c'",
        ),
        (
            lambda ledger: ledger.runs(foo=1),
            "foo",
            (
                "no such field; known are after, alive_before, held_before, labels, limit, owner, prefix, "
                "status, thread, verdict"
            ),
        ),
        (lambda ledger: ledger.runs(state="held"), "state", "no such field; did you mean status?"),
        (
            lambda ledger: ledger.run("r").close("done"),
            "outcome",
            "Input should be 'completed', 'failed', 'cancelled' or 'abandoned'",
        ),
        (lambda ledger: ledger.run("r").suspend(reason=""), "reason", "it is empty"),
        (
            lambda ledger: ledger.run("r").do(MoveCursor(node="n"), again=ValueError("no")),
            "again",
            "give the error that an earlier try ended with, not ValueError('no')",
        ),
    ],
)
def test_it_is_refused_in_plain_words(
    ledger: Ledger, call: Callable[[Any], object], path: str, reason: str
) -> None:
    ledger.open_run("r", "goal")
    with pytest.raises(InvalidInput) as refused:
        call(ledger)
    assert (refused.value.path, refused.value.reason) == (path, reason)
    assert ledger.contract("r").position == 1


def test_a_field_of_a_saying_there_is_not_is_told_with_those_there_are(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    with pytest.raises(InvalidInput) as refused:
        run.move("n", i=1)
    assert refused.value.path == "i"
    assert refused.value.reason.startswith("no such field; known are about, branches, ")
    with pytest.raises(InvalidInput, match=r"^rounds: no such field; did you mean round\?$"):
        run.move("n", rounds=1)


def test_limits_are_refused_before_the_run_is_opened(ledger: Ledger) -> None:
    with pytest.raises(InvalidInput, match=r"^steps: "):
        ledger.open_run("r", "goal", limits=Limits(steps=0))


@pytest.mark.parametrize("tenant", [7, None, ""])
def test_a_tenant_that_is_none_is_refused(tenant: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        open_ledger(":memory:", tenant=tenant)
    assert refused.value.path == "tenant"


class _Awaited:
    async def __call__(self) -> str:
        return "id"


async def _awaited() -> str:
    return "id"


@pytest.mark.parametrize("name", ["clock", "ids"])
@pytest.mark.parametrize("function", [_awaited, _Awaited(), partial(_awaited)])
def test_a_function_that_would_have_to_be_awaited_is_refused_where_it_is_given(
    name: str, function: Callable[[], Any]
) -> None:
    given: dict[str, Any] = {name: function}
    with pytest.raises(InvalidInput, match="AsyncLedger") as refused:
        open_ledger(":memory:", **given)
    assert refused.value.path == name


@pytest.mark.parametrize("name", ["clock", "ids"])
def test_what_is_no_function_is_refused_where_it_is_given(name: str) -> None:
    given: dict[str, Any] = {name: "now"}
    with pytest.raises(InvalidInput, match="give a function, not 'now'") as refused:
        open_ledger(":memory:", **given)
    assert refused.value.path == name
