"""Readers: functions of the program that say what a source says outside of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ledger.application.published import Constraints, published_of
from ledger.canonical import invalid
from ledger.gateway.tools import is_async
from ledger.run.sources import SourceState
from ledger.values import Published, Source
from ledger.values.faults import a


@dataclass(frozen=True, slots=True)
class Reading:
    """What a source says outside, as a reader found it: all of it.

    A constraint that is malformed, stands here twice, or is said and withdrawn at once is InvalidInput.
    """

    revision: str
    """What the outside calls this state of the source; other words have another revision."""
    constraints: Constraints
    """Texts by id, or text and rule by id, or `Published`, as `publish` takes them; kept as a tuple of
    `Published`."""
    withdrawn: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """What was withdrawn by its name: `{id: (by, reason)}`. What is only left out needs no entry."""

    def __post_init__(self) -> None:
        said = published_of(self.constraints)
        ids = [one.id for one in said]
        twice = next((id for id in ids if ids.count(id) > 1), None) if len(set(ids)) < len(ids) else None
        if twice is not None:
            raise invalid("constraints", f"{twice!r} stands there twice")
        both = next((id for id in ids if id in self.withdrawn), None)
        if both is not None:
            raise invalid("withdrawn", f"{both!r} is still among the constraints")
        object.__setattr__(self, "constraints", said)

    @property
    def published(self) -> tuple[Published, ...]:
        """The constraints."""
        assert isinstance(self.constraints, tuple)
        return self.constraints


Answer = Reading | Callable[[SourceState], Reading] | None
"""What a reader may answer: a reading; a function that makes one of what the ledger knows the source to say,
where ids depend on that; or None, where it got no answer."""

Read = Callable[[str], Answer]
"""A reader: it is given the id of a source, `kind:name`."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader as it was registered."""

    kind: str
    read: Read
    by: str | None = None
    """Who stands behind what it says; None: who writes it."""
    check_every: int | None = None
    """Seconds after which a check is stale; None: each time anew, and never stale."""


class Readers:
    """The readers of a ledger, by kind of source."""

    def __init__(self) -> None:
        self._known: dict[str, Reader] = {}

    def of(self, source: str) -> Reader | None:
        """Find the reader of a source."""
        return self._known.get(source.partition(":")[0])

    def register(self, kind: str, read: Read, *, check_every: int | None, by: str | None) -> Reader:
        """Keep a reader, in the place of one of the same kind.

        Raises:
            InvalidInput: the kind is malformed, `read` cannot be called, `check_every` is no number of
                seconds, or `by` nobody who may publish.
        """
        Source(kind, "any")
        if not callable(read):
            raise invalid("read", f"give a function, not {read!r:.50}")
        if is_async(read):
            raise invalid("read", "it is a coroutine function; a reader is called in a thread, and may block")
        if check_every is not None and (type(check_every) is not int or check_every < 1):
            raise invalid("check_every", f"give whole seconds from 1 on, or None, not {check_every!r:.50}")
        if by is not None:
            _check_party(by)
        reader = self._known[kind] = Reader(kind, read, by, check_every)
        return reader


def _check_party(by: Any) -> None:
    from ledger.application.sayings import build
    from ledger.commands import PublishRevision

    build(PublishRevision, by=by, constraints=(), revision="1")
    if by.startswith("agent:"):
        raise invalid("by", f"{a('agent')} publishes nothing: name a person or a service")
