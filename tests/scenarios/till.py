"""An outside that takes payments; its record is a file, so that it outlives the programs that pay."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from ledger import CurrentEffect, Happened, NotHappened, Outcome, Recovery, Tool, tool

LEASE = 60
DEDUPES = 7 * 86_400
NAME = "pay"


class Till:
    """Takes payments; each line of its file is one that was taken, or a repeat that it recognised."""

    def __init__(self, path: Path, then: Callable[[], object] = lambda: None) -> None:
        self.path = path
        self.then = then
        """Called when a payment was taken, before that is answered."""
        self.is_silent = False
        """Whether it answers no question."""

    def pay(self, order: int, *, effect: CurrentEffect) -> Outcome:
        """Pay an order back."""
        paid = {"key": effect.key, "order": order}
        self._note(paid)
        self.then()
        return Outcome({"order": order}, external_ref=f"ch_{order}", cost={"EUR": "10"})

    def pay_once(self, order: int, *, effect: CurrentEffect) -> Outcome:
        """Pay an order back, as a till does that takes each key once."""
        if any(one["key"] == effect.key for one in self.paid):
            self._note({"key": effect.key, "repeat": True})
            return Outcome({"order": order}, external_ref=f"ch_{order}", cost={"EUR": "10"})
        return self.pay(order, effect=effect)

    def find(self, key: str, args: Mapping[str, Any]) -> Happened | NotHappened | None:
        """Tell whether it took a payment."""
        if self.is_silent:
            return None
        for one in self.paid:
            if one["key"] == key:
                order = one["order"]
                return Happened({"order": order}, external_ref=f"ch_{order}", cost={"EUR": "10"})
        return NotHappened()

    def tool(self, recovery: str = "queryable", name: str = NAME, **declared: Any) -> Tool:
        """Return the tool that pays, with what it is declared to do where an answer is lost."""
        declared = {"recovery": Recovery(recovery), "lease_seconds": LEASE, **declared}
        if recovery == "queryable":
            return tool(name=name, probe=self.find, **declared)(self.pay)
        if recovery == "idempotent":
            return tool(name=name, dedupes_for=DEDUPES, **declared)(self.pay_once)
        return tool(name=name, **declared)(self.pay)

    @property
    def paid(self) -> list[dict[str, Any]]:
        """What it took."""
        return [one for one in self._lines() if "order" in one]

    @property
    def orders(self) -> list[int]:
        """The orders that it paid, once for each time."""
        return [one["order"] for one in self.paid]

    @property
    def repeats(self) -> int:
        """How many payments it recognised and did not take again."""
        return sum("repeat" in one for one in self._lines())

    def module(self, folder: Path, recovery: str) -> Path:
        """Write a module that declares the tool, for the command line."""
        # No two modules of a process have one name.
        path = folder / f"till_{sha256(str(folder).encode()).hexdigest()[:12]}.py"
        path.write_text(
            "from pathlib import Path\n\nfrom tests.scenarios.till import Till\n\n"
            f"tools = (Till(Path({str(self.path)!r})).tool({recovery!r}),)\n",
            "utf-8",
        )
        return path

    def _lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]

    def _note(self, what: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")


def for_ever() -> None:
    """Wait for a kill."""
    while True:
        threading.Event().wait()
