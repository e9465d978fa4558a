"""What a call returns is what a repeat of it returns; and what an act is told of holds no secret."""

from __future__ import annotations

import dataclasses
import enum
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from ledger import Happened, NotHappened, Outcome, SecretRef, Secrets
from ledger.errors import EffectFailed, InvalidInput, LeaseLost, OutcomeUnknown, SecretFound
from tests.application.conftest import SetClock
from tests.application.performing import Waiting, last, names, opened

TOKEN = "tok-7Hq-nobody-knows-its-shape"
STRIPE = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
QUERYABLE: Any = {"recovery": "queryable", "settle_seconds": 0}


class Size(enum.Enum):
    SMALL = "s"


class Receipt(BaseModel):
    amount: Decimal
    size: Size = Size.SMALL


class Hidden(BaseModel):
    token: SecretStr


@dataclasses.dataclass
class Point:
    x: int
    at: datetime


AT = datetime(2026, 1, 1, tzinfo=UTC)
POINT = {"x": 1, "at": "2026-01-01T00:00:00Z"}
ID = uuid.UUID(int=7)


@pytest.fixture
def open_on(store: Any, clock: SetClock) -> Waiting:
    return Waiting(store, clock)


@pytest.fixture
def ledger(open_on: Waiting) -> Any:
    return open_on()


@pytest.fixture
def vault(open_on: Waiting) -> Any:
    return open_on(secrets=Secrets(lookup={"psp": TOKEN, "pin": "123"}.__getitem__))


@pytest.mark.parametrize(
    ("result", "read"),
    [
        (Receipt(amount=Decimal("1.50")), {"amount": "1.50", "size": "s"}),
        ([Point(1, AT)], [POINT]),
        ({"a": (1, (Decimal(2), ID))}, {"a": [1, ["2", str(ID)]]}),
        (date(2026, 1, 1), "2026-01-01"),
        (Size.SMALL, "s"),
        (1.0, 1),
        ({"id": "r-1", "lines": [1, None]}, {"id": "r-1", "lines": [1, None]}),
        ("x" * 20_000, "x" * 20_000),
        (None, None),
    ],
)
@pytest.mark.parametrize("recovery", ["at_most_once", "read_only"])
def test_a_repeat_returns_what_the_first_call_did(ledger: Any, result: Any, read: Any, recovery: Any) -> None:
    run = opened(ledger)
    for _ in range(2):
        got = run.perform("refund", {}, lambda: Outcome(result), recovery=recovery)
        assert (got, type(got)) == (read, type(read))


def test_a_declared_result_is_of_its_type_both_times(ledger: Any) -> None:
    run = opened(ledger)

    def refund() -> Receipt:
        return {"amount": "1.50"}  # type: ignore[return-value]

    def pair() -> tuple[int, Decimal]:
        return 1, Decimal("2.0")

    for _ in range(2):
        assert run.perform("pair", {}, pair) == (1, Decimal("2.0"))
        assert run.perform("refund", {}, refund) == Receipt(amount=Decimal("1.50"))


@pytest.mark.parametrize(
    "result", [object(), {1, 2}, [object()], Hidden(token=SecretStr("hunter2")), {"k": STRIPE}]
)
def test_what_is_not_kept_whole_is_returned_as_it_is(ledger: Any, result: Any) -> None:
    assert opened(ledger).perform("refund", {}, lambda: result) is result


def test_what_a_caller_does_to_a_result_changes_no_record(ledger: Any) -> None:
    run, kept = opened(ledger), {"lines": [1]}
    run.perform("refund", {}, lambda: kept)["lines"].append(2)
    assert kept == {"lines": [1]}
    assert run.perform("refund", {}, lambda: kept) == {"lines": [1]}


# --- secrets that were resolved ----------------------------------------------------------------------


def record(ledger: Any) -> str:
    return "\n".join(str(entry.event) for entry in ledger.log("r"))


def test_a_secret_that_was_resolved_is_in_no_result(vault: Any) -> None:
    run = opened(vault)

    def pay(token: SecretRef, pin: SecretRef) -> Outcome:
        got, short = token.resolve(), pin.resolve()
        return Outcome({"sent": [f"with {got}", short], got: 1}, external_ref=f"ref-{got}")

    args = {"token": SecretRef("psp"), "pin": SecretRef("pin")}
    assert run.perform("pay", args, pay)["sent"] == [f"with {TOKEN}", "123"]
    assert TOKEN not in record(vault)
    assert last(vault).external_ref == "ref-[redacted:resolved]"
    kept = {"sent": ["with [redacted:resolved]", "123"], "[redacted:resolved]": 1}
    assert run.perform("pay", args, pay) == kept


@pytest.mark.parametrize("error", [ValueError, RuntimeError])
def test_a_secret_that_was_resolved_is_in_no_error(vault: Any, error: type[Exception]) -> None:
    run = opened(vault)

    def pay(token: SecretRef) -> None:
        raise error(f"refused: {token.resolve()} and {STRIPE}")

    def find(key: str, args: Any) -> NotHappened:
        raise LookupError(args["token"].resolve())

    with pytest.raises((EffectFailed, OutcomeUnknown)) as told:
        run.perform(
            "pay", {"token": SecretRef("psp")}, pay, definite_errors=ValueError, **QUERYABLE, probe=find
        )
    said = f"{told.value} {told.value.data}"
    assert "[redacted:resolved]" in said
    for secret in (TOKEN, STRIPE):
        assert secret not in said
        assert secret not in record(vault)


def test_a_secret_that_a_probe_resolved_is_in_no_evidence(vault: Any) -> None:
    run = opened(vault)

    def find(key: str, args: Any) -> Happened:
        got = args["token"].resolve()
        return Happened({"by": got}, external_ref=got, evidence=f"asked with {got}")

    def pay(token: SecretRef) -> None:
        raise TimeoutError

    assert run.perform("pay", {"token": SecretRef("psp")}, pay, **QUERYABLE, probe=find) == {
        "by": "[redacted:resolved]"
    }
    assert TOKEN not in record(vault)


def test_a_reference_of_a_known_shape_is_replaced_in_external_refs(ledger: Any) -> None:
    opened(ledger).perform("pay", {}, lambda: Outcome(1, external_ref=f"ref {STRIPE}"))
    assert last(ledger).external_ref == "ref [redacted:stripe-key]"


def test_the_outsides_id_of_an_act_is_no_words(ledger: Any) -> None:
    opened(ledger).perform("pay", {}, lambda: Outcome(1, external_ref="token:A1B2C3D4"))
    assert last(ledger).external_ref == "token:A1B2C3D4"


@pytest.mark.parametrize("name", ["step", "occurrence", "key"])
def test_a_secret_in_what_names_an_act_is_refused(ledger: Any, name: str) -> None:
    options: Any = {name: STRIPE}
    with pytest.raises(SecretFound, match=name):
        opened(ledger).perform("pay", {}, lambda: 1, **options)
    assert names(ledger) == ["effect.refused"]
    assert STRIPE not in record(ledger)


def test_a_reference_that_nothing_is_found_for_fails_before_anything_is_said(vault: Any) -> None:
    run = opened(vault)
    calls: list[Any] = []

    def pay(deep: Any) -> None:
        calls.append(deep)

    for recovery in ("at_most_once", "read_only"):
        with pytest.raises(InvalidInput, match="no secret of this name"):
            run.perform("pay", {"deep": [{"token": SecretRef("gone")}]}, pay, recovery=recovery)
    with pytest.raises(InvalidInput), run.effect("pay", {"token": SecretRef("gone")}):
        pytest.fail("it was entered")
    assert names(vault) == []
    assert calls == []


# --- what is told of what came of it -----------------------------------------------------------------


def late(open_on: Waiting, clock: SetClock) -> Any:
    """Return a body whose lease ends while it acts, so that another worker does it too."""
    second = open_on()

    def body() -> tuple[int, ...]:
        clock.tick(31)
        [one] = second.effects()
        second.settle(one.effect.key, happened=False, evidence="not in the books", by="human:kim")
        assert second.run("r").perform("pay", {}, lambda: "second") == "second"
        return (1, 2)

    return body


def test_who_was_fenced_is_told(open_on: Waiting, clock: SetClock) -> None:
    with pytest.raises(LeaseLost) as lost:
        opened(open_on()).perform("pay", {}, late(open_on, clock))
    assert lost.value.data["result"] == (1, 2)


def test_a_block_that_was_fenced_is_told(open_on: Waiting, clock: SetClock) -> None:
    run, body = opened(open_on()), late(open_on, clock)
    with pytest.raises(LeaseLost) as lost, run.effect("pay", {}) as effect:
        effect.succeed(body())
    assert lost.value.data == {"key": effect.key, "result": [1, 2]}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (NotHappened(evidence="no such charge"), "the probe did not find it: no such charge"),
        (None, "the probe could not tell"),
        (1, "the probe answered with an int"),
        (LookupError("down"), "the probe raised LookupError: down"),
    ],
)
def test_what_the_probe_said_is_told(ledger: Any, clock: SetClock, answer: Any, said: str) -> None:
    run = opened(ledger)

    def find(key: str, args: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    def pay() -> None:
        raise TimeoutError

    for _ in range(2):
        with pytest.raises(OutcomeUnknown) as unknown:
            run.perform("pay", {}, pay, recovery="queryable", probe=find)
        assert said in str(unknown.value)
        assert unknown.value.retry_after is not None
    [one] = ledger.reconcile()
    assert one.found == "unknown"
    assert said in one.because
