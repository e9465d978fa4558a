"""`request-approval`: a person is asked anew about an act."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.options import ActorOption, JsonOption, LedgerOption, RunOption, TenantOption

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.application.runs import Run

HELP = """Ask a person anew about an act that waits, or was begun and is not done.

It leads out where a request binds no more, which holds a run at the gate as `approval_void`: terms, plan or
runtime have changed, or its time is over. The request before it, and any answer to that, leave the contract.
Without --question it is the same question. Whoever decides here cannot answer. Where what was asked last
binds still and asks the same, nothing is recorded. What a person denied only a person asks anew about.

KEY may be the beginning of a key, at least 8 digits, of what waits in a run; that of an approval will do.

\b
Examples:
  intent-ledger request-approval 5a3c01d2
  intent-ledger request-approval 5a3c01d2 --run refund-17 \\
      --expires-at 2026-02-06T17:00:00Z --json
"""

KeyArgument = Annotated[
    str,
    typer.Argument(metavar="KEY", help="Of the act, or at least the first 8 digits.", show_default=False),
]


def request_approval(
    context: typer.Context,
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
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    actor: ActorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a person anew."""
    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.saying import given_where, refusals_in_words, show
    from ledger.adapters.cli.screen import Screen

    screen = Screen(as_json=as_json)
    settings = settings_of(context, url=ledger, tenant=tenant, actor=actor)
    with open_for_reading(settings) as opened, refusals_in_words():
        handle, whole = _found(opened, key, run)
        ends = None if expires_at is None else _end(opened, expires_at)
        stated = handle.request_approval(whole, question=question, expires_at=ends)
        contract = handle.contract
    asked = next((item for item in contract.approvals if item.key == whole), None)
    more: dict[str, Any] = {} if asked is None else {"id": asked.id}
    show(screen, handle.id, stated, contract.status, more)
    if asked is not None and not as_json:
        _show_answers(screen, asked.id, given_where(settings, context, ledger, tenant))


def _found(opened: Ledger, key: str, run: str | None) -> tuple[Run, str]:
    """Find the run that asks, and the whole key.

    Raises:
        EffectNotFound: nothing was intended under it.
        InvalidInput: it is no key, or several begin so.
    """
    from ledger.adapters.cli.effect import look_up

    digits = key.removesuffix("..").partition("-")[0]
    if run is not None:
        return opened.run(run), _key_in(opened, digits, run)
    one = look_up(opened, digits, None)
    return opened.run(opened.answering_for(one.effect)), one.effect.key


def _key_in(opened: Ledger, digits: str, run: str) -> str:
    """Find the whole key among what a run asked a person about, else as for every effect."""
    from ledger.application.effect_listing import find_key

    asked = {one.key for one in opened.contract(run).approvals if one.key.startswith(digits)}
    return asked.pop() if len(asked) == 1 and len(digits) >= _SHORTEST else find_key(opened, digits, run)


_SHORTEST = 8


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
