"""`reconcile`: find out from the outside what became of the acts of which nobody knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.options import (
    RunOption,
    ToolsOption,
)
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from datetime import datetime

    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.application.listing import Unread
    from ledger.application.settling import Reconciled, Unsettled

HELP = """Find out what became of every act of which nobody knows.

Of all runs, or of one; oldest first, each answer as it comes, and recorded as evidence. Who can tell is
found among the tools that MODULE declares. One with a probe is asked by that. That the outside does not have
an act counts once nothing that was sent can still land: until then it stays unknown, and asking again later
settles it. An idempotent one that has no probe, or whose probe cannot tell, is CALLED: the same is sent once
more under its key, as long as the outside remembers that, and its answer settles it. For the others it is
said who can tell. An act whose worker holds its lease is left to it.

MODULE is imported, so it must be yours: a dotted name, or a .py file. Its tools are those that its `tools`
holds, or every ledger.Tool at its top level; a ledger.Secrets there says what is redacted, and looks up what
arguments refer to. Coroutine functions are run in one asyncio loop. What MODULE prints goes to standard
error.

\b
Exit codes: 0 nothing is in doubt any more, 1 reports about an act contradict
each other, or a run is altered, 2 something is still unknown, 3 could not
run.
Examples:
  intent-ledger reconcile
  intent-ledger reconcile --tools shop.tools
  intent-ledger reconcile --run refund-17 --tools ./tools.py --json
"""


class Answer(NamedTuple):
    """An answer, with its effect as time makes it."""

    found: str
    because: str | None
    one: Unsettled

    @property
    def is_in_doubt(self) -> bool:
        """Whether nobody knows; what a worker is executing, it will tell, and what waits was not sent."""
        return not self.one.effect.is_settled and self.one.status != "executing" and not self.one.waits


@verb(actor=True)
def reconcile(
    call: Call,
    run: RunOption = None,
    tools: ToolsOption = None,
) -> None:
    """Ask the outside."""
    import asyncio
    import contextlib
    import sys

    from ledger.adapters.cli.runs import exit_of, show_unread
    from ledger.adapters.cli.tool_modules import awaited, declared_in
    from ledger.application.effect_listing import lease_now

    screen = call.screen
    call.check()
    answers: list[Answer] = []
    unread: list[Unread] = []
    with contextlib.redirect_stdout(sys.stderr), asyncio.Runner() as runner:
        declared = declared_in(tools)
        with call.reading(secrets=declared.secrets) as opened:
            for tool in declared.tools:
                opened.register(awaited(tool, runner))
            for answer in _answers(opened, run, unread):
                answers.append(answer)
                if not call.as_json:
                    _show(screen, answer)
            now = lease_now(opened)
            known = {tool.name for tool in opened.tools}
    needs = sorted({a.one.effect.tool for a in answers if a.is_in_doubt and _can_be_found_out(a.one)} - known)
    if call.as_json:
        screen.document(_document(answers, unread, needs, now))
    else:
        show_unread(screen, unread)
        _sum_up(screen, answers, needs)
    raise typer.Exit(exit_of(unread) if unread else _code(answers))


def _answers(opened: Ledger, run: str | None, unread: list[Unread]) -> Iterator[Answer]:
    from ledger.adapters.cli.effect_view import find_out
    from ledger.application.effect_listing import as_time_makes_it, lease_now

    known = {tool.name for tool in opened.tools}
    for told in _told(opened, run, unread):
        one = as_time_makes_it(opened, told.effect, told.run)
        # What the outside said is told from the record, with when it was said.
        because, now = told.because if told.found == "not_asked" else None, lease_now(opened)
        if because is not None:
            if one.status == "executing" or one.waits:
                because = find_out(one, now)
            elif told.effect.tool not in known:
                because = _without_module(one)
        yield Answer(told.found, because, one)


def _can_be_found_out(one: Unsettled) -> bool:
    from ledger.values import Recovery

    return one.effect.recovery in (Recovery.QUERYABLE, Recovery.IDEMPOTENT)


def _without_module(one: Unsettled) -> str:
    from ledger.values import Recovery

    if _can_be_found_out(one):
        return f"no module was named that declares {one.effect.tool!r} (--tools)"
    if one.effect.recovery is Recovery.READ_ONLY:
        return "it changes nothing: read again"
    return "it can be neither asked nor sent again: a person has to find out, and settle it"


def _told(opened: Ledger, run: str | None, unread: list[Unread]) -> Iterator[Reconciled]:
    """Ask about one run, or all; where one of them cannot be read, about the others, run by run."""
    from ledger.application.effect_listing import list_unsettled
    from ledger.errors import UNREADABLE

    begun = False
    try:
        for told in opened.reconcile(run):
            begun = True
            yield told
        return
    except UNREADABLE:
        if begun or run is not None:
            raise
    listed = list_unsettled(opened)
    unread += listed.unread
    for name in dict.fromkeys(one.run for one in listed.effects):
        yield from opened.reconcile(name)


def _code(answers: list[Answer]) -> Exit:
    if any(answer.one.status == "disputed" for answer in answers):
        return Exit.BAD_NEWS
    return Exit.CANNOT_TELL if any(answer.is_in_doubt for answer in answers) else Exit.FINE


def _document(answers: list[Answer], unread: list[Unread], needs: list[str], now: datetime) -> dict[str, Any]:
    from ledger.adapters.cli.effect_view import facts
    from ledger.adapters.cli.runs import fault

    told = []
    for answer in answers:
        because = {} if answer.because is None else {"because": answer.because}
        told.append({"found": answer.found, **because, "effect": facts(answer.one, now)})
    return {
        "answers": told,
        "in_doubt": sum(answer.is_in_doubt for answer in answers),
        "needs": needs,
        "unread": [fault(one) for one in unread],
    }


_FOUND = {
    "happened": "happened",
    "did_not_happen": "did not happen",
    "unknown": "still unknown",
    "not_asked": "not asked",
}


def _show(screen: Screen, answer: Answer) -> None:
    from ledger.adapters.cli.effect_view import last_known, named
    from ledger.adapters.cli.words import quoted, shortened

    one = answer.one
    key = shortened(one.effect.key, screen.is_terminal)
    why = answer.because or last_known(one.effect, None)
    screen.entry(
        f"{_FOUND[answer.found]}: {named(one.effect)} of run {quoted(one.run)}, key {key}: {why}", hang=2
    )
    screen.flush()


def _sum_up(screen: Screen, answers: list[Answer], needs: list[str]) -> None:
    from collections import Counter

    from ledger.adapters.cli.words import counted, quoted

    if not answers:
        screen.note("nothing is unsettled")
        return
    counts = Counter(answer.found for answer in answers)
    told = ", ".join(f"{counts[found]:,} {words}" for found, words in _FOUND.items() if counts[found])
    screen.line(f"{counted(len(answers), 'effect')}: {told}")
    if needs:
        names = ", ".join(map(quoted, needs))
        screen.note(f"to find out about these, name the module that declares their tools: {names} (--tools)")
    if any(answer.is_in_doubt for answer in answers):
        screen.note("by hand: intent-ledger settle KEY --happened|--did-not --evidence TEXT --by human:NAME")
