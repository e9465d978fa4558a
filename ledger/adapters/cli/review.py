"""`review`: what people think of runs, bound to what they had read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from ledger.adapters.cli.saying import RunArgument, show
from ledger.adapters.cli.verbs import Call, group_of, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.application.statements import Stated
    from ledger.commands import SignReview
    from ledger.errors import IntegrityError, PositionConflict
    from ledger.run.contract import Contract
    from projections.questions.base import Answer

ABOUT = """Sign what you think of a run, and see who has.

A review is an event of the run. It is bound to the position it was made at and to the hash there, so that
what it covers cannot be changed afterwards; what comes later is counted as not reviewed. Each command takes
--json.

\b
Examples:
  intent-ledger review sign refund-17 --meaning reviewed --by human:kim
  intent-ledger review list
  intent-ledger ask changed-since-review run=refund-17
"""

HELP_SIGN = """Sign what you think of a run, up to where it stands.

--meaning is yours: `reviewed`, `objection`, `approved` (the run as it is; no act that waits is approved by
it), `noted`. --head and --hash insist on what was read: where the run has moved on meanwhile nothing is
signed; a review that somebody else has bound to the same place is no such change. `brief` and `contract
--json` name both; the hash may be cut to its first 12 digits. Saying the same twice, with nothing in between,
adds nothing. A run that has ended may be reviewed, too.

For people and services: an agent may not. Without --by it is the --actor, if that is a person.

\b
Exit codes: 0 signed, 1 what was read is not what is stored,
3 could not run, or the run has moved on, 4 not for agents.
Examples:
  intent-ledger review sign refund-17 --meaning reviewed --by human:kim
  intent-ledger review sign refund-17 --meaning objection --by human:kim \\
      --note "the customer was not told" --head 14 --json
"""

HELP_LIST = """List reviews, and how many events came after each.

Without RUN those of all runs. SINCE counts what whoever signed has not seen. The answer comes from a read
model, which first catches up.

\b
Examples:
  intent-ledger review list
  intent-ledger review list refund-17 --json
  intent-ledger review list --meaning objection
"""

Meaning = Literal["approved", "noted", "objection", "reviewed"]

_SHORTEST = 12


def add_to(app: typer.Typer) -> None:
    """Put the commands under `review`."""
    group = group_of(ABOUT)
    group.command("sign", help=HELP_SIGN)(sign)
    group.command("list", help=HELP_LIST)(list_reviews)
    app.add_typer(group, name="review")


# --- sign ----------------------------------------------------------------------------------------


@verb(actor=True)
def sign(
    call: Call,
    run: RunArgument,
    meaning: Annotated[Meaning, typer.Option("--meaning", help="What you think of it.", show_default=False)],
    note: Annotated[
        str | None, typer.Option("--note", metavar="TEXT", help="What you say of it.", show_default=False)
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="human:NAME", help="Who reviewed it.", show_default=False),
    ] = None,
    head: Annotated[
        int | None,
        typer.Option(
            "--head", metavar="POSITION", min=1, help="Up to which position it was read.", show_default=False
        ),
    ] = None,
    hash_: Annotated[
        str | None,
        typer.Option("--hash", metavar="HASH", help="Hash of the last event read.", show_default=False),
    ] = None,
) -> None:
    """Sign a review of a run."""
    from ledger.commands import SignReview

    where = call.where
    digits = None if hash_ is None else _digits(hash_)
    screen = call.screen
    with call.saying() as opened:
        command = SignReview(by=_reviewer(by, opened.actor.id), meaning=meaning, note=note)
        stated = _signed(opened, run, command, _Read(head, digits, where))
        contract = opened.contract(run, at=stated.position)
    review = contract.review
    assert review is not None
    bound = review.model_dump(mode="json", include={"by", "hash", "head", "meaning"})
    show(screen, run, stated, contract.status if call.as_json else "", bound)
    if not call.as_json:
        screen.line(f"{review.meaning} by {review.by} up to position {review.head}, hash {review.hash}")


def _reviewer(by: str | None, actor: str) -> str:
    """Return who reviewed it: who writes, unless that is a program which writes for somebody."""
    if by is not None:
        return by
    if actor.startswith("service:"):
        raise typer.BadParameter("say who reviewed it: --by human:NAME", param_hint="--by")
    return actor


def _digits(given: str) -> str:
    digits = given.removesuffix("..").lower()
    if not re.fullmatch(rf"[0-9a-f]{{{_SHORTEST},64}}", digits):
        raise typer.BadParameter(
            f"a hash is 64 hexadecimal digits, or at least the first {_SHORTEST}", param_hint="--hash"
        )
    return digits


class _Read(NamedTuple):
    """What was read, as far as it is insisted on."""

    head: int | None
    digits: str | None
    """The beginning of the hash there."""
    where: Sequence[str]
    """Options that lead another command to the same ledger."""


def _signed(opened: Ledger, run: str, command: SignReview, read: _Read) -> Stated:
    """Sign, where it is insisted on at the place that was read.

    Raises:
        PositionConflict: the run has moved on.
        IntegrityError: it does not hold what was read.
    """
    from ledger.errors import PositionConflict

    handle = opened.run(run)
    if read.head is None and read.digits is None:
        return handle.do(command)
    contract = handle.contract
    head = _head(opened, contract, read)
    if contract.position != head:
        last = contract.review
        # Reviews alone change nothing of what was read.
        if last is None or (last.position, last.head) != (contract.position, head):
            raise _moved_on(run, head, contract.position, read.where)
        command = command.with_fields({"read_hash": last.hash, "read_upto": head})
    try:
        return handle.do(command, expected=contract.position)
    except PositionConflict as error:
        raise _moved_on(run, head, error.actual, read.where) from None


def _head(opened: Ledger, contract: Contract, read: _Read) -> int:
    """Return the position that was read up to.

    Raises:
        InvalidInput: the run has never had it.
        IntegrityError: another record stands there than was read.
    """
    from ledger.canonical import invalid

    head, digits = read.head, read.digits
    if head is not None and head > contract.position:
        raise invalid("--head", f"the run stands at position {contract.position}")
    if head is not None and digits is None:
        return head
    if head in (None, contract.position) and contract.hash.startswith(digits or ""):
        return contract.position
    for record in opened.log(contract.run, after=0 if head is None else head - 1, upto=head):
        if record.hash.hex().startswith(digits or ""):
            return record.position
    raise _not_what_was_read(contract.run, head, read.where)


def _moved_on(run: str, head: int, actual: int, where: Sequence[str]) -> PositionConflict:
    from ledger.errors import PositionConflict

    look = shlex.join(["intent-ledger", "log", run, "--after", str(head), *where])
    return PositionConflict(
        f"nothing was signed: {run!r} stands at position {actual}, and you have read up to {head}; "
        f"what came since: {look}",
        run=run,
        expected=head,
        actual=actual,
    )


def _not_what_was_read(run: str, head: int | None, where: Sequence[str]) -> IntegrityError:
    from ledger.errors import IntegrityError

    what = (
        f"no record of {run!r} has that hash"
        if head is None
        else f"the record at position {head} of {run!r} has another hash"
    )
    return IntegrityError(
        f"nothing was signed: {what}: unless it is mistyped, what you read is not what is stored here: "
        f"{shlex.join(['intent-ledger', 'verify', run, *where])}",
        run=run,
        position=head,
    )


# --- list ----------------------------------------------------------------------------------------


@verb()
def list_reviews(
    call: Call,
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Only of this run.", show_default=False)
    ] = None,
    meaning: Annotated[
        Meaning | None, typer.Option("--meaning", help="Only of this meaning.", show_default=False)
    ] = None,
) -> None:
    """List reviews."""
    from ledger.adapters.cli.catching_up import bar
    from projections.asking import ask

    screen = call.screen
    with call.reading() as opened, bar(screen) as progress:
        answer = ask(opened, "reviews", run=run, meaning=meaning, progress=progress)
    if call.as_json:
        screen.document({"reviews": _rows(answer), "as_of": str(answer.as_of)})
    else:
        _show_list(screen, _rows(answer), of_one=run is not None or meaning is not None)


def _rows(answer: Answer) -> list[dict[str, Any]]:
    names = [column.name for column in answer.columns]
    return [dict(zip(names, row, strict=True)) for row in answer.rows]


def _show_list(screen: Screen, reviews: Sequence[dict[str, Any]], *, of_one: bool) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.words import counted, quoted, value_words

    if not reviews:
        screen.note(
            "no review matches" if of_one else "nobody has signed a review yet: intent-ledger review sign"
        )
        return

    def entries() -> None:
        for one in reviews:
            told = f"{one['meaning']} by {quoted(one['by'])} up to position {one['head']}"
            since = counted(one["changed_after"], "event") + " since"
            signed = value_words(one["at"], brief_time=True)
            screen.entry(quoted(one["run"]), style="bold")
            screen.entry(f"{told}, {signed}, {since}", indent=2, hang=2)
            if one["note"] is not None:
                screen.quote(one["note"], indent=4)

    screen.table(
        [
            Column("RUN", whole=True),
            Column("MEANING"),
            Column("BY", whole=True),
            Column("UP TO", right=True),
            Column("SINCE", right=True),
            Column("SIGNED"),
            Column("NOTE"),
        ],
        [
            [
                quoted(one["run"]),
                one["meaning"],
                quoted(one["by"]),
                str(one["head"]),
                str(one["changed_after"]),
                value_words(one["at"], brief_time=True),
                "-" if one["note"] is None else one_line(one["note"], 120),
            ]
            for one in reviews
        ],
        instead=entries,
    )
