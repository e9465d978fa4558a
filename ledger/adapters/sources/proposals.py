"""What a document would change of what its source says, and under which ids.

A rule that has no id of its own gets `HEADING-DIGEST`, of the slug of its heading and the digest of its text.
By that alone a reworded rule would be one withdrawn and another added, so what the source says now is looked
at first: the same text keeps its id, wherever it stands now; and where exactly one rule of a heading went and
exactly one came, it is the same one in other words. More cannot be told without guessing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ledger.adapters.sources.documents import Document
from ledger.adapters.sources.entries import Entry
from ledger.application.readers import Reading
from ledger.run.checks import by_its_name
from ledger.run.sources import Gone, Item, SourceState
from ledger.values import Published

Kind = Literal["added", "returned", "reworded", "unchanged", "withdrawn"]

_DERIVED = re.compile(r"(.+)-(?:[0-9a-f]{8}|[0-9a-f]{16}|[0-9a-f]{64})")
_DIGITS = (8, 16, 64)


class Proposed(NamedTuple):
    """What would become of one rule."""

    kind: Kind
    """`returned`: the source withdrew it before, `gone` says when and why."""
    id: str
    before: Published | None
    after: Published | None
    line: int | None
    """Where the document says it; None: it does not."""
    gone: Gone | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A revision as it would be published."""

    revision: str
    rules: tuple[Proposed, ...]
    """In the order of the document, then what it leaves out."""
    by_name: frozenset[str]
    """Ids of the rules among them that were withdrawn by name, and that a revision would bring back."""

    @property
    def constraints(self) -> tuple[Published, ...]:
        """All that the source would say."""
        return tuple(one.after for one in self.rules if one.after is not None)

    @property
    def omitted(self) -> tuple[str, ...]:
        """The ids that would be withdrawn."""
        return tuple(one.id for one in self.rules if one.kind == "withdrawn")


def propose(document: Document, state: SourceState, *, revision: str | None = None) -> Proposal:
    """Compare a document with what its source says now.

    One that says the same in another form is no new revision, unless it is given a name as one: each revision
    is something that somebody has to look at for every run.
    """
    entries = document.entries
    ids = _Naming(state, entries).ids()
    rules = [_proposed(ids[place], entry, state) for place, entry in enumerate(entries)]
    named = {one.id for one in rules}
    left = (item for item in state.items if item.id not in named)
    rules += (Proposed("withdrawn", item.id, item.published, None, None) for item in left)
    by_name = frozenset(one.id for one in rules if one.gone is not None and by_its_name(state, one.gone))
    if revision is None:
        is_same = state.revision is not None and all(one.kind == "unchanged" for one in rules)
        revision = state.revision if is_same else document.revision
    assert revision is not None
    return Proposal(revision, tuple(rules), by_name)


def reading_of(document: Document, state: SourceState) -> Reading:
    """Return what a document says as a reader tells it."""
    proposal = propose(document, state)
    return Reading(proposal.revision, proposal.constraints)


def _proposed(id: str, entry: Entry, state: SourceState) -> Proposed:
    after = Published(id=id, rule=entry.rule, text=entry.text)
    item = state.item(id)
    if item is None:
        gone = state.gone(id)
        return Proposed("added" if gone is None else "returned", id, None, after, entry.line, gone)
    kind: Kind = "unchanged" if item.published == after else "reworded"
    return Proposed(kind, id, item.published, after, entry.line)


class _Naming:
    """Finds an id for each entry of a document; their order changes nothing."""

    def __init__(self, state: SourceState, entries: tuple[Entry, ...]) -> None:
        self._found = {place: entry.id for place, entry in enumerate(entries) if entry.id is not None}
        self._all = {entry.heading for entry in entries}
        explicit = set(self._found.values())
        self._free = {item.id: item for item in state.items if item.id not in explicit}
        self._used = explicit | {item.id for item in state.items}
        # By heading and text, so that nothing depends on where an entry stands.
        nameless = [(place, entry) for place, entry in enumerate(entries) if entry.id is None]
        self._open = dict(sorted(nameless, key=lambda one: (one[1].heading, one[1].text)))

    def ids(self) -> Mapping[int, str]:
        self._keep(same_heading=True)
        moved = self._keep(same_heading=False)
        self._reword(moved)
        for place, entry in list(self._open.items()):
            self._name(place, next(id for id in _names(entry) if id not in self._used))
        return self._found

    def _keep(self, *, same_heading: bool) -> Mapping[str, str]:
        """Keep the ids of texts that the source says now; return where the rules of a heading went."""
        by_text: dict[str, list[str]] = {}
        for id, item in sorted(self._free.items()):
            by_text.setdefault(item.text, []).append(id)
        moved: dict[str, set[str]] = {}
        for place, entry in list(self._open.items()):
            alike = [id for id in by_text.get(entry.text, ()) if id in self._free]
            if same_heading:
                alike = [id for id in alike if _heading(id) == entry.heading]
            if alike:
                moved.setdefault(_heading(alike[0]), set()).add(entry.heading)
                self._name(place, alike[0])
        return {old: new.pop() for old, new in moved.items() if len(new) == 1}

    def _reword(self, moved: Mapping[str, str]) -> None:
        """Take the one rule of a heading that went for the one that came."""
        gone: dict[str, list[Item]] = {}
        for item in self._free.values():
            heading = _heading(item.id)
            gone.setdefault(heading if heading in self._all else moved.get(heading, heading), []).append(item)
        for heading in self._all:
            came = [place for place, entry in self._open.items() if entry.heading == heading]
            went = gone.get(heading, [])
            if len(came) == len(went) == 1:
                self._name(came[0], went[0].id)

    def _name(self, place: int, id: str) -> None:
        self._found[place] = id
        self._free.pop(id, None)
        self._used.add(id)
        del self._open[place]


def _heading(id: str) -> str:
    """Return the slug of the heading that an id was made of; "" where it was not."""
    derived = _DERIVED.fullmatch(id)
    return "" if derived is None else derived[1]


def _names(entry: Entry) -> Iterable[str]:
    # Eight digits can be made to meet on purpose, and one that was reworded keeps those of its first words.
    digest = hashlib.sha256(entry.text.encode()).hexdigest()
    return (f"{entry.heading}-{digest[:digits]}" for digits in _DIGITS)
