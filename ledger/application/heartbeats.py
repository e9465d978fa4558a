"""Heartbeats: leases of effects under way are renewed as long as their worker lives.

One thread of a ledger renews all of them, and only once a call has taken a third of its lease: most are done
by then, and cost nothing here.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

from ledger.application.edge import Edge
from ledger.codec import effect_digest
from ledger.errors import StoreError
from ledger.gateway.current import CurrentEffect
from ledger.gateway.protocol import Attempt
from ledger.stores import forks

log = logging.getLogger("ledger")

_IDLE_SECONDS = 5.0
"""How long the thread waits for more to do before it ends."""


@dataclass(eq=False)
class Beat:
    """The lease of one attempt, while it is under way."""

    effect: CurrentEffect
    attempt: Attempt
    worker: str
    seconds: float
    """How long the lease was granted, and is renewed, for."""
    began: float
    """When it was claimed at the latest, on the monotonic clock."""
    renewed: bool = False
    due: float = field(init=False)
    ends: float = field(init=False)
    """When it ends at the earliest, on the monotonic clock."""

    def __post_init__(self) -> None:
        self.due = self.began + self.seconds / 3
        self.ends = self.began + self.seconds
        self.effect.ends_when(lambda: self.is_over)

    @property
    def is_over(self) -> bool:
        """Tell whether the lease as it is known here has ended, by this machine's monotonic clock."""
        return time.monotonic() >= self.ends


class Heartbeats:
    """Renews the leases of a ledger's attempts under way. Any thread may begin and end them."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._generation = forks.generation()
        self._changed = threading.Condition()
        self._beats: set[Beat] = set()
        self._thread: threading.Thread | None = None
        self._wakes_at = 0.0

    def begin(self, beat: Beat) -> None:
        """Renew a lease from now on."""
        if self._generation != forks.generation():
            with forks.one_at_a_time:
                if self._generation != forks.generation():
                    self._begin_anew()  # the thread is not here, and its lock may be held for ever
        with self._changed:
            self._beats.add(beat)
            if self._thread is None:
                self._thread = threading.Thread(target=self._go_on, name="ledger-heartbeats", daemon=True)
                self._thread.start()
            elif beat.due < self._wakes_at:
                self._changed.notify()

    def end(self, beat: Beat) -> None:
        """Renew it no more."""
        with self._changed:
            self._beats.discard(beat)

    def forget(self, key: str) -> None:
        """Forget the renewals of an effect that is settled."""
        with suppress(StoreError):  # a row that stays ends by itself
            self._edge.store.release(self._edge.tenant, effect_digest(key))

    def renew(self, beat: Beat, progress: str | None = None) -> None:
        """Renew a lease now; the effect is lost where it has lapsed or went to another worker.

        Also where the answer came only after the end that was known before: it may be the answer to a second
        try, and somebody may have seen the lease lapsed between the two.

        Raises:
            StoreBusy, StoreUnavailable: whether it was renewed is not known.
        """
        edge, effect = self._edge, beat.effect
        assert beat.attempt.lease_until is not None
        began = time.monotonic()
        until = edge.store.renew(
            edge.tenant,
            effect_digest(effect.key),
            beat.attempt.number,
            worker=beat.worker,
            first_until=beat.attempt.lease_until,
            until_seconds=beat.seconds,
            now=edge.now() if edge.has_own_clock else None,
            progress=progress,
        )
        beat.renewed = True
        if until is None or self._is_over(beat):
            _lose(effect)
        else:
            effect.deadline = until
            beat.ends = max(beat.ends, began + beat.seconds)

    def _go_on(self) -> None:
        while True:
            with self._changed:
                due, now = self._next(), time.monotonic()
                if due is None or due.due > now:
                    pause = _IDLE_SECONDS if due is None else due.due - now
                    self._wakes_at = now + pause
                    if not self._changed.wait(pause) and not self._beats:
                        self._thread = None
                        return
                    continue
                due.due = time.monotonic() + due.seconds / 3
            try:
                self.renew(due)
            except Exception as error:  # noqa: BLE001  the leases of others are not lost by it
                log.warning("a lease could not be renewed, and is tried again: %s", error)
                due.due = time.monotonic() + due.seconds / 10
                if self._is_over(due):
                    _lose(due.effect)

    def _is_over(self, beat: Beat) -> bool:
        """Tell whether the end that is known here has passed, by the clock of leases or the monotonic one."""
        deadline = beat.effect.deadline
        if beat.is_over or deadline is None:
            return True
        try:
            return self._edge.lease_now(self._edge.now()) >= deadline
        except StoreError:
            return False  # the monotonic clock goes on

    def _next(self) -> Beat | None:
        going = (beat for beat in self._beats if not beat.effect.is_lost)
        return min(going, key=lambda beat: beat.due, default=None)


def _lose(effect: CurrentEffect) -> None:
    effect.is_lost = True
    log.warning("the lease of %s, attempt %s, ended while it was under way", effect.tool, effect.attempt)
