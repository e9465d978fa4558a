"""`approve` and `deny`: what a person says to an act that waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from ledger.adapters.cli.approval import IdArgument
from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.consents import Consent
    from ledger.application.ledger import Ledger
    from ledger.application.statements import Stated
    from ledger.events import EffectIntended

Came = Literal["counted", "repeat", "void"]
CODES = {"counted": Exit.FINE, "repeat": Exit.FINE, "void": Exit.BAD_NEWS}

HELP_APPROVE = """Say that a person approves an act that waits.

Whoever performs it then calls again, in whatever process: nothing runs here. The answer binds to the
arguments and to what the act was asked under; where terms, plan or runtime have changed since, that is told,
and a person has to be asked anew. ID may be the beginning of an id, at least 6 characters, among what waits:
that names the act, and what is asked about it now. The whole id approves that one request only, and not one
that was asked anew since you looked; a no to it is one to the act.

A yes that is not used yet is taken back by asking anew (`request-approval`), which leaves it behind, or by
revoking the grant that the act draws on.

The first answer counts that is in time and not by who asked. What does not count is recorded all the same,
and the command fails with the reason. --by is who decided; who writes is --actor, else service:LOGIN@HOST,
which nothing proves. For people: an agent may not.

\b
Exit codes: 0 it counts, or was approved so before, 1 it is recorded and binds
nothing any more, 3 no such request, 4 it does not count, or not for agents.
Examples:
  intent-ledger approve 5a3c01 --by human:kim
  intent-ledger approve 5a3c01 --by human:kim --reason "checked the invoice" \\
      --json
"""

HELP_DENY = """Say that a person denies an act that waits.

The act is refused from then on and its run goes on, by its branch for that where it has one, until what was
asked changes, or a person lets ask anew (`request-approval`). While nobody has approved it a denial is never
too late. Of a request that binds no more it says no to that one: the run is not held for it any more, and the
next call of the act asks a person anew. ID, --by and --actor as `approve` takes them.

\b
Exit codes: 0 it counts, or was denied so before, 3 no such request, 4 it does
not count, or not for agents.
Examples:
  intent-ledger deny 5a3c01 --by human:kim --reason "order 17 was paid"
  intent-ledger deny 5a3c01 --by human:kim --json
"""

WhoOption = Annotated[
    str, typer.Option("--by", metavar="human:NAME", help="Who decided it; not who asked.", show_default=False)
]
WhyOption = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)]


class Answered(NamedTuple):
    """What came of an answer."""

    run: str
    id: str
    answer: Literal["approved", "denied"]
    said: Stated
    consent: Consent | None
    """How the request stands then; None: its act was done meanwhile."""
    unbound: str | None
    """What has changed since it was asked: a yes binds nothing, and after a no the next call asks anew."""
    act: EffectIntended | None
    status: str
    """Of the run."""

    @property
    def came(self) -> Came:
        """Tell what it came to."""
        if self.unbound is not None and self.answer == "approved":
            return "void"
        first = None if self.consent is None else self.consent.approval.answered
        is_other = first is not None and first.position != self.said.position
        return "repeat" if self.said.repeated or is_other else "counted"


@verb(actor=True)
def approve(
    call: Call,
    id: IdArgument,
    by: WhoOption,
    reason: WhyOption = None,
) -> None:
    """Approve an act."""
    _answer(call, id, "approved", {"by": by, "reason": reason})


@verb(actor=True)
def deny(
    call: Call,
    id: IdArgument,
    by: WhoOption,
    reason: WhyOption = None,
) -> None:
    """Deny an act."""
    _answer(call, id, "denied", {"by": by, "reason": reason})


def _answer(
    call: Call,
    given: str,
    answer: Literal["approved", "denied"],
    words: dict[str, Any],
) -> None:
    from ledger.adapters.cli.approval_view import place

    options = call.where
    with call.saying() as opened:
        run, id = place(opened, given)
        handle = opened.run(run)
        say = handle.approve if answer == "approved" else handle.deny
        with _not_waiting(opened, id), _taken_back(id, run, options):
            said = say(id, **words)
        found = _found(opened, run, id, answer, said)
    if call.as_json:
        call.screen.document(_document(found))
    else:
        _show(call.screen, found, options)
    raise typer.Exit(CODES[found.came])


def _found(
    opened: Ledger, run: str, id: str, answer: Literal["approved", "denied"], said: Stated
) -> Answered:
    from ledger.application.consents import consent_of
    from ledger.application.effect_listing import intended_last
    from ledger.application.ledger import edge_of
    from ledger.run.approvals import asked_about, key_of, why_unbound
    from ledger.run.contract import by_id

    contract, edge = opened.contract(run), edge_of(opened)
    approval, key = by_id(contract.approvals, id), key_of(id)
    if approval is None and answer == "denied" and key is not None:  # which is to what was asked anew, too
        approval = asked_about(contract, key)
    if approval is None:
        return Answered(run, id, answer, said, None, None, None, contract.status)
    consent = consent_of(contract, approval, edge.now())
    unbound = consent.void if answer == "approved" else why_unbound(contract, approval)
    act = intended_last(opened, approval.key)
    return Answered(run, id, answer, said, consent, unbound, act, contract.status)


@contextmanager
def _not_waiting(opened: Ledger, id: str) -> Iterator[None]:
    """Say what became of a request that waits no more."""
    from ledger.adapters.cli.approval_view import became_of
    from ledger.errors import ApprovalNotFound
    from ledger.run.approvals import key_of
    from projections import views

    try:
        yield
    except ApprovalNotFound as error:
        key = key_of(id)
        if key is None:
            raise
        became = became_of(opened.effect(key), views.approvals(opened).rows, key)
        raise ApprovalNotFound(f"{error}: {became}", **error.data) from None


@contextmanager
def _taken_back(id: str, run: str, where: list[str]) -> Iterator[None]:
    """Say how a yes is taken back, where a no came behind it."""
    from ledger.adapters.cli.ways_out import asking_anew
    from ledger.errors import NotOpen
    from ledger.run.approvals import key_of

    try:
        yield
    except NotOpen as error:
        key, before = key_of(id), (error.data.get("evidence") or {}).get("answer")
        if key is None or before is None:
            raise
        line = asking_anew(key, run, where, by_person=before == "denied")
        raise NotOpen(
            f"{error}: {line}" if before == "approved" else f"{error}; a person asks anew by: {line}",
            **error.data,
        ) from None


def _document(found: Answered) -> dict[str, Any]:
    from ledger.adapters.cli.approval_view import arguments
    from ledger.adapters.cli.effect_view import consent_facts
    from ledger.adapters.cli.log import as_json_object

    told: dict[str, Any] = {
        "came_to": found.came,
        "run": found.run,
        "id": found.id,
        "answer": found.answer,
        "position": found.said.position,
        "repeated": found.said.repeated,
        "events": [as_json_object(record) for record in found.said.records],
    }
    if found.unbound is not None:
        told["because"] = found.unbound
    if found.consent is not None:
        told["approval"] = consent_facts(found.consent)
    if found.act is not None:
        told |= {"key": found.act.key, "tool": found.act.tool, "args": arguments(_args(found.act))}
    return told


def _show(screen: Screen, found: Answered, where: list[str]) -> None:
    from ledger.adapters.cli.effect_view import named
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.words import quoted, when

    act = "an act that was done meanwhile" if found.act is None else named(found.act)
    what = f"{act} of {quoted(found.run)}"
    first = None if found.consent is None else found.consent.approval.answered
    if found.came == "void":
        screen.entry(f"RECORDED, AND IT BINDS NOTHING: {what}: {one_line(found.unbound or '')}", style="bold")
    elif found.came == "repeat":
        before = (
            "" if first is None else f" by {quoted(first.by)} {when(first.at)}, position {first.position}"
        )
        screen.entry(f"Nothing new: {what} was {found.answer} so already{before}", style="bold")
    else:
        screen.entry(f"{found.answer.capitalize()}: {what}, position {found.said.position}", style="bold")
    if found.act is not None:
        screen.entry(f"arguments {one_line(_args(found.act))}", indent=2, hang=2)
    for record in found.said.records:
        by = record.actor.authenticated_by
        proof = "which nothing proves" if by is None else f"authenticated by {quoted(by)}"
        screen.entry(f"written by {quoted(record.actor.id)}, {proof}", indent=2, hang=2, style="dim")
    _hint(screen, found, where)


def _args(act: EffectIntended) -> str:
    return act.args_in_full or act.args


def _hint(screen: Screen, found: Answered, where: list[str]) -> None:
    from ledger.adapters.cli.ways_out import asking_anew

    if found.came == "void" and found.consent is not None:
        key = found.consent.approval.key
        screen.note("a person is asked anew when its program calls again, or by:")
        screen.note(f"  {asking_anew(key, found.run, where)}")
    elif found.answer == "approved" and found.came == "counted" and found.consent is not None:
        screen.note("nothing is performed here: its program does it with the next call")
    elif found.answer == "denied" and found.consent is not None:
        _hint_after_no(screen, found, found.consent.approval.key, where)


def _hint_after_no(screen: Screen, found: Answered, key: str, where: list[str]) -> None:
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.ways_out import asking_anew, resuming

    if found.unbound is None:
        screen.note("a person lets ask anew by:")
        screen.note(f"  {asking_anew(key, found.run, where, by_person=True)}")
    else:
        screen.note(f"it bound no more ({one_line(found.unbound)}), and does not hold the run any more;")
        screen.note("the next call of this act asks a person anew")
    if found.status in ("held", "suspended"):
        screen.note(f"the run is {found.status}: ask whether it may go on:")
        screen.note(f"  {resuming(found.run, where)}")
