"""Calls that runs made or tried to make, as their records have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ledger.application.ledger import Ledger
from ledger.application.listing import NOT_READ, Unread
from ledger.errors import RunNotFound
from ledger.events import EffectIntended, EffectRefused, ObservationRecorded
from ledger.run.rule_trial import Call

_NAMES = 200


def recorded_calls(ledger: Ledger, runs: Iterable[str] | None = None) -> Iterator[str | Call | Unread]:
    """Yield the calls of runs, run by run: the id of each run before its calls.

    An act counts once, however often it was tried; so does one that was refused, where its arguments are
    recorded. Each look counts whose arguments are recorded. A run that cannot be read is yielded as such.

    Args:
        ledger: where the runs are.
        runs: their ids; None: all runs of the tenant.

    Raises:
        RunNotFound: one of `runs` does not exist.
    """
    for name in _names(ledger) if runs is None else runs:
        yield name
        try:
            yield from _calls(ledger, name)
        except RunNotFound:
            if runs is not None:
                raise
        except NOT_READ as error:
            yield Unread(name, error)


def _calls(ledger: Ledger, name: str) -> Iterator[Call]:
    seen: set[str] = set()
    for record in ledger.log(name):
        event = record.event
        if isinstance(event, EffectIntended):
            args: str | None = event.args_in_full or event.args
            resource = event.resource
        elif isinstance(event, EffectRefused):
            args, resource = event.args, None
        elif isinstance(event, ObservationRecorded):
            if event.args is not None:
                yield Call(name, record.position, event.tool, event.args, None, record.tenant, True)
            continue
        else:
            continue
        if args is None or (event.key is not None and event.key in seen):
            continue
        if event.key is not None:
            seen.add(event.key)
        yield Call(name, record.position, event.tool, args, resource, record.tenant)


def _names(ledger: Ledger) -> Iterator[str]:
    after = ""
    while heads := ledger.store.heads(ledger.tenant, after=after, prefix="", limit=_NAMES):
        yield from (head.stream for head in heads if not head.stream.startswith("$"))
        after = heads[-1].stream
