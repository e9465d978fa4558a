"""`replay`: the calls of recorded chats are made again, through the gateway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.cli.tool_modules import Declarations
    from ledger.adapters.transcripts import Repeat, ReplayedCall, ReplayedRun, ReplayReport

HELP = """Make the calls of recorded chats again, each at most once.

FILE holds chat-completions transcripts, as `import` takes them. Each becomes a run of its own: its goal,
rules and messages are recorded as they come, its calls are made on what MODULE offers. The outcome of each is
recorded before the next is made. Started again after a crash it goes on there: what is recorded is told and
not done again, what was under way is found out first, or said to be unknown.

MODULE is imported, so it must be yours: a dotted name, or a .py file. Its tools are those that its `tools`
holds, or every ledger.Tool at its top level: functions that take the arguments of the calls by name, and may
take a keyword-only `effect` for its `effect.key`. A queryable one has a probe(key, args) that answers
Happened(result), NotHappened(), or None. The same module serves `reconcile --tools`.

What a function returns is the answer. It is a refusal, so that nothing happened, where the tools file says so
(failed_if), or where it raises one of its tool's definite_errors; after any other exception nobody knows.
--tools names the file that `import --tools` takes. Its recoveries must be those that MODULE declares, if it
declares any; its seconds count before those of MODULE.

A call that does the same as an earlier one stops its chat. Where that is meant, say so: --repeat CALL=WHY, or
--undone-by CALL=KEY, the key or the number of the call that undid the earlier one. These, and --as, are of
the one chat that --only names. It is recorded, so it is said once.

\b
Exit codes: 0 all calls were gone through, 1 a chat was stopped or is broken,
2 nobody knows what became of a call, 3 could not run.
Examples:
  intent-ledger replay chats.jsonl --tools tools.json --outside shop.tools
  intent-ledger replay chats.jsonl --outside ./tools.py --only chat-7 \\
      --as chat-7-again
  intent-ledger replay chats.jsonl --outside ./tools.py --only chat-7 \\
      --undone-by 9=6
"""


@verb(actor=True)
def replay(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The transcripts.", show_default=False)],
    outside: Annotated[
        str,
        typer.Option(
            "--outside",
            metavar="MODULE",
            help="Python module that acts: shop.tools, or tools.py.",
            show_default=False,
        ),
    ],
    tools: Annotated[
        Path | None,
        typer.Option("--tools", metavar="FILE", help="How the tools behave.", show_default=False),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="ID", help="Only this chat; may be repeated.", show_default=False),
    ] = None,
    as_run: Annotated[
        str | None,
        typer.Option("--as", metavar="RUN", help="The run it becomes; else its own id.", show_default=False),
    ] = None,
    repeat: Annotated[
        list[str] | None,
        typer.Option("--repeat", metavar="CALL=WHY", help="This repeat is meant.", show_default=False),
    ] = None,
    undone_by: Annotated[
        list[str] | None,
        typer.Option(
            "--undone-by", metavar="CALL=KEY", help="This undid what it repeats.", show_default=False
        ),
    ] = None,
    wait: Annotated[
        float,
        typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait at a call in doubt."),
    ] = 0,
) -> None:
    """Make the calls of recorded chats again."""
    import asyncio
    import contextlib
    import sys

    from ledger.adapters.cli.opening import open_for_writing
    from ledger.adapters.cli.tool_modules import awaited
    from ledger.adapters.cli.words import counted
    from ledger.adapters.transcripts import Tools, Wanted, replay_transcripts

    # Looked at first: what is not there must not leave an empty ledger behind.
    for path in (file, *([] if tools is None else [tools])):
        path.open("rb").close()
    file_says = Tools(tools={}) if tools is None else Tools.read(tools)
    said = _repeats(repeat or (), undone_by or ())
    _of_one_chat(only or (), {"--as": as_run, "--repeat": repeat, "--undone-by": undone_by})
    wanted = Wanted(only=tuple(only or ()), run=as_run, repeats=said, wait_seconds=wait)
    screen = call.screen
    settings = call.settings
    telling = _Telling(screen)
    with contextlib.redirect_stdout(sys.stderr), asyncio.Runner() as runner:
        declared = _declared(outside)
        open_for_writing(settings).close()  # makes one where there is none
        try:
            with call.reading(secrets=declared.secrets) as opened:
                report = replay_transcripts(
                    opened,
                    file,
                    outside=[awaited(tool, runner) for tool in declared.tools],
                    tools=file_says,
                    wanted=wanted,
                    told=telling.tell,
                )
        except KeyboardInterrupt:
            words = f"interrupted after {counted(telling.calls, 'call')}; the same replay again goes on there"
            screen.fail("interrupted", words, {"calls": telling.calls})
            raise typer.Exit(Exit.INTERRUPTED) from None
    if call.as_json:
        screen.document(_document(report))
    else:
        _sum_up(screen, report)
    raise typer.Exit(_code(report))


def _declared(outside: str) -> Declarations:
    from ledger.adapters.cli.tool_modules import declared_in
    from ledger.canonical import invalid
    from ledger.errors import InvalidInput

    try:
        return declared_in(outside)
    except InvalidInput as error:
        raise invalid("--outside", error.reason) from None


def _repeats(repeat: Sequence[str], undone_by: Sequence[str]) -> dict[int, Repeat]:
    """Read what is said of repeats.

    Raises:
        BadParameter: not CALL=…, or one call is given twice.
    """
    from ledger.adapters.transcripts import Repeat

    said: dict[int, Repeat] = {}
    for option, given in (("--repeat", repeat), ("--undone-by", undone_by)):
        field = "reason" if option == "--repeat" else "undone_by"
        for text in given:
            number, equals, rest = text.partition("=")
            if not (number.isascii() and number.isdigit() and equals and rest.strip()):
                raise typer.BadParameter(f"{option} takes the number of a call and more: {option} 9=…")
            known = said.get(int(number), Repeat())
            if getattr(known, field) is not None:
                raise typer.BadParameter(f"{option} is given twice for call {number}")
            words = rest.strip()
            if field == "reason":
                said[int(number)] = known._replace(reason=words)
            else:
                said[int(number)] = known._replace(undone_by=_key_or_number(words))
    return said


def _of_one_chat(only: Sequence[str], given: Mapping[str, object]) -> None:
    """Refuse what is said of one chat where not exactly one is named.

    Raises:
        BadParameter: as said.
    """
    named = [option for option, value in given.items() if value]
    if named and len(set(only)) != 1:
        verb = "is" if len(named) == 1 else "are"
        raise typer.BadParameter(f"{' and '.join(named)} {verb} about one chat: say which one with --only ID")


_MOST_DIGITS = 9


def _key_or_number(text: str) -> str | int:
    """Take a short number for that of a call; keys are 64 digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else text


# --- what is shown ---------------------------------------------------------------------------------


class _Telling:
    """Shows each call as it comes."""

    def __init__(self, screen: Screen) -> None:
        self.calls = 0
        self._screen = screen

    def tell(self, call: ReplayedCall) -> None:
        """Show a call."""
        self.calls += 1
        if self._screen.as_json:
            return
        from ledger.adapters.cli.words import quoted

        came = call.came.replace("_", " ")
        before = ", known before" if call.before else ""
        words = f"{quoted(call.run)} call {call.number} {quoted(call.tool)}: {came}{before}, "
        self._screen.entry(words + _compared(call), hang=2)
        self._screen.flush()


_MOST = 240


def _compared(call: ReplayedCall) -> str:
    from ledger.adapters.cli.words import quoted

    if call.recorded is None:
        return f"not answered in the file: {quoted(call.answer, _MOST)}"
    if call.as_recorded:
        return "as recorded"
    return f"otherwise than recorded: {quoted(call.answer, _MOST)} for {quoted(call.recorded, _MOST)}"


def _sum_up(screen: Screen, report: ReplayReport) -> None:
    from ledger.adapters.cli.words import counted

    told = ", ".join(f"{count:,} {verdict}" for verdict, count in report.counts.items() if count)
    otherwise = f"; {counted(report.otherwise, 'call')} answered otherwise" if report.otherwise else ""
    screen.line(f"{counted(len(report.rows), 'chat')}: {told or 'none'}{otherwise}", style="bold")
    for row in report.rows:
        if row.problem is not None:
            _show_problem(screen, row)


def _show_problem(screen: Screen, row: ReplayedRun) -> None:
    from ledger.adapters.cli.words import quoted

    begun = _has_begun(row)
    where = f"line {row.line}"
    if begun and row.run is not None:
        where += f", run {quoted(row.run)}"
    elif row.transcript is not None:
        where += f", chat {quoted(row.transcript)}"
    if row.call is not None:
        where += f", call {row.call}"
    if row.tool is not None:
        where += f" {quoted(row.tool)}"
    what = row.verdict if begun or row.verdict != "stopped" else "stopped before it began"
    screen.entry(f"{what}: {where}: {row.problem}", hang=2)
    hint = hint_for(row)
    if hint is not None:
        screen.entry(hint, indent=4, hang=2)


def _has_begun(row: ReplayedRun) -> bool:
    """Tell whether there is a run to speak of: some things are looked at before one is opened."""
    of_no_call = row.code == "invalid_input" and row.call is None
    return row.verdict != "broken" and row.code != "no_tool" and not of_no_call


def hint_for(row: ReplayedRun) -> str | None:
    """Say what an operator can do about a transcript that went no further."""
    from ledger.adapters.cli.words import quoted

    if row.code == "possible_repeat":
        if row.first is not None:
            did = f"call {row.first} did the same (key {row.first_key})"
        else:
            did = f"the effect {row.first_key} is the same"
        only = f"--only {quoted(row.transcript or '')}"
        if row.run is not None and row.run != row.transcript:
            only += f" --as {quoted(row.run)}"
        return f"{did}; if it is meant: {only} --repeat {row.call}=WHY, or {only} --undone-by {row.call}=KEY"
    if row.verdict != "unknown":
        return None
    if row.retry_after is not None:
        seconds = int(row.retry_after) + 1
        return f"key {row.key}; again in {seconds} s the outside may tell: start again then, or --wait"
    return (
        f"key {row.key}; look at the outside, then: intent-ledger settle {(row.key or '')[:12]} "
        "--happened|--did-not --evidence TEXT --by human:NAME, and start again"
    )


# --- for programs ----------------------------------------------------------------------------------


def _document(report: ReplayReport) -> dict[str, Any]:
    counts = {str(verdict): count for verdict, count in report.counts.items()}
    rows = [_row(row) for row in report.rows]
    return {**counts, "otherwise": report.otherwise, "transcripts": rows}


def _row(row: ReplayedRun) -> dict[str, Any]:
    calls = [{**_known(asdict(call)), **_known({"as_recorded": call.as_recorded})} for call in row.calls]
    hint = hint_for(row)
    return {**_known(asdict(row)), "calls": calls, **_known({"hint": hint})}


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _code(report: ReplayReport) -> Exit:
    counts = report.counts
    if counts["stopped"] or counts["broken"]:
        return Exit.BAD_NEWS
    return Exit.CANNOT_TELL if counts["unknown"] else Exit.FINE
