"""`ask`: questions that have a name, answered from read models as of one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from datetime import datetime

    from projections.questions.base import Parameter, Question

HELP = """Ask a question that has a name: who asserted which constraint when, what ran after it was relaxed.

--list names the questions; --about QUESTION says what one answers, what it cannot tell, what it takes and
what its columns mean. What a question is asked about stands behind it as NAME=VALUE. A time is written with
its zone, as in 2026-01-31T09:15:00Z.

An answer is exact, and says as of which global position. First the read models that it comes from catch up
with all that is stored, which takes a while the first time. --as-is leaves that out, and answers as of what
is handled. --as-of asks what the ledger said earlier: at a global position, or at a time, when what was
recorded up to then counts; that must have come. --now judges what only time changes by another time.

What can only be a slip is refused; where nothing is found, a note says which value nothing at all has.

The answer is a table where that fits, in which a line break is written as \\n; with --json one document; with
--csv a header line and a line for each row (UTF-8, RFC 4180), where a text that a spreadsheet could take for
a formula begins with an apostrophe.

\b
Exit codes: 0 answered, also where the answer is none, and as of an earlier
place with --as-is, 1 a record that it needs is altered, or a run was set
aside and is left out, 3 could not, 64 there is no such question, or it is
asked in another way.
Examples:
  intent-ledger ask --list
  intent-ledger ask --about writers
  intent-ledger ask writers run=refund-17
  intent-ledger ask writers run=refund-17 --as-of 2026-01-31T09:15:00Z --json
"""


@verb()
def ask(
    call: Call,
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="Its name.", show_default=False)
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="What it is asked about.", show_default=False),
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the questions.")] = False,
    about: Annotated[bool, typer.Option("--about", help="Say what QUESTION answers, and how.")] = False,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="N|TIME", help="What the ledger said then.", show_default=False),
    ] = None,
    now: Annotated[
        str | None,
        typer.Option("--now", metavar="TIME", help="Judge by this time.", show_default=False),
    ] = None,
    as_is: Annotated[bool, typer.Option("--as-is", help="Answer from what is handled.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write CSV.")] = False,
) -> None:
    """Answer a question."""
    from ledger.adapters.cli.ask_view import answer_document, show_answer, write_csv
    from ledger.adapters.cli.catching_up import bar
    from ledger.adapters.cli.contract import moment
    from ledger.adapters.cli.view_rows import end
    from projections.asking import ask as ask_question

    screen = call.screen
    if as_csv and (call.as_json or listing or about):
        raise typer.BadParameter("--csv is for an answer, and either it or --json")
    if listing or about:
        _tell(screen, question, given, listing=listing, about=about)
        return
    if question is None:
        raise typer.BadParameter("name a question: intent-ledger ask --list")
    asked = _question(question)
    values = _values(asked, given or [])
    where = None if as_of is None else moment(as_of, "--as-of")
    judged = None if now is None else _time(now, "--now")
    with call.looking(writes=not as_is) as opened, bar(screen) as progress:
        answer = ask_question(
            opened, asked, as_of=where, now=judged, catch_up=not as_is, progress=progress, **values
        )
    if call.as_json:
        screen.document(answer_document(answer))
    elif as_csv:
        write_csv(screen, answer)
    else:
        show_answer(screen, answer)
    end(answer.left_out)


def _tell(screen: Any, question: str | None, given: list[str] | None, *, listing: bool, about: bool) -> None:
    from ledger.adapters.cli.ask_view import question_document, show_list, show_question
    from projections.questions.catalogue import QUESTIONS

    if listing:
        if about or question is not None:
            raise typer.BadParameter("--list stands alone; --about QUESTION tells of one")
        if screen.as_json:
            screen.document({"questions": [question_document(one) for one in QUESTIONS.values()]})
        else:
            show_list(screen, list(QUESTIONS.values()))
        return
    if question is None or given:
        raise typer.BadParameter("--about tells of one question: name it alone")
    found = _question(question)
    if screen.as_json:
        screen.document(question_document(found))
    else:
        show_question(screen, found)


def _question(name: str) -> Question:
    """Find a question, or name those that are spelt nearly so.

    Raises:
        InvalidInput: there is none of that name.
    """
    from difflib import get_close_matches

    from ledger.errors import InvalidInput
    from projections.questions.catalogue import QUESTIONS

    found = QUESTIONS.get(name)
    if found is not None:
        return found
    # Somebody remembers a word of it, or has spelt it otherwise.
    near = get_close_matches(name, QUESTIONS, n=3, cutoff=0.5)
    near += [one for one in QUESTIONS if one not in near and (name in one or one in name) and len(name) > 3]
    meant = f"; did you mean {' or '.join(near[:5])}?" if near else ""
    words = f"there is no question {name!r:.60}{meant}; intent-ledger ask --list names all"
    raise InvalidInput(words, path="question", reason=words)


def _values(question: Question, given: list[str]) -> dict[str, Any]:
    known = {parameter.name: parameter for parameter in question.parameters}
    values: dict[str, Any] = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals:
            takes = " ".join(f"{parameter}=…" for parameter in known) or "nothing"
            raise typer.BadParameter(f"{one!r:.60} is not NAME=VALUE; {question.name} takes {takes}")
        if name in values:
            raise typer.BadParameter(f"{name}= is given twice")
        # An unknown name is refused where the question is asked.
        values[name] = _value(known[name], text) if name in known else text
    return values


def _value(parameter: Parameter, text: str) -> Any:
    if parameter.kind == "time":
        return _time(text, f"{parameter.name}=")
    if parameter.kind == "integer":
        try:
            return int(text)
        except ValueError:
            raise typer.BadParameter(
                f"{text!r:.60} is no whole number", param_hint=f"{parameter.name}="
            ) from None
    return text


def _time(text: str, name: str) -> datetime:
    from datetime import datetime

    from ledger.values import utc

    try:
        return utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r:.60} is no time with a zone, as in 2026-01-31T09:15:00Z", param_hint=name
        ) from None
