"""A run with an act to perform, and in which words a test says what performing it came to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple

from ledger import Ledger
from ledger.errors import EffectInFlight, OutcomeUnknown
from ledger.events import EffectReconciled, EffectSucceeded, ObservationRecorded
from ledger.run.known import EffectHistory
from ledger.testing import START, Clock
from tests.effects.deeds import LEASE, SETTLE, Deed, before_each_call
from tests.outside.outside import Outside
from tests.servers.waiting import until

EXECUTES = "executes it"
TELLS = "tells what it came to, and calls nothing"
IN_FLIGHT = "EffectInFlight"
A_PERSON = "OutcomeUnknown, a person has to find out"
ASK_LATER = f"OutcomeUnknown, ask again after {SETTLE} s"
AGAIN = "OutcomeUnknown, the same may be sent again at once"


class Scene(NamedTuple):
    """A run whose worker was killed, and who goes on with it."""

    ledger: Ledger
    run: str
    clock: Clock
    deed: Deed
    server: Outside
    calls: list[str]

    def at(self, seconds: int) -> None:
        self.clock.now = START + timedelta(seconds=seconds)

    def perform(self) -> Any:
        """Perform the act, and return what it came to in the words of the table."""
        tool = before_each_call(self.deed.tool(self.server.port), lambda: self.calls.append("called"))
        before = len(self.calls)
        try:
            result = self.ledger.run(self.run).perform(tool, self.deed.args)
        except EffectInFlight as busy:
            return {float(LEASE): IN_FLIGHT}[busy.data["retry_after"]]
        except OutcomeUnknown as unknown:
            return {None: A_PERSON, 0.0: AGAIN, float(SETTLE): ASK_LATER}[unknown.retry_after]
        assert set(result) & {"to", "id", "answer"}, result
        return EXECUTES if len(self.calls) > before else TELLS

    def names(self) -> list[str]:
        return [record.name for record in self.ledger.log(self.run)]

    def outcomes(self) -> int:
        """Count where the record says that it was done."""
        events = [record.event for record in self.ledger.log(self.run)]
        return sum(
            isinstance(event, EffectSucceeded | ObservationRecorded)
            or (isinstance(event, EffectReconciled) and event.found == "happened")
            for event in events
        )

    def acts(self) -> int:
        return len(self.deed.record(self.server))

    def effect(self) -> EffectHistory:
        [one] = self.ledger.effects(self.run)
        return one.effect

    def lets_go(self, *, undone: int) -> None:
        """Let the outside answer what it holds, and do that of it which is not done yet."""
        done = self.acts() + undone
        self.server.release()
        until(lambda: self.acts() == done, "what was held is done")
