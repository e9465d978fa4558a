"""What is declared of a tool: by a call for itself alone, by a registration for all that give the name."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Happened, NotHappened, Retry, Tool
from ledger.errors import EffectFailed, InvalidInput, OutcomeUnknown, ResultNotKept
from ledger.events import EffectIntended
from ledger.gateway.tools import declare
from ledger.values import Recovery
from tests.application.conftest import SetClock
from tests.application.performing import Outside, Waiting, events, opened

ARGS = {"order": 17}
IDEMPOTENT: Any = {"recovery": "idempotent", "dedupes_for": None}


@pytest.fixture
def open_on(store: Any, clock: SetClock) -> Waiting:
    return Waiting(store, clock)


@pytest.fixture
def ledger(open_on: Waiting) -> Any:
    return open_on()


def recoveries(ledger: Any) -> list[Recovery]:
    return [event.recovery for event in events(ledger) if isinstance(event, EffectIntended)]


def test_what_a_block_declares_is_of_this_block_alone(ledger: Any) -> None:
    run = opened(ledger)
    with run.effect("post", {"n": 1}, **IDEMPOTENT):
        pass
    with run.effect("post", {"n": 2}):
        pass
    with pytest.raises(OutcomeUnknown) as unknown, run.effect("post", {"n": 3}, definite_errors=KeyError):
        raise ValueError
    assert unknown.value.retry_after is None
    with pytest.raises(OutcomeUnknown), run.effect("post", {"n": 4}):
        raise KeyError
    assert recoveries(ledger) == [Recovery.IDEMPOTENT] + [Recovery.AT_MOST_ONCE] * 3


def test_what_a_call_declares_is_of_this_call_alone(ledger: Any) -> None:
    run, outside = opened(ledger), Outside()
    run.perform("post", {"n": 1}, outside, **IDEMPOTENT)
    run.perform("post", {"n": 2}, outside)
    with run.effect("post", {"n": 3}):
        pass
    with pytest.raises(InvalidInput) as refused:
        run.perform("post", {"n": 4})
    assert refused.value.path == "tool"
    assert recoveries(ledger) == [Recovery.IDEMPOTENT, Recovery.AT_MOST_ONCE, Recovery.AT_MOST_ONCE]


def test_a_call_gives_another_function_under_a_name_that_only_calls_declared(ledger: Any) -> None:
    run = opened(ledger)
    assert run.perform("post", {"n": 1}, lambda n: n) == 1
    assert run.perform("post", {"n": 2}, lambda n: -n) == -2


REGISTRATIONS = ["register", "decorator", "opening", "perform"]


@pytest.mark.parametrize("how", REGISTRATIONS)
def test_no_call_replaces_what_is_registered(open_on: Waiting, how: str) -> None:
    outside, other = Outside(), Outside()
    registered: Tool = declare(outside, name="post", recovery="idempotent", dedupes_for=None)
    ledger = open_on(tools=[registered] if how == "opening" else [])
    run = opened(ledger)
    if how == "register":
        ledger.register(registered)
    elif how == "decorator":
        ledger.tool(name="post", recovery="idempotent", dedupes_for=None)(outside)
    elif how == "perform":
        run.perform(registered, {"n": 1})
    for given in (other, declare(other, name="another")):
        with pytest.raises(InvalidInput, match="is registered with another function") as refused:
            run.perform("post", {"n": 2}, given)
        assert refused.value.path == "function"
    run.perform("post", {"n": 3})
    run.perform("post", {"n": 4}, outside)
    assert other.calls == 0
    assert set(recoveries(ledger)) == {Recovery.IDEMPOTENT}


def test_a_call_declares_more_of_what_is_registered_for_itself_alone(ledger: Any) -> None:
    run, outside = opened(ledger), Outside(ValueError("no"), ValueError("no"))
    ledger.tool(name="post")(outside)
    with pytest.raises(EffectFailed):
        run.perform("post", {"n": 1}, definite_errors=ValueError)
    with pytest.raises(OutcomeUnknown):
        run.perform("post", {"n": 2})


def test_reconcile_asks_by_the_last_call_that_said_how(ledger: Any) -> None:
    run, outside = opened(ledger), Outside(TimeoutError())

    def find(key: str, args: Any) -> NotHappened:
        return NotHappened()

    with pytest.raises(OutcomeUnknown):
        run.perform("post", ARGS, outside, recovery="queryable", probe=lambda key, args: None)
    run.perform("post", {"n": 2}, outside, recovery="queryable", probe=find)
    run.perform("post", {"n": 3}, outside, recovery="queryable", probe=lambda key, args: Happened("p-1"))
    run.perform("post", {"n": 4}, outside)
    assert [(one.found, one.effect.result.json_text) for one in ledger.reconcile()] == [("happened", '"p-1"')]


def test_reconcile_asks_by_a_call_where_what_is_registered_cannot_be_asked(ledger: Any) -> None:
    run, outside = opened(ledger), Outside(TimeoutError())
    ledger.tool(name="post")(outside)
    with pytest.raises(OutcomeUnknown):
        run.perform("post", ARGS, recovery="queryable", probe=lambda key, args: None)
    assert [one.found for one in ledger.reconcile()] == ["unknown"]
    run.perform("post", {"n": 2}, recovery="queryable", probe=lambda key, args: Happened("p-1"))
    assert [one.found for one in ledger.reconcile()] == ["happened"]
    assert [tool.recovery for tool in ledger.tools] == [Recovery.QUERYABLE]


def test_a_deploy_that_adds_a_parameter_finds_what_the_last_one_left(
    open_on: Waiting, clock: SetClock
) -> None:
    """The worker dies in the call; the program is mended, and started again."""
    sent: list[str] = []

    def before(to: str) -> None:
        sent.append(to)
        raise KeyboardInterrupt

    def after(to: str, note: str | None = None, copies: int = 1) -> None:
        sent.append(to)

    with pytest.raises(KeyboardInterrupt):
        opened(open_on()).perform("mail", {"to": "kim"}, before)
    clock.tick(31)
    run = open_on().run("r")
    for args in ({"to": "kim"}, {"to": "kim", "note": None, "copies": "1"}):
        with pytest.raises(OutcomeUnknown):
            run.perform("mail", args, after)
    assert sent == ["kim"]


def test_a_probe_is_given_the_defaults(ledger: Any) -> None:
    asked: list[Any] = []

    def find(key: str, args: Any) -> NotHappened:
        asked.append(args)
        return NotHappened()

    def post(order: int, currency: str = "EUR") -> None:
        raise TimeoutError

    with pytest.raises(OutcomeUnknown):
        opened(ledger).perform("post", ARGS, post, recovery="queryable", probe=find)
    assert asked == [{"order": 17, "currency": "EUR"}]


def test_a_tool_changes_its_own_arguments_only(ledger: Any) -> None:
    run = opened(ledger)
    order: dict[str, Any] = {"lines": [{"n": 1}], "tags": []}

    def place(lines: Any, tags: list[Any], more: list[Any] = []) -> int:  # noqa: B006
        count = len(lines) + len(tags) + len(more)
        lines[0]["n"] = 2
        for each in (lines, tags, more):
            each.append("seen")
        if count > 1:
            raise AssertionError("it was given what another attempt changed")
        raise ConnectionError

    again = Retry(2)
    with pytest.raises(OutcomeUnknown):
        run.perform("place", order, place, recovery="idempotent", dedupes_for=None, retry=again)
    assert order == {"lines": [{"n": 1}], "tags": []}
    with pytest.raises(OutcomeUnknown):
        run.perform("place", order, place, recovery="idempotent", dedupes_for=None)
    assert [one.effect.attempt for one in ledger.effects()] == [3]


def test_arguments_larger_than_a_record_are_refused_with_what_to_do(ledger: Any) -> None:
    run = opened(ledger)
    run.perform("store", {"text": "x" * 240_000}, lambda text: 1)
    for text in ("x" * 260_000, '"' * 70_000, "\x00" * 50_000):
        with pytest.raises(InvalidInput, match="digest") as refused:
            run.perform("store", {"text": text}, lambda text: 1)
        assert refused.value.path == "args"


def test_a_result_that_was_not_kept_is_named_with_an_article(ledger: Any) -> None:
    run = opened(ledger)
    run.perform("make", {}, object)
    with pytest.raises(ResultNotKept, match="returned an object"):
        run.perform("make", {}, object)
