"""Importing transcripts: from a file to runs, as far as they are not there yet.

Each transcript is compared with what its run holds, and only what is missing is appended, on the position
that was compared. An import that was killed is therefore completed by the next one, and of two that run side
by side each event is written by one; the other sees it, compares again, and goes on from there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from pydantic import TypeAdapter, ValidationError

from ledger.adapters.transcripts.differences import difference
from ledger.adapters.transcripts.facts import Fact, Facts, facts_of, relying
from ledger.adapters.transcripts.matching import LABEL, Standing, follow, next_facts
from ledger.adapters.transcripts.publishing import publish
from ledger.adapters.transcripts.reading import Entry, Input, open_input, read_entries
from ledger.adapters.transcripts.report import ImportedRun, ImportInterrupted, ImportReport, Verdict, shown
from ledger.adapters.transcripts.tools import Tools
from ledger.application.ledger import Ledger
from ledger.errors import GuardMoved, InvalidInput, NotFound, PositionConflict, RunNotFound
from ledger.events import ConstraintAccepted, Event
from ledger.record import Record
from ledger.run.sources import SourceState
from ledger.stores.base import Blob
from ledger.values import Actor, RunId, explain

CHUNK_EVENTS = 256
"""About how many events one append of an import holds; another writer waits no longer than for one append."""

CHUNK_BYTES = 2 * 1024 * 1024
"""About how many bytes of events and contents one append of an import holds."""

TRIES = 64
"""How many lost races in a row are answered by comparing again."""

Progress = Callable[[int, int], None]
"""Called with the bytes that are done and the bytes in all; 0 in all: not known."""


def import_transcripts(
    ledger: Ledger,
    path_or_lines: str | os.PathLike[str] | Iterable[str | bytes],
    *,
    tools: Tools | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    actor: Actor | None = None,
) -> ImportReport:
    """Import chat-completions transcripts as runs; what was imported before is not imported again.

    Args:
        ledger: where the runs go.
        path_or_lines: a file of JSON Lines, one JSON object or one JSON array; or its lines.
        tools: the tools file, or its path. Without it every call may have changed something.
        progress: called now and then, and at the end.
        actor: who imports, and who accepts what the documents say; None: the ledger's own actor.

    Raises:
        InvalidInput: the file or the tools file cannot be read. What is wrong with single transcripts, or at
            odds with what is stored, is in the report instead.
        ImportInterrupted: somebody pressed Ctrl-C; it holds the report of what is in.
    """
    source = open_input(path_or_lines)
    declared = tools if isinstance(tools, Tools) else Tools(tools={}) if tools is None else Tools.read(tools)
    importing = _Import(ledger, declared, actor or ledger.actor, source, progress or _silently)
    try:
        for entry in read_entries(source):
            importing.take(entry)
    except KeyboardInterrupt:
        raise ImportInterrupted(importing.report) from None
    importing.tell_end()
    return importing.report


def _silently(done: int, total: int) -> None:
    """Show nothing."""


_RUN_ID: TypeAdapter[str] = TypeAdapter(RunId)


class _Import:
    """One file on its way into a ledger."""

    def __init__(self, ledger: Ledger, tools: Tools, actor: Actor, source: Input, progress: Progress) -> None:
        self._published = 0
        self._rows: list[ImportedRun] = []
        self._part: ImportedRun | None = None
        self._documents: dict[str, None] = {}
        self._ledger, self._tools, self._actor = ledger, tools, actor
        self._source, self._progress = source, progress
        self._done = 0
        # A file name may hold bytes that are no text, and more of them than a label.
        name = os.fsencode(source.name).decode("utf-8", "backslashreplace")
        self._labels = {LABEL: name[:1000]}

    @property
    def report(self) -> ImportReport:
        """What became of what was taken, and of what an interrupt left in part."""
        rows = self._rows if self._part is None else [*self._rows, self._part]
        return ImportReport(tuple(rows), self._published, tuple(self._documents))

    def tell_end(self) -> None:
        """Say that all is done."""
        self._progress(self._source.total or self._done, self._source.total or self._done)

    def take(self, entry: Entry) -> None:
        """Import what stands in one place of the file."""
        self._rows.append(self._taken(entry))
        self._part = None

    def _taken(self, entry: Entry) -> ImportedRun:
        began, self._done = self._done, entry.done
        run = None
        try:
            if isinstance(entry.found, InvalidInput):
                raise entry.found
            run = run_named(entry.found.id, f"{self._source.stem}-{entry.place}")
            facts = facts_of(
                entry.found.messages,
                run=run,
                tenant=self._ledger.tenant,
                tools=self._tools,
                labels=self._labels,
                accepted_by=self._actor.id,
            )
        except InvalidInput as error:
            self._progress(entry.done, self._source.total)
            return _broken(entry.line, run, error)
        share = (entry.done - began) / len(facts.told)

        def come(stored: int) -> None:
            self._progress(began + int(stored * share), self._source.total)

        return self._store(facts, entry.line, come)

    def _store(self, facts: Facts, line: int, come: Callable[[int], None]) -> ImportedRun:
        """Append what the run does not hold yet, and compare again whenever somebody was first."""
        standing = self._look(facts, Standing())
        verdict: Verdict = "unchanged"
        events = lost = 0
        while True:
            come(standing.matched)
            odds = difference(standing, facts.told, self._content)
            if odds is not None:
                return ImportedRun(line, "refused", facts.run, events, **odds._asdict())
            missing = next_facts(standing, facts, most=CHUNK_EVENTS, most_bytes=CHUNK_BYTES)
            if not missing:
                self._documents.update(dict.fromkeys(_sources(facts)))
                return ImportedRun(line, verdict, facts.run, events)
            try:
                written = self._append(facts, standing, missing)
            except (PositionConflict, GuardMoved):
                lost += 1
                if lost == TRIES:
                    raise
                standing = self._look(facts, standing)
                continue
            if verdict == "unchanged":
                verdict = "grown" if standing.position else "added"
            events, lost = events + len(written), 0
            self._part = ImportedRun(line, verdict, facts.run, events)
            standing = follow(standing, written, facts.told)

    def _look(self, facts: Facts, standing: Standing) -> Standing:
        """Read what the run holds beyond a standing."""
        try:
            records = self._ledger.log(facts.run, after=standing.position)
            return follow(standing, records, facts.told)
        except RunNotFound:
            return standing

    def _append(self, facts: Facts, standing: Standing, missing: Iterable[Fact]) -> tuple[Record, ...]:
        events: list[Event] = []
        blobs: list[Blob] = []
        sources: dict[str, SourceState] = {}
        for fact in missing:
            event = fact.event
            if isinstance(event, ConstraintAccepted):
                assert event.source is not None, "what is imported names its document"
                id = event.source.stream
                if id not in sources:
                    published = publish(self._ledger, facts.documents[id], self._actor)
                    self._published += published.is_new
                    sources[id] = published.state
                event = relying(event, sources[id])
            events.append(event)
            blobs.extend(fact.blobs)
        stated = self._ledger.import_events(
            facts.run,
            events,
            expected=standing.position,
            actor=self._actor,
            relies_on={id: state.position for id, state in sources.items()},
            blobs=blobs,
        )
        return stated.records

    def _content(self, digest: str) -> str:
        try:
            return self._ledger.blob(digest).decode()
        except NotFound:
            return f"content {digest}, which has expired"


def _sources(facts: Facts) -> Iterator[str]:
    """List the sources that the constraints of a transcript come from."""
    for fact in facts.told:
        if isinstance(fact.event, ConstraintAccepted) and fact.event.source is not None:
            yield fact.event.source.stream


def run_named(given: str | None, place: str) -> str:
    """Return the id of the run that a transcript becomes: its own, or its place in the file.

    Raises:
        InvalidInput: no run can have that id.
    """
    try:
        return _RUN_ID.validate_python(place if given is None else given)
    except ValidationError as error:
        raise explain(error, root="id") from None


def _broken(line: int, run: str | None, error: InvalidInput) -> ImportedRun:
    number = error.data.get("message")
    return ImportedRun(line, "broken", run, problem=shown(str(error)), code=error.code, message=number)
