"""How projections stand, as a table and as a document."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ledger.stores.builds import Build

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ledger.adapters.cli.screen import Screen
    from projections.standing import Standing

_MOST_NAMED = 20
"""How many streams that were set aside are named."""


def facts(one: Standing) -> dict[str, Any]:
    """Write how a build stands as a document."""
    from ledger.values.times import write_time
    from projections.built_in import BUILT_IN

    facts: dict[str, Any] = {
        "projection": one.projection,
        "about": BUILT_IN[one.projection].about if one.projection in BUILT_IN else "",
        "version": one.version,
        "slot": one.slot,
        "name": str(Build(one.version, one.slot)),
        "build": one.part,
        "state": one.state,
        "position": str(one.position),
        "events": one.events,
        "at": None if one.at is None else write_time(one.at),
        "lag": {"events": one.lag_events, "seconds": round(one.lag_seconds, 3)},
        "holder": one.holder,
        "held_until": None if one.held_until is None else write_time(one.held_until),
        "updated_at": None if one.updated_at is None else write_time(one.updated_at),
    }
    if one.stopped is not None:
        facts["stopped"] = {
            "global_position": str(one.stopped.gid),
            "run": one.stopped.run,
            "position": one.stopped.position,
            "error": one.stopped.error,
        }
    if one.parked:
        facts["parked"] = {
            "streams": len(one.parked),
            "events": sum(parked.events for parked in one.parked),
            "first": [
                {
                    "run": parked.run,
                    "position": parked.position,
                    "global_position": str(parked.gid),
                    "events": parked.events,
                    "error": parked.error,
                }
                for parked in one.parked[:_MOST_NAMED]
            ],
        }
    return facts


def is_bad_news(found: Iterable[Standing]) -> bool:
    """Tell whether somebody should look: what is read, or is to be, has stopped or left something aside."""
    return any(
        one.part in {"served", "next"} and (one.state in {"stopped", "ahead"} or one.parked) for one in found
    )


def tell(screen: Screen, found: list[Standing]) -> None:
    """Tell how projections stand, as a table or as one document."""
    if screen.as_json:
        screen.document({"projections": list(map(facts, found))})
    else:
        show(screen, found)


def show(screen: Screen, found: list[Standing]) -> None:
    """Show how builds stand, and say what is to be done about those that do not go on."""
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.words import counted, quoted
    from projections.ways_on import is_altered, when_parked, when_stopped

    if screen.narrow:
        for one in found:
            screen.entry(_name(one), style="bold")
            handled = counted(one.events, "event")
            part = "" if one.part is None else f"{one.part}, "
            screen.entry(f"{part}{_state(one)}, {handled}, waiting: {_waiting(one)}", indent=2, hang=2)
    else:
        heads = [Column("PROJECTION"), Column("BUILD"), Column("STATE")]
        columns = [*heads, Column("EVENTS", right=True), Column("WAITING")]
        rows = [(_name(one), one.part or "-", _state(one), f"{one.events:,}", _waiting(one)) for one in found]
        screen.table(columns, rows)
    for one in found:
        if one.stopped is not None:
            place = f"{quoted(one.stopped.run)} position {one.stopped.position}"
            what = f"{one.projection} stopped before {place}: {one_line(one.stopped.error, most=400)}"
            screen.entry(f"{what}; {when_stopped(one.projection, one.stopped.error)}", hang=2)
        elif one.state == "ahead" and one.part != "previous":
            what = f"{one.projection} has handled an event that is not in this ledger"
            screen.entry(f"{what}: intent-ledger project rebuild {one.projection}", hang=2)
        for parked in one.parked[:_MOST_NAMED]:
            what = f"{one.projection} has set {quoted(parked.run)} aside from position {parked.position} on"
            screen.entry(f"{what}: {one_line(parked.error, most=400)}", hang=2)
        if one.parked:
            more = max(len(one.parked) - _MOST_NAMED, 0)
            also = f"and {counted(more, 'stream')} more; " if more else ""
            altered = [parked for parked in one.parked if is_altered(parked.error)]
            error = (altered or one.parked)[0].error
            screen.entry(f"{also}{when_parked(one.projection, error)}", hang=2)


def _name(one: Standing) -> str:
    return f"{one.projection} {Build(one.version, one.slot)}"


def _state(one: Standing) -> str:
    if one.state != "building" or not one.events + one.lag_events:
        return one.state
    return f"{one.state} {100 * one.events // (one.events + one.lag_events)} %"


def _waiting(one: Standing) -> str:
    from ledger.adapters.cli.spans import span_words

    if not one.lag_events:
        return "-"
    return f"{one.lag_events:,} for {span_words(timedelta(seconds=one.lag_seconds))}"
