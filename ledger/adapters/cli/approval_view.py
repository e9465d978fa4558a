"""A request for approval in words and as JSON, the same in every command that shows one; and finding one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ledger.adapters.cli.visible import one_line
from ledger.adapters.cli.words import quoted, when

if TYPE_CHECKING:
    from ledger.application.ledger import Ledger
    from ledger.run.known import EffectHistory
    from projections.views import Demand, Requested

SHORTEST = 6
"""Characters of an id that may stand for it."""
_MOST = 120


def facts(one: Requested) -> dict[str, Any]:
    """Give a request as a JSON object; what it does not have is left out."""
    from ledger.adapters.cli.view_rows import plain_fields

    told = plain_fields(one)
    told["demanded_by"] = [plain_fields(demand) for demand in one.demanded_by]
    if one.args is not None:
        told["args"] = arguments(one.args)
    return told


def arguments(text: str) -> Any:
    """Read arguments as they were recorded."""
    from ledger.canonical import load_text

    return load_text(text)


def act_words(one: Requested) -> str:
    """Name the act that a request is about."""
    if one.tool is None:
        return f"an act that is not recorded, key {one.key}"
    return quoted(one.tool) + ("" if one.step is None else f" in step {quoted(one.step)}")


def state_words(one: Requested, most: int | None = None) -> str:
    """Say how a request stands."""
    if one.answered_by is not None and one.state in ("approved", "denied"):
        return f"{one.state} by {quoted(one.answered_by)}"
    if one.state == "void":
        given = "" if one.answered_by is None else f" (approved by {quoted(one.answered_by)})"
        return f"void{given}: {one_line(one.void or 'it binds no more', most)}"
    return one.state


def lines(one: Requested, *, brief: bool) -> Iterator[str]:
    """Say what is known of a request, beside its act, its run and how it stands."""
    most = _MOST if brief else None
    if one.args is not None:
        yield f"arguments {one_line(one.args, most)}"
    if one.question is not None:
        yield f"question: {one_line(one.question, most)}"
    yield from map(demand_words, one.demanded_by)
    until = "" if one.expires_at is None else f", until {when(one.expires_at)}"
    asks = "" if one.requested_by is None else f" for {quoted(one.requested_by)}, who cannot answer"
    yield f"asked {when(one.at)}{asks}{until}, position {one.position}"
    if one.answered_by is not None and one.answered_at is not None:
        why = "" if one.reason is None else f": {one_line(one.reason, most)}"
        place = f"{when(one.answered_at)}, position {one.answered_position}"
        yield f"answered by {quoted(one.answered_by)} {place}{why}"


def demand_words(demand: Demand) -> str:
    """Say which constraint demands a person, and whose word it is."""
    source = "" if demand.source is None else f", from {quoted(demand.source)}"
    if demand.revision is not None:
        source += f" revision {quoted(demand.revision)}"
    who = f"asserted by {quoted(demand.asserted_by)}{source}; position {demand.position}"
    return f"demanded by {quoted(demand.id)}: {one_line(demand.text)} ({who})"


# --- finding one -------------------------------------------------------------------------------------


def find(opened: Ledger, given: str) -> Requested:
    """Find a request by its id, or by the beginning of it among what waits.

    Raises:
        ApprovalNotFound: nothing is called so.
        InvalidInput: it is too short, or several begin so.
    """
    from ledger.canonical import invalid
    from ledger.errors import ApprovalNotFound
    from projections import views

    text = given.removesuffix("..")
    rows = views.approvals(opened).rows
    named = next((one for one in rows if one.id == given), None)
    if named is not None:
        return named
    if len(text) < SHORTEST:
        raise invalid("ID", f"give the whole id, or at least its first {SHORTEST} characters, not {given!r}")
    begin = [one for one in rows if one.id.startswith(text)]
    found = [one for one in begin if one.state == "pending"] or begin
    if len(found) > 1:
        some = ", ".join(one.id for one in found[:5])
        raise invalid("ID", f"{len(found)} requests begin with {text}: {some}")
    if not found:
        raise ApprovalNotFound(_not_there(opened, rows, given), id=given)
    return found[0]


def _not_there(opened: Ledger, rows: list[Requested], given: str) -> str:
    """Say what became of a request that waits no more: its act is done, or it was asked anew."""
    from ledger.errors import LedgerError
    from ledger.run.approvals import key_of

    hint = "`intent-ledger approvals` lists what waits, with --all also what is answered"
    key = key_of(given)
    if key is None:
        over = "of an act that is done give the whole id"
        return f"no request for approval begins with {given!r:.90}; {hint}; {over}"
    try:
        act = opened.effect(key)
    except LedgerError:
        return f"no request for approval begins with {given!r:.90}; {hint}"
    return f"no approval {given!r} waits: {became_of(act, rows, key)}"


def became_of(act: EffectHistory, rows: list[Requested], key: str) -> str:
    """Say why a request about an act waits no more, and where it is seen."""
    anew = next((one for one in rows if one.key == key), None)
    if anew is not None:
        return f"a person was asked anew about its act, under {anew.id!r}, which is {anew.state}"
    run = act.started_in or act.run
    log = f"intent-ledger log {shlex.quote(run)}"
    ask = f"intent-ledger ask approvers {shlex.quote(f'run={run}')}"
    seen = f"`{log}` and `{ask}` show who answered"
    return f"its act is {'done' if act.status == 'succeeded' else act.status} in run {run!r}; {seen}"


def place(opened: Ledger, given: str) -> tuple[str, str]:
    """Return the run and the whole id of a request; one that is named whole is found also once it is over.

    Raises:
        ApprovalNotFound: nothing is called so.
        InvalidInput: it is too short, or several begin so.
    """
    from ledger.run.approvals import key_of

    if key_of(given) is not None and len(given) == _WHOLE:
        return opened.asked_in(given), given
    found = find(opened, given)
    return found.run, found.id


_WHOLE = 64 + 1 + 8
"""Characters of an id: the key of its act, and a few that tell it from others about the same act."""
