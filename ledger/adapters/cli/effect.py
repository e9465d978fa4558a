"""`effect`: the history of one act on the outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ledger.adapters.cli.options import KeyArgument, RunOption
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.application.settling import Unsettled
    from ledger.record import Record

HELP = """Show one act on the outside, and how it came to that.

Everything that is recorded under its key, in all runs that share it: who intended it and with which
arguments, who tried, what was reported, and what was found out. The name on each line is who wrote the event.

KEY may be the beginning of a key, at least 8 digits, of an effect that is unsettled; with --run also of any
other that this run intended, for which the whole run is read.

\b
Examples:
  intent-ledger effect 5a3c01d2
  intent-ledger effect 5a3c01d2 --run refund-17 --json
"""


@verb()
def effect(
    call: Call,
    key: KeyArgument,
    run: RunOption = None,
) -> None:
    """Show one effect."""
    from ledger.adapters.cli.effect_view import facts
    from ledger.adapters.cli.log import as_json_object, contents_of
    from ledger.application.effect_listing import events_of, lease_now

    screen = call.screen
    with call.looking() as opened:
        one = look_up(opened, key, run)
        now = lease_now(opened)
        records = events_of(opened, one.effect.key)
        if call.as_json:
            events = [as_json_object(record) for record in records]
            screen.document({"effect": facts(one, now), "events": events})
            return
        contents = contents_of(opened, records)
    from ledger.adapters.cli.effect_view import show_one

    show_one(screen, one, now)
    screen.title("What is recorded of it")
    for record in records:
        _show(screen, record, contents)


_WHOLE = 64


def look_up(opened: Ledger, key: str, run: str | None) -> Unsettled:
    """Find an effect by its key, or by the beginning of it.

    Raises:
        EffectNotFound: there is none; it says where to look.
        InvalidInput: it is no key, or several begin so.
    """
    from ledger.application.effect_listing import as_time_makes_it, find_key
    from ledger.errors import EffectNotFound

    try:
        return as_time_makes_it(opened, opened.effect(find_key(opened, key, run)), run)
    except EffectNotFound as error:
        hint = (
            "`intent-ledger effects` lists those that are unsettled, `effects RUN --all` every one of a run"
        )
        if run is None and len(key) < _WHOLE:
            hint += "; of one that is settled give the whole key, or its run, too: --run RUN"
        raise EffectNotFound(f"{error}; {hint}", key=key) from None


def _show(screen: Screen, record: Record, contents: dict[str, Any]) -> None:
    from ledger.adapters.cli.words import event_words, quoted, when

    words = event_words(record.event, contents, brief=screen.is_terminal)
    place = f"{quoted(record.run)} {record.position}"
    headline = f"{when(record.at)}  {place}  {record.name}  {quoted(record.actor.id)}"
    if screen.is_terminal:
        screen.entry(headline, indent=2, style="bold")
        screen.entry(words.line, indent=4, hang=2)
    else:
        screen.line(f"{headline}  {words.line}")
