"""`request-approval`: a person is asked anew about an act."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.options import RunOption
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.application.runs import Run
    from projections.views import Requested

HELP = """Ask a person anew about an act that waits, or was begun and is not done.

It leads out where a request binds no more, which holds a run at the gate as `approval_void`: terms, plan or
runtime have changed, or its time is over. The request before it, and any answer to that, leave the contract.
Without --question it is the same question. Whoever decides here cannot answer. Where what was asked last
binds still and asks the same, nothing is recorded. What a person denied only a person asks anew about.

KEY may be the beginning, at least 6 characters, of the id of an approval, and so of a key, also of what was
answered; or, at least 8, of a key of what was begun and is not settled.

A yes that is not used yet is left behind by this, and so taken back.

\b
Examples:
  intent-ledger request-approval 5a3c01d2
  intent-ledger request-approval 5a3c01d2 --run refund-17 \\
      --expires-at 2026-02-06T17:00:00Z --json
"""

KeyArgument = Annotated[
    str,
    typer.Argument(
        metavar="KEY", help="Of the act or its approval, or at least 6 digits.", show_default=False
    ),
]


@verb(actor=True)
def request_approval(
    call: Call,
    key: KeyArgument,
    question: Annotated[
        str | None,
        typer.Option("--question", metavar="TEXT", help="What is asked; else as before.", show_default=False),
    ] = None,
    expires_at: Annotated[
        str | None,
        typer.Option(
            "--expires-at",
            metavar="TIME",
            help="Until when it may be answered and used; else without end.",
            show_default=False,
        ),
    ] = None,
    run: RunOption = None,
) -> None:
    """Ask a person anew."""
    from ledger.adapters.cli.saying import show

    screen = call.screen
    with call.saying() as opened:
        handle, whole = _found(opened, key, run)
        ends = None if expires_at is None else _end(opened, expires_at)
        stated = handle.request_approval(whole, question=question, expires_at=ends)
        contract = handle.contract
    asked = next((item for item in contract.approvals if item.key == whole), None)
    more: dict[str, Any] = {} if asked is None else {"id": asked.id}
    show(screen, handle.id, stated, contract.status, more)
    if asked is not None and not call.as_json:
        _show_answers(screen, asked.id, call.where)


def _found(opened: Ledger, key: str, run: str | None) -> tuple[Run, str]:
    """Find the run that asks, and the whole key.

    Raises:
        EffectNotFound: nothing was intended under it.
        InvalidInput: it is no key, or several begin so.
    """
    from ledger.adapters.cli.approval_view import SHORTEST
    from ledger.adapters.cli.effect import look_up
    from ledger.application.effect_listing import find_key
    from ledger.canonical import invalid

    text = key.removesuffix("..").lower()
    digits = text.partition("-")[0]
    if len(digits) < _WHOLE and len(text) >= SHORTEST:
        asked = {(one.key, one.run) for one in _asked(opened, run) if one.id.startswith(text)}
        if len(asked) == 1:
            ((whole, where),) = asked
            return opened.run(where), whole
        if len({whole for whole, _ in asked}) > 1:
            some = ", ".join(sorted(whole for whole, _ in asked)[:5])
            raise invalid("KEY", f"requests about several acts begin with {text}: {some}")
    if run is not None:
        return opened.run(run), find_key(opened, digits, run)
    one = look_up(opened, digits, None)
    return opened.run(opened.answering_for(one.effect)), one.effect.key


def _asked(opened: Ledger, run: str | None) -> list[Requested]:
    from projections import views

    return views.approvals(opened, run=run).rows


_WHOLE = 64


def _end(opened: Ledger, given: str) -> datetime:
    """Read a moment that is still to come.

    Raises:
        InvalidInput: it is none, or past.
    """
    from ledger.adapters.cli.words import when
    from ledger.application.ledger import edge_of
    from ledger.canonical import invalid
    from ledger.values import utc

    try:
        ends = utc(datetime.fromisoformat(given))
    except (ValueError, OverflowError):
        reason = f"{given!r:.60} is no time with a zone, as 2026-01-31T09:15:00Z"
        raise invalid("--expires-at", reason) from None
    now = edge_of(opened).now()
    if ends <= now:
        raise invalid("--expires-at", f"{when(ends)} is past, it is {when(now)}: nobody could answer")
    return ends


def _show_answers(screen: Screen, id: str, where: list[str]) -> None:
    from ledger.adapters.cli.ways_out import answering

    screen.note("it is answered with:")
    for line in answering(id, where):
        screen.note(f"  {line}")
