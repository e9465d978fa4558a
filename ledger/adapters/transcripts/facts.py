"""One transcript as the facts of a run: which events it tells, and which contents they name.

Pure: the same transcript, run and declarations of tools yield the same facts, and those of its beginning are
the beginning of those of the whole. Nothing is told that the transcript does not say: no time, no lease, no
step, and no outcome of a call that it holds no answer to.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ledger.adapters.transcripts.documents import KIND, Document, read_document
from ledger.adapters.transcripts.messages import Call, Message, Result, read_message, wrong
from ledger.adapters.transcripts.tools import Tools
from ledger.adapters.transcripts.waiting import Waiting
from ledger.application.payloads import pack, pack_content
from ledger.canonical import Json, invalid, quote
from ledger.errors import InvalidInput
from ledger.events import (
    ConstraintAccepted,
    EffectFailed,
    EffectIntended,
    EffectSucceeded,
    Event,
    MessageRecorded,
    ObservationRecorded,
    RunOpened,
    SourceRevised,
)
from ledger.record import MAX_RECORD_BYTES
from ledger.run.keys import act_key, effect_key, observation_key
from ledger.run.sources import SourceState
from ledger.stores.base import Blob
from ledger.values import ErrorSaid, Recovery, Source

MAX_EVENT_BYTES = MAX_RECORD_BYTES - 16 * 1024
"""Size of the largest event; the rest of a record is kept for what surrounds it."""

_FIT_CHARACTERS = 65_536
_FIT_BYTES = 128 * 1024
_CUT_CHARACTERS = 20_000

E = TypeVar("E", bound=Event)


class Fact(NamedTuple):
    """One event that a transcript tells."""

    message: int
    """Number of the message that tells it."""
    event: Event
    size: int
    """Bytes of the event and its contents."""
    blobs: tuple[Blob, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a transcript tells of a run."""

    run: str
    told: tuple[Fact, ...]
    """In order; the first opens the run."""
    unanswered: tuple[str, ...]
    """Keys of the effects that have no outcome, in the order of their calls."""
    documents: Mapping[str, Document]
    """What the acceptances come from, by source id."""
    messages: int
    """How many messages the transcript has."""


def facts_of(
    messages: Sequence[Json],
    *,
    run: str,
    tenant: str,
    tools: Tools,
    labels: Mapping[str, str],
    accepted_by: str,
) -> Facts:
    """Tell what a transcript says of a run.

    An acceptance says neither whether its source publishes it nor where that stands; `relying` adds that.

    Raises:
        InvalidInput: a message is malformed, a result answers no call, nobody says what is wanted, or
            something is larger than a record; `message` holds the number of the message.
    """
    read = [read_message(number, message) for number, message in enumerate(messages, 1)]
    teller = _Teller(run, tenant, tools, accepted_by)
    teller.open(read, labels)
    for message in read:
        teller.tell(message)
    return Facts(run, tuple(teller.told), tuple(teller.unanswered), teller.documents, len(read))


def goal_of(messages: Sequence[Message]) -> tuple[int, str]:
    """Find what is wanted: the first user message that has words, as its number and those words.

    Raises:
        InvalidInput: nobody says it.
    """
    for message in messages:
        words = "\n".join(message.texts)
        if message.role == "user" and words.strip():
            return message.number, _fit(words, message.number)
    raise invalid("messages", "no user message has words in it, so the run has no goal")


def document_of(number: int, text: str) -> Document:
    """Read the rules out of a system message.

    Raises:
        InvalidInput: they cannot be read, or are more than a revision has room for.
    """
    try:
        document = read_document(text)
    except InvalidInput as error:
        wrong(number, "content", error.reason)
    size = _size(SourceRevised(added=document.constraints, revision=document.revision))
    if size > MAX_EVENT_BYTES:
        reason = f"its list items take {size:,} bytes, a revision has room for {MAX_EVENT_BYTES:,}"
        wrong(number, "content", reason)
    return document


def relying(event: ConstraintAccepted, source: SourceState) -> ConstraintAccepted:
    """Add to an acceptance where its source stands and whether it publishes this very text."""
    item = source.item(event.id)
    published = item is not None and item.text == event.text and item.rule == event.rule
    return event.model_copy(update={"published": published, "source_position": source.position})


class _Open(NamedTuple):
    """A call that waits for its result."""

    call: Call
    key: str
    occurrence: str


class _Teller:
    """What was told so far, and what the next message may refer to."""

    def __init__(self, run: str, tenant: str, tools: Tools, accepted_by: str) -> None:
        self.told: list[Fact] = []
        self.unanswered: dict[str, None] = {}
        self.documents: dict[str, Document] = {}
        self._run, self._tenant, self._tools, self._accepted_by = run, tenant, tools, accepted_by
        self._in_force: dict[str, str] = {}
        self._calls: Counter[tuple[str, str]] = Counter()
        self._open = Waiting[_Open]()

    def open(self, messages: Sequence[Message], labels: Mapping[str, str]) -> None:
        """Open the run with the words of the first user message that has any as its goal."""
        number, goal = goal_of(messages)
        self._add(number, _made(number, RunOpened, goal=goal, labels=labels))

    def tell(self, message: Message) -> None:
        """Tell a message and what it does."""
        packed = pack_content(message.content, "message")
        said = MessageRecorded(content=packed.payload, id=str(message.number), role=message.role)
        self._add(message.number, said, packed.blobs)
        if message.role == "system":
            for text in message.texts:
                self._accept(message.number, text)
        for call in message.calls:
            self._call(message.number, call)
        if message.result is not None:
            self._answer(message.number, message.result)

    def _accept(self, number: int, text: str) -> None:
        document = document_of(number, text)
        pointer = Source(KIND, document.name, revision=document.revision)
        for published in document.constraints:
            words = self._in_force.get(published.id)
            if words is not None and words != published.text:
                wrong(number, "content", f"two list items share the id {published.id!r}")
            if words is not None:
                continue  # another document of this run said the same in the same words
            self._in_force[published.id] = published.text
            self.documents[document.source] = document
            accepted = ConstraintAccepted(
                accepted_by=self._accepted_by,
                asserted_by=document.source,
                id=published.id,
                source=pointer,
                text=published.text,
            )
            self._add(number, accepted)

    def _call(self, number: int, call: Call) -> None:
        self._calls[call.tool, call.args] += 1
        occurrence = str(self._calls[call.tool, call.args])
        declared = self._tools.of(call.tool)
        key = ""
        if declared.recovery is not Recovery.READ_ONLY:
            key = effect_key(self._tenant, self._run, None, call.tool, occurrence, call.args)
            intended = _made(
                number,
                EffectIntended,
                act=act_key(self._tenant, self._run, call.tool, call.args),
                args=call.args,
                dedupes_for=declared.dedupes_for,
                key=key,
                key_scheme="v1",
                occurrence=occurrence,
                recovery=declared.recovery,
                settle_seconds=declared.settle_seconds,
                tool=call.tool,
                witnessed=False,
            )
            self._add(number, intended)
            self.unanswered[key] = None
        self._open.add(call, _Open(call, key, occurrence))

    def _answer(self, number: int, result: Result) -> None:
        answered = self._open.take(number, result)
        if answered.key:
            self._settle(number, answered, result)
        else:
            self._observe(number, answered, result)

    def _settle(self, number: int, answered: _Open, result: Result) -> None:
        del self.unanswered[answered.key]
        if self._tools.of(answered.call.tool).failed(result.text):
            # Not the name of an exception: all that is known is which declaration tells it for a refusal.
            error = ErrorSaid(message=_fit(result.text, number), type="failed_if")
            self._add(number, EffectFailed(attempt=1, error=error, key=answered.key))
            return
        packed = pack(result.value, "result")
        done = EffectSucceeded(attempt=1, key=answered.key, result=packed.payload)
        self._add(number, done, packed.blobs)

    def _observe(self, number: int, answered: _Open, result: Result) -> None:
        declared = self._tools.of(answered.call.tool)
        if declared.failed(result.text):
            return  # it saw nothing
        packed = pack(result.value, "observation")
        digest = hashlib.sha256(answered.call.args.encode()).hexdigest()
        seen = _made(
            number,
            ObservationRecorded,
            args_digest=digest,
            fresh_for=declared.fresh_for,
            key=observation_key(answered.call.tool, answered.call.args),
            occurrence=answered.occurrence,
            tool=answered.call.tool,
            value=packed.payload,
            witnessed=False,
        )
        self._add(number, seen, packed.blobs)

    def _add(self, number: int, event: Event, blobs: tuple[Blob, ...] = ()) -> None:
        size = _size(event)
        if size > MAX_EVENT_BYTES:
            wrong(number, "", f"{event.name} takes {size:,} bytes, a record has room for {MAX_EVENT_BYTES:,}")
        self.told.append(Fact(number, event, size + sum(len(blob.content) for blob in blobs), blobs))


def _made(number: int, kind: type[E], **fields: Any) -> E:
    try:
        return kind(**fields)
    except InvalidInput as fault:
        wrong(number, fault.path, fault.reason)


def _size(event: Event) -> int:
    return len(event.__pydantic_serializer__.to_json(event, exclude_none=True))


def _fit(text: str, number: int) -> str:
    """Cut words that are too long for an event, and say where all of them are."""
    if len(text) <= _FIT_CHARACTERS and len(quote(text).encode()) <= _FIT_BYTES:
        return text
    return f"{text[:_CUT_CHARACTERS]}\n[cut here; message {number} holds all of it]"
