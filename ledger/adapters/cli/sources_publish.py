"""`sources publish`: a file becomes what a source says."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.placeholders import check_filled_in
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.settings import Settings
    from ledger.adapters.sources import Document, Proposal, Proposed
    from ledger.application.ledger import Ledger
    from ledger.application.statements import Stated
    from ledger.errors import InvalidInput
    from ledger.run.rule_faults import Fault
    from ledger.run.sources import SourceState
    from ledger.values import Published

Came = Literal["dry_run", "published", "repeat", "unconfirmed"]

HELP = """Publish what a file says as the next revision of a source.

FILE is Markdown or YAML. In Markdown each paragraph and each item of a list is a rule, named by the heading
above it; in YAML a list of texts or {id, text, rule}, or a mapping of ids to texts or {text, rule}. A rule
without an id is named HEADING-DIGEST; one that is reworded keeps its id where it is the only one under its
heading that changed.

The revision is a digest of the file unless --revision names it; the same file again adds nothing. What would
change is shown first. What the file leaves out is withdrawn, and every run that accepted it is stopped by
that: name those ids with --withdraw, or give --withdraw-omitted. What was withdrawn by name does not come
back by standing in the file: take it out, or name it with --bring-back. Without these nothing is published,
and the exit code is 1; likewise with --dry-run, which never publishes. What `rules check` calls an error of
a rule is told, and published all the same.

\b
Exit codes: 0 published, or nothing to do; 1 not published, as something is
to be confirmed; 3 could not run; 4 not allowed; 64 the file is malformed.
Examples:
  intent-ledger sources publish policy.md --source policy:refunds --dry-run
  intent-ledger sources publish policy.md --source policy:refunds \\
      --by human:kim --reason "limit halved" --withdraw limits-2f1c9a40
"""


@verb(actor=True)
def publish(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Markdown or YAML.", show_default=False)],
    source: Annotated[
        str, typer.Option("--source", metavar="KIND:NAME", help="Where to publish it.", show_default=False)
    ],
    revision: Annotated[
        str | None,
        typer.Option(
            "--revision", metavar="ID", help="Its name; else a digest of the file.", show_default=False
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="KIND:NAME", help="Who decided it.", show_default=False)
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)
    ] = None,
    withdraw: Annotated[
        list[str] | None,
        typer.Option(
            "--withdraw", metavar="ID", help="Withdraw this, which the file leaves out.", show_default=False
        ),
    ] = None,
    withdraw_omitted: Annotated[
        bool, typer.Option("--withdraw-omitted", help="Withdraw all that the file leaves out.")
    ] = False,
    bring_back: Annotated[
        list[str] | None,
        typer.Option(
            "--bring-back", metavar="ID", help="Say again what was withdrawn by name.", show_default=False
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
) -> None:
    """Publish a file."""
    from ledger.adapters.sources import propose, read_document
    from ledger.application.sayings import build
    from ledger.application.shared import source_id
    from ledger.commands import PublishRevision
    from ledger.run.sources import SourceState

    check_filled_in(call.context)
    # Looked at first: what is malformed must not leave an empty ledger behind.
    document = read_document(file)
    source_id(source)
    name = document.revision if revision is None else revision
    build(PublishRevision, by=by, constraints=(), reason=reason, revision=name)
    settings = call.settings
    screen = call.screen
    with _opened(settings, dry_run=dry_run) as opened:
        state = SourceState(source) if opened is None else opened.source(source).state
        proposal = propose(document, state, revision=revision)
        confirmed = _confirmed(proposal, state, withdraw or (), bring_back or (), everything=withdraw_omitted)
        came: Came = "dry_run" if not confirmed.missing else "unconfirmed"
        stated = None
        if dry_run:
            _look_for_secrets(proposal, state, file)
        if not dry_run and not confirmed.missing:
            assert opened is not None
            said = {"withdraw": confirmed.omitted, "by": by, "reason": reason}
            stated = _publish(opened, source, proposal, said, file)
            came = "repeat" if stated.repeated else "published"
    if call.as_json:
        screen.document(_facts(came, proposal, document, state, stated, confirmed))
    else:
        _show(screen, came, proposal, document, state, confirmed)
    raise typer.Exit(Exit.BAD_NEWS if confirmed.missing else Exit.FINE)


@contextmanager
def _opened(settings: Settings, *, dry_run: bool) -> Iterator[Ledger | None]:
    """Open the ledger; for a dry run none is made, so that there may be none."""
    from ledger.adapters.cli.opening import open_for_reading, open_for_writing
    from ledger.errors import StoreUnavailable

    if not dry_run:
        with open_for_writing(settings) as opened:
            yield opened
        return
    try:
        there = open_for_reading(settings)
    except StoreUnavailable as error:
        if error.data.get("reason") not in {"missing", "empty"}:
            raise
        yield None
        return
    with there as opened:
        yield opened


class Confirmed(NamedTuple):
    """What of a proposal was confirmed, and what is missing."""

    omitted: tuple[str, ...]
    """Ids that are withdrawn by being left out."""
    missing_omitted: tuple[str, ...]
    missing_returned: tuple[str, ...]

    @property
    def missing(self) -> bool:
        """Whether something has to be confirmed before anything is published."""
        return bool(self.missing_omitted or self.missing_returned)


def _confirmed(
    proposal: Proposal,
    state: SourceState,
    withdraw: Sequence[str],
    bring_back: Sequence[str],
    *,
    everything: bool,
) -> Confirmed:
    from ledger.canonical import invalid

    for id in withdraw:
        # What is gone already may be named again: the same command is a repeat.
        if id not in proposal.omitted and state.gone(id) is None:
            raise invalid("--withdraw", f"{id!r} is not among what the file leaves out")
    for id in bring_back:
        if all(one.id != id or one.after is None for one in proposal.rules):
            raise invalid("--bring-back", f"{id!r} is not in the file")
    omitted = proposal.omitted if everything else tuple(id for id in proposal.omitted if id in withdraw)
    return Confirmed(
        omitted,
        tuple(id for id in proposal.omitted if id not in omitted),
        tuple(sorted(proposal.by_name - set(bring_back))),
    )


def _look_for_secrets(proposal: Proposal, state: SourceState, file: Path) -> None:
    from ledger.application.exact_words import in_exact_words, new_secrets
    from ledger.secrets import Secrets

    for found in new_secrets(Secrets(), proposal.constraints, state).values():
        raise _at_its_line(in_exact_words(found), proposal, file)


def _at_its_line(error: InvalidInput, proposal: Proposal, file: Path) -> InvalidInput:
    """Say of a rule that is refused in which line of the file it stands."""
    from ledger.adapters.sources.entries import at_line

    for rule in proposal.rules:
        if rule.line is not None and error.path.startswith(f"constraints.{rule.id}."):
            return at_line(str(file), rule.line, f"{rule.id}: {error.reason}")
    return error


def _publish(opened: Ledger, source: str, proposal: Proposal, said: dict[str, Any], file: Path) -> Stated:
    from ledger.adapters.cli.sources_view import refused
    from ledger.canonical import invalid
    from ledger.errors import IdInUse, InvalidInput, Refused

    try:
        return opened.source(source).publish(proposal.revision, proposal.constraints, **said)
    except InvalidInput as error:
        if error.path != "data":
            raise _at_its_line(error, proposal, file) from None
        # One revision is one event.
        reason = "more changes at once than a record holds: publish it in parts, or keep several sources"
        raise invalid("FILE", reason) from None
    except IdInUse as error:
        message = f"{error}: give this content another name: --revision"
        raise IdInUse(message, **error.data) from None
    except Refused as error:
        raise refused(error) from None


# --- as JSON -------------------------------------------------------------------------------------


def _facts(
    came: Came,
    proposal: Proposal,
    document: Document,
    state: SourceState,
    stated: Stated | None,
    confirmed: Confirmed,
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "came_to": came,
        "source": state.source,
        "revision": proposal.revision,
        "previous": state.revision,
        "counts": _counts(proposal),
        "rules": [_rule(one) for one in proposal.rules],
        "left_out": [one._asdict() for one in document.left_out],
        "unconfirmed": {
            "withdraw": list(confirmed.missing_omitted),
            "bring_back": list(confirmed.missing_returned),
        },
    }
    return facts if stated is None else {**facts, "position": stated.position}


def _counts(proposal: Proposal) -> dict[str, int]:
    kinds = ("added", "returned", "reworded", "withdrawn", "unchanged")
    return {kind: sum(one.kind == kind for one in proposal.rules) for kind in kinds}


def _rule(one: Proposed) -> dict[str, Any]:
    from ledger.adapters.cli.sources_view import gone_facts, published_facts

    return {
        "change": one.kind,
        "id": one.id,
        **({} if one.line is None else {"line": one.line}),
        **({} if one.before is None else {"before": published_facts(one.before)}),
        **({} if one.after is None else {"after": published_facts(one.after)}),
        **({} if one.gone is None else {"gone": gone_facts(one.gone)}),
        **({"faults": [fault._asdict() for fault in faults]} if (faults := _errors(one)) else {}),
    }


def _errors(one: Proposed) -> list[Fault]:
    """List what is wrong with a rule, as `rules check` does; it is published all the same."""
    from ledger.run.rule_faults import faults_of

    rule = None if one.after is None else one.after.rule
    return [] if rule is None else [fault for fault in faults_of(rule) if fault.severity == "error"]


# --- for people ----------------------------------------------------------------------------------


def _show(
    screen: Screen,
    came: Came,
    proposal: Proposal,
    document: Document,
    state: SourceState,
    confirmed: Confirmed,
) -> None:
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.words import quoted

    changed = [one for one in proposal.rules if one.kind != "unchanged"]
    if changed:
        _table(screen, changed)
    counts = ", ".join(f"{count:,} {kind}" for kind, count in _counts(proposal).items() if count)
    headline = {
        "dry_run": "Would publish",
        "published": "Published",
        "repeat": "Nothing new",
        "unconfirmed": "NOT PUBLISHED",
    }[came]
    name = f"{quoted(state.source)} revision {quoted(proposal.revision)}"
    screen.line(f"{headline}: {name}: {counts}", style="bold")
    for part in document.left_out:
        screen.note(f"line {part.line}: {part.what}, which is no rule and was left out")
    for one in proposal.rules:
        for fault in _errors(one):
            screen.note(f"line {one.line}: {quoted(one.id)}: ERROR: {one_line(fault.message)}")
    if any(map(_errors, proposal.rules)):
        screen.note("it does not do what it says: `intent-ledger rules check FILE` tells more")
    _show_missing(screen, confirmed)


def _show_missing(screen: Screen, confirmed: Confirmed) -> None:
    if confirmed.missing_omitted:
        options = " ".join(f"--withdraw {shlex.quote(id)}" for id in confirmed.missing_omitted)
        screen.note(f"the file leaves out and so withdraws what these name; confirm it: {options}")
    if confirmed.missing_returned:
        options = " ".join(f"--bring-back {shlex.quote(id)}" for id in confirmed.missing_returned)
        screen.note(f"withdrawn by name, and still in the file; take it out, or confirm it: {options}")


def _table(screen: Screen, changed: Sequence[Proposed]) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.words import quoted

    def entries() -> None:
        for one in changed:
            _entry(screen, one)

    screen.table(
        [
            Column("CHANGE"),
            Column("ID", whole=True),
            Column("LINE", right=True),
            Column("WAS"),
            Column("NOW"),
        ],
        [
            (one.kind, quoted(one.id), "-" if one.line is None else str(one.line), _was(one), _now(one))
            for one in changed
        ],
        instead=entries,
    )


def _entry(screen: Screen, one: Proposed) -> None:
    from ledger.adapters.cli.words import quoted

    line = "" if one.line is None else f", line {one.line}"
    screen.entry(f"{one.kind}: {quoted(one.id)}{line}", hang=2)
    for name, words in (("was", _was(one)), ("now", _now(one))):
        if words != "-":
            screen.entry(f"{name}: {words}", indent=2, hang=5)


def _was(one: Proposed) -> str:
    from ledger.adapters.cli.sources_view import gone_words

    return _words(one.before) if one.gone is None else gone_words(one.gone)


def _now(one: Proposed) -> str:
    return _words(one.after)


def _words(published: Published | None) -> str:
    from ledger.adapters.cli.sources_view import enforced
    from ledger.adapters.cli.words import quoted

    return "-" if published is None else f"{quoted(published.text)} ({enforced(published.rule)})"
