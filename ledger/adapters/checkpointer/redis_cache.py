"""Redis as a cache in front of what is durable: it may be dead, slow, emptied or lie, and costs only time.

A content is asked for by the SHA-256 that the durable store names, and what does not have it is not believed.
So an answer is never an older state, and never another one. Which state is the newest Redis is never asked.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from ledger.canonical import invalid

log = logging.getLogger("ledger")

R = TypeVar("R")

PREFIX: Final = "intent-ledger:state:"
LARGEST: Final = 16 * 1024 * 1024
"""Bytes of the largest content that is put there."""
_LONGEST_PAUSE: Final = 60.0


@dataclass(slots=True)
class Counts:
    """What a cache was good for, since it was opened."""

    found: int = 0
    missed: int = 0
    failed: int = 0
    """Calls that did not end well, or in time."""
    lied: int = 0
    """Contents that were not what was asked for."""
    spared: int = 0
    """Calls that were not made since an earlier one had failed."""


class RedisCache:
    """Contents in Redis, for a while. Threads may share it; none of its methods raises or waits for long."""

    def __init__(
        self,
        url: str,
        *,
        patience_seconds: float = 0.25,
        keep_seconds: int = 7 * 86_400,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take a cache by its address; Redis need not be there.

        Args:
            url: as `redis://host:6379/0`, `rediss://…` or `unix://…`.
            patience_seconds: how long a call may take in all. After one that failed Redis is left alone,
                for a second at first, longer each time, a minute at most.
            keep_seconds: after how long Redis forgets what was put there.
            monotonic: a clock that only goes forward, in seconds.

        Raises:
            InvalidInput: the address is none, or the client is not installed.
        """
        self.counts = Counts()
        self._patience = patience_seconds
        self._keep = keep_seconds
        self._monotonic = monotonic
        self._client = _client(url, patience_seconds)
        self._mutex = threading.Lock()
        self._rests_until = 0.0
        self._pause = 1.0

    def get(self, digests: Collection[bytes]) -> Mapping[bytes, bytes]:
        wanted = list(digests)
        if not wanted:
            return {}
        answer = self._call(lambda: self._client.mget([_key(digest) for digest in wanted]))
        found = {}
        if isinstance(answer, list):
            for digest, content in zip(wanted, answer, strict=False):
                if isinstance(content, bytes) and hashlib.sha256(content).digest() == digest:
                    found[digest] = content
                elif content is not None:
                    self._is_not_believed()
        self.counts.found += len(found)
        self.counts.missed += len(wanted) - len(found)
        return found

    def put(self, contents: Mapping[bytes, bytes]) -> None:
        small = {digest: content for digest, content in contents.items() if len(content) <= LARGEST}
        if small:
            self._call(lambda: self._put(small))

    def drop(self, digests: Collection[bytes]) -> None:
        if digests:
            self._call(lambda: self._client.delete(*map(_key, digests)))

    def close(self) -> None:
        with suppress(Exception):
            self._client.close()

    def _put(self, contents: Mapping[bytes, bytes]) -> None:
        with self._client.pipeline(transaction=False) as pipeline:
            for digest, content in contents.items():
                pipeline.set(_key(digest), content, ex=self._keep)
            pipeline.execute()

    # --- patience ---------------------------------------------------------------------------------

    def _call(self, call: Callable[[], R]) -> R | None:
        """Make a call, in a thread of its own: a server that sends a byte at a time meets no time-out."""
        if self._monotonic() < self._rests_until:
            self.counts.spared += 1
            return None
        answers: list[R] = []
        faults: list[BaseException] = []

        def made() -> None:
            try:
                answers.append(call())
            except Exception as error:  # noqa: BLE001 - whatever a server says that lies, or is none
                faults.append(error)

        # A daemon: a program that ends does not wait for a server that does not answer.
        caller = threading.Thread(target=made, name="checkpoint-cache", daemon=True)
        try:
            caller.start()
        except RuntimeError as error:  # the system has no more threads
            faults.append(error)
        else:
            caller.join(self._patience)
        if answers:
            with self._mutex:
                self._pause = 1.0
            return answers[0]
        self._failed(faults or ["it took too long"])
        if not faults:
            with suppress(Exception):
                self._client.connection_pool.disconnect()
        return None

    def _failed(self, faults: Iterable[object]) -> None:
        with self._mutex:
            self.counts.failed += 1
            self._rests_until = self._monotonic() + self._pause
            pause, self._pause = self._pause, min(self._pause * 2, _LONGEST_PAUSE)
        # No address: it may hold a password.
        log.warning("the cache of checkpoints is left alone for %g s: %s", pause, *map(_named, faults))

    def _is_not_believed(self) -> None:
        with self._mutex:
            self.counts.lied += 1
        log.warning("the cache of checkpoints has a content that is not what its name says")


def _client(url: str, patience: float) -> Any:
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError as error:
        advice = "Redis needs its client: pip install '.[redis]' in a checkout"
        raise invalid("cache", f"{advice} ({error})") from error
    try:
        return redis.Redis.from_url(
            url,
            socket_timeout=patience,
            socket_connect_timeout=patience,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
    except ValueError as error:
        raise invalid("cache", f"this is no address of a Redis: {error}") from None


def _key(digest: bytes) -> str:
    return PREFIX + digest.hex()


def _named(fault: object) -> str:
    return type(fault).__name__ if isinstance(fault, BaseException) else str(fault)
