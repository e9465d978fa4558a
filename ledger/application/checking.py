"""Checking sources: what they say outside is read, published in the ledger, and noted in the run that asked.

The outside is called here and nowhere in the gate, which judges by what was noted.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from ledger import commands as c
from ledger.application.edge import local_actor
from ledger.application.exact_words import new_secrets
from ledger.application.payloads import pack_report
from ledger.application.readers import Reader, Reading
from ledger.application.sayings import build
from ledger.application.shared import Shared
from ledger.application.sources import SourceHandle
from ledger.application.statements import Context
from ledger.canonical import invalid
from ledger.errors import Conflict, InvalidInput, Refused
from ledger.run.checks import by_its_name, check_tool, is_due, last_check
from ledger.run.claims import sources_of
from ledger.run.contract import Contract
from ledger.run.decision import is_agent
from ledger.run.keys import check_key
from ledger.run.sources import Item, SourceState
from ledger.secrets import Found, Secrets
from ledger.values import Published
from ledger.values.ids import MAX_ID_LENGTH

log = logging.getLogger("ledger")


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of asking a source outside what it says."""

    source: str
    ok: bool
    """It was read, and all that it says stands in its stream."""
    said: str
    """In words: what it says, or why nobody knows."""
    changed: bool = False
    """It said something that its stream did not say yet."""
    report: c.RecordObservation | None = None
    """What a run notes of it; None where it was not read."""


def check_sources(
    shared: Shared, contract: Contract, do: Callable[[c.Command], object], *, force: bool = False
) -> list[Checked]:
    """Read each source of a run's constraints that is due, and let the run note what was read.

    Args:
        shared: of the ledger.
        contract: of the run; it moves on by what is noted.
        do: says a command to the run, as `Run.do` does.
        force: also those that were checked within their `check_every`.

    Returns:
        One for each source that was asked, in order of their ids. Those without a reader, and those that are
        not due, were not asked.
    """
    found = read_sources(shared, due(shared, contract, force=force))
    for one in found:
        if one.report is not None and (force or is_news(contract, one)):
            do(one.report)
    return found


def is_news(contract: Contract, checked: Checked) -> bool:
    """Tell whether a run is told of a check: not again while it is stopped, where it says what it said then.

    Else a run that is held would grow with each question. What is stale after some time is always told anew.
    """
    report, last = checked.report, last_check(contract, checked.source)
    if report is None or last is None or report.fresh_for is not None or last.invalidated is not None:
        return report is not None
    told_since = contract.stopped is not None and last.position > contract.stopped.position
    return not told_since or checked.changed or last.value != report.value


def due(shared: Shared, contract: Contract, *, force: bool = False) -> list[str]:
    """Name the sources of a contract that have a reader and were not checked within its `check_every`."""
    now = shared.edge.now()
    found = []
    for source in sources_of(contract):
        reader = shared.readers.of(source)
        if reader is not None and (force or is_due(contract, source, reader.check_every, now)):
            found.append(source)
    return found


def check_every_of(shared: Shared, contract: Contract) -> Mapping[str, int]:
    """Return how old the last check of each source of a contract may be, in seconds; the others never age."""
    readers = ((source, shared.readers.of(source)) for source in sources_of(contract))
    return {
        source: reader.check_every
        for source, reader in readers
        if reader is not None and reader.check_every is not None
    }


def read_sources(shared: Shared, sources: Iterable[str]) -> list[Checked]:
    """Read sources outside and publish what they say; one that cannot be read keeps none of the others back.

    It blocks for as long as the readers do, and may run in any thread.
    """
    return [read_source(shared, source) for source in sources]


def read_source(shared: Shared, source: str) -> Checked:
    """Read one source outside and publish what it says there."""
    reader = shared.readers.of(source)
    if reader is None:
        return Checked(source, False, "no reader is registered for its kind")
    # What is read tells at least of the moment before.
    observed_at = shared.edge.now()
    # An agent may ask for a check; what is read is the program's word and none of the agent's.
    writer = local_actor() if is_agent(shared.edge.actor) else shared.edge.actor
    secrets = shared.workshop.secrets
    handle = SourceHandle(shared.source_turns(source), source, Context(writer, checked=True), secrets)
    try:
        reading = _reading(reader, handle)
        if isinstance(reading, str):
            # What an outside says of a failure may hold what it was asked with.
            return _failed(source, secrets.redact_text(reading))
        rest, held = _without_secrets(secrets, reading, handle)
        changed, kept_out = _publish(handle, rest, reader.by or writer.id, silent=not reading.published)
    except (Conflict, InvalidInput, Refused) as error:
        return _failed(source, f"{error.code}: {error}")
    state = handle.state
    if held:
        what = ", ".join(f"{id!r} ({found.path} holds a secret: {found.rule})" for id, found in held.items())
        return _failed(source, f"revision {reading.revision} was read but for {what}", changed)
    said = f"revision {reading.revision}, {'new' if changed else 'as before'}"
    if kept_out:
        said += f"; withdrawn here by name, and not brought back: {', '.join(kept_out)}"
    report = _report(source, reader, reading, state, observed_at)
    return Checked(source, True, said, changed, report)


def _failed(source: str, why: str, changed: bool = False) -> Checked:
    log.warning("source %s was not checked: %s", source, why)
    return Checked(source, False, why, changed)


def _without_secrets(
    secrets: Secrets, reading: Reading, handle: SourceHandle
) -> tuple[Reading, Mapping[str, Found]]:
    """Leave out the words that hold a secret, and return them beside the rest, by id.

    What is withdrawn with them, or newly asked for, must not wait for who mends them. Of them stands what was
    said before, if anything, in a revision of another name: runs have to look at it, and the whole revision
    can follow.
    """
    held = new_secrets(secrets, reading.published)
    if not held:
        return reading, held
    said = handle.state
    held = new_secrets(secrets, reading.published, said)
    if not held:
        return reading, held
    items = (said.item(one.id) if one.id in held else one for one in reading.published)
    rest = tuple(one.published if isinstance(one, Item) else one for one in items if one is not None)
    name = f"{reading.revision}, but for {', '.join(held)}"
    if len(name) > MAX_ID_LENGTH:
        digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:16]
        name = f"{str(reading.revision)[:100]}…, but for {len(held)} ({digest})"
    return replace(reading, revision=name, constraints=rest), held


def _reading(reader: Reader, handle: SourceHandle) -> Reading | str:
    """Ask the reader; a text says why it told nothing."""
    try:
        answer: object = reader.read(handle.id)
        if callable(answer):
            answer = answer(handle.state)
    except Exception as error:  # noqa: BLE001  whatever somebody's reader raises
        return f"{type(error).__name__}: {error}"
    if answer is None:
        return "it gave no answer"
    if not isinstance(answer, Reading):
        return f"its reader answered {type(answer).__name__}, no Reading"
    return answer


def _publish(handle: SourceHandle, reading: Reading, by: str, *, silent: bool) -> tuple[bool, list[str]]:
    """Publish what differs; return whether any did, and what stays withdrawn although it is said outside.

    What somebody withdrew here by its name comes back only by name: whoever did it may know what the outside
    does not say yet.
    """
    before = handle.state
    for id, (who, reason) in reading.withdrawn.items():
        if before.item(id) is not None:
            handle.withdraw(id, reason=reason, by=who)
    state = handle.state
    kept_out = [one.id for one in reading.published if _is_barred(state, one.id)]
    says = tuple(one for one in reading.published if one.id not in kept_out)
    if reading.revision != state.revision or _differs(state, says):
        _check_silence(state, silent=silent)
        omitted = [item.id for item in state.items if all(one.id != item.id for one in says)]
        handle.publish(reading.revision, says, withdraw=omitted, by=by)
    return handle.state.position != before.position, kept_out


def _is_barred(state: SourceState, id: str) -> bool:
    gone = state.gone(id)
    return gone is not None and by_its_name(state, gone)


def _differs(state: SourceState, says: tuple[Published, ...]) -> bool:
    return {one.id: one for one in says} != {item.id: item.published for item in state.items}


def _check_silence(state: SourceState, *, silent: bool) -> None:
    """Refuse to take silence for the withdrawal of everything."""
    if state.items and silent:
        raise invalid("constraints", "it says nothing any more: withdraw what no longer holds by its name")


def _report(
    source: str, reader: Reader, reading: Reading, state: SourceState, observed_at: datetime
) -> c.RecordObservation:
    value = {"position": state.position, "revision": reading.revision}
    report = build(
        c.RecordObservation,
        fresh_for=reader.check_every,
        key=check_key(source),
        observed_at=observed_at,
        tool=check_tool(source),
        value=pack_report(value, "observation").payload,
    )
    assert isinstance(report, c.RecordObservation)
    return report
