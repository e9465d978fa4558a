"""What a tool returned is told again as it was heard, also where it says that it returns an `Outcome`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional, Union

import pytest

from ledger import Outcome, open_ledger
from ledger.testing import Clock


def plain(n: int) -> Outcome:
    """Return an outcome only."""
    return Outcome({"n": n}, external_ref=f"ref-{n}", cost={"tokens": n})


def either(n: int) -> dict[str, int] | Outcome:
    """Return an outcome, or a result by itself."""
    return Outcome({"n": n})


def perhaps(n: int) -> Optional[Outcome]:  # noqa: UP045  both spellings are read
    """Return an outcome, or nothing."""
    return Outcome({"n": n})


def typed(n: int) -> Union[Outcome, tuple[int, ...]]:  # noqa: UP007
    """Return an outcome with a result that JSON knows by another type."""
    return Outcome((n, n))


@pytest.mark.parametrize(
    ("tool", "result"), [(plain, {"n": 3}), (either, {"n": 3}), (perhaps, {"n": 3}), (typed, (3, 3))]
)
@pytest.mark.parametrize("recovery", ["at_most_once", "read_only"])
def test_a_tool_that_says_it_returns_an_outcome_is_told_by_its_result(
    tool: Callable[..., Any], result: Any, recovery: str
) -> None:
    with open_ledger(":memory:", clock=Clock()) as ledger:
        run = ledger.open_run("r", "goal")
        told = [run.perform(tool, {"n": 3}, recovery=recovery) for _ in range(2)]
        assert told == [result, result]
