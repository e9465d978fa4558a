"""Replaying transcripts: what they say is said again, and their calls are made, through the gateway.

A replay is a run of its own. Each call is an act of a step that its number names, so that a replay that was
killed is completed by the next one: what is recorded is told and not done again, and what was under way is
found out as its recovery allows. The messages that bring results hold what the outside answered this time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ledger.adapters.transcripts.documents import KIND, Document
from ledger.adapters.transcripts.importing import run_named
from ledger.adapters.transcripts.messages import read_message
from ledger.adapters.transcripts.outsides import Outside, ReadFailed, RefusedOutside, text_of
from ledger.adapters.transcripts.publishing import publish
from ledger.adapters.transcripts.reading import Entry, Input, open_input, read_entries
from ledger.adapters.transcripts.replays import Repeat, ReplayedCall, ReplayedRun, ReplayReport
from ledger.adapters.transcripts.report import shown
from ledger.adapters.transcripts.script import Line, Script, ScriptedCall, script_of
from ledger.adapters.transcripts.standing import REPLAY_LABEL, Replayed, replayed
from ledger.adapters.transcripts.tools import Tools
from ledger.application.acts import Options
from ledger.application.ledger import Ledger, shared_of
from ledger.application.payloads import pack_content
from ledger.application.runs import Run
from ledger.application.sayings import several
from ledger.canonical import canonical_text, invalid, load_text
from ledger.errors import (
    EffectError,
    EffectFailed,
    EffectInFlight,
    Fenced,
    InvalidInput,
    LedgerError,
    NotFound,
    OutcomeUnknown,
    PossibleRepeat,
    Refused,
    ResultNotKept,
    RunNotFound,
)
from ledger.gateway.tools import Tool
from ledger.run.keys import effect_key
from ledger.values import Actor, Recovery, Source

Told = Callable[[ReplayedCall], None]
"""Called with each call when it has come to something."""


@dataclass(frozen=True)
class Wanted:
    """What is to be replayed, and how."""

    only: Collection[str] = ()
    """Ids of the transcripts; empty: all of the file."""
    run: str | None = None
    """Id of the run that the one transcript becomes; None: its own."""
    repeats: Mapping[int, Repeat] = field(default_factory=dict)
    """What is said of the calls of the one transcript that repeat an act, by their number."""
    wait_seconds: float = 0.0
    """How long to wait at a call for another worker, or until nothing that was sent can still land."""

    def __post_init__(self) -> None:
        several("only", self.only)
        if (self.run is not None or self.repeats) and len(self.only) != 1:
            raise invalid(
                "only", "a run's id and repeats are about one transcript: name that one, and no other"
            )


def replay_transcripts(
    ledger: Ledger,
    path_or_lines: str | os.PathLike[str] | Iterable[str | bytes],
    *,
    outside: Iterable[Tool],
    tools: Tools | str | os.PathLike[str] | None = None,
    wanted: Wanted | None = None,
    told: Told | None = None,
    actor: Actor | None = None,
) -> ReplayReport:
    """Replay chat-completions transcripts: their calls are made again, each at most once.

    The same replay again goes on where the last one stopped. A transcript that stops spares the others.

    Args:
        ledger: where the runs go.
        path_or_lines: a file of JSON Lines, one JSON object or one JSON array; or its lines.
        outside: what the calls act on, by the names of the tools; probes where they can be asked.
        tools: the tools file, or its path. Its recoveries must be those that the outside declares, if it
            declares any; its seconds count before the outside's.
        wanted: which transcripts, and what is said of their calls; None: all of them.
        told: called with each call when it has come to something.
        actor: who acts; None: the ledger's own actor.

    Raises:
        InvalidInput: the file or the tools file cannot be read, holds no such transcript, or declarations
            contradict each other. What is wrong with single transcripts is in the report instead.
    """
    wanted = wanted or Wanted()
    source = open_input(path_or_lines)
    declared = tools if isinstance(tools, Tools) else Tools(tools={}) if tools is None else Tools.read(tools)
    replaying = _Replay(ledger, Outside(outside, declared), wanted, told or _silently, actor or ledger.actor)
    rows = [row for entry in read_entries(source) if (row := replaying.take(entry, source)) is not None]
    missing = set(wanted.only) - {row.transcript for row in rows}
    if missing:
        names = ", ".join(map(repr, sorted(missing)))
        raise invalid("only", f"{source.name} holds no transcript {names}")
    return ReplayReport(tuple(rows))


def _silently(call: ReplayedCall) -> None:
    """Show nothing."""


class _Replay:
    """A file that is replayed into a ledger."""

    def __init__(self, ledger: Ledger, outside: Outside, wanted: Wanted, told: Told, actor: Actor) -> None:
        self.ledger, self.outside, self.wanted, self.told, self.actor = ledger, outside, wanted, told, actor

    def take(self, entry: Entry, source: Input) -> ReplayedRun | None:
        """Replay what stands in one place of the file; None where it is not wanted."""
        id = None
        try:
            if isinstance(entry.found, InvalidInput):
                raise entry.found
            id = run_named(entry.found.id, f"{source.stem}-{entry.place}")
            if self.wanted.only and id not in self.wanted.only:
                return None
            run = run_named(self.wanted.run, id)
            script = script_of(entry.found.messages)
        except InvalidInput as error:
            if self.wanted.only and id is None:
                return None
            return _at_fault(entry, id, error)
        one = _Following(self, run, script, source)
        try:
            one.follow()
        except _Stop as stop:
            return ReplayedRun(entry.line, stop.verdict, id, run, tuple(one.calls), **stop.said)
        return ReplayedRun(entry.line, "replayed", id, run, tuple(one.calls))


def _at_fault(entry: Entry, id: str | None, error: InvalidInput) -> ReplayedRun:
    said: dict[str, Any] = {"problem": shown(str(error)), "code": error.code}
    return ReplayedRun(entry.line, "broken", id, message=error.data.get("message"), **said)


class _Stop(Exception):
    """A transcript goes no further."""

    def __init__(self, code: str, problem: str, *, unknown: bool = False, **said: Any) -> None:
        super().__init__(problem)
        self.verdict: Any = "unknown" if unknown else "stopped"
        self.said: dict[str, Any] = {"code": code, "problem": shown(problem), **said}


class _Following:
    """One transcript that is gone through."""

    def __init__(self, replay: _Replay, run: str, script: Script, source: Input) -> None:
        self.calls: list[ReplayedCall] = []
        self._replay, self._name, self._script, self._source = replay, run, script, source
        self._secrets = shared_of(replay.ledger).workshop.secrets
        self._known = Replayed()
        self._answers: dict[int, ReplayedCall] = {}

    def follow(self) -> None:
        """Say and do all that the transcript does."""
        self._refuse_what_cannot_be_called()
        try:
            self._run = self._joined()
            self._root = self._run.contract.root
            for line in self._script.lines:
                self._say(line)
                for call in line.calls:
                    self._make(call)
        except (Fenced, Refused) as error:
            raise _Stop(error.code, str(error)) from None

    def _refuse_what_cannot_be_called(self) -> None:
        """Stop before anything is done where the outside does not offer all that is called."""
        calls = self._script.calls
        for call in calls.values():
            if call.args is not None and self._replay.outside.find(call.tool) is None:
                problem = f"the outside offers no tool {call.tool!r}"
                raise _Stop("no_tool", problem, call=call.number, tool=call.tool, message=call.message)
        for number in self._replay.wanted.repeats:
            if number not in calls:
                raise _Stop("invalid_input", f"it has no call {number}: there are {len(calls)}")

    # --- what is said ----------------------------------------------------------------------------

    def _joined(self) -> Run:
        """Open the run, or join what an earlier replay opened."""
        ledger, goal = self._replay.ledger, self._script.goal
        try:
            self._known = replayed(ledger.log(self._name))
        except RunNotFound:
            # A file name may hold bytes that are no text, and more of them than a label.
            name = os.fsencode(self._source.name).decode("utf-8", "backslashreplace")[:1000]
            return ledger.open_run(self._name, goal, actor=self._replay.actor, labels={REPLAY_LABEL: name})
        if not self._known.is_ours:
            problem = f"a run {self._name!r} is there already, and no replay opened it: give another id"
            raise _Stop("not_a_replay", problem)
        assert self._known.opened is not None, "a run begins by being opened"
        if self._known.opened.goal != goal:
            raise _Stop("diverges", "the goal is another one than was replayed before: give another id")
        return ledger.run(self._name, actor=self._replay.actor)

    def _say(self, line: Line) -> None:
        message, value = line.message, line.value
        if line.answers is not None:
            value = _answering(value, self._answers[line.answers])
        id = str(message.number)
        if id not in self._known.messages:
            self._run.record_message(id, message.role, value)
        elif line.answers is None:
            digest = pack_content(canonical_text(value).encode(), "message").payload.digest
            if self._known.messages[id] != digest:
                problem = f"message {id} is another one than was replayed before: give another id"
                raise _Stop("diverges", problem, message=message.number)
        for document in line.documents:
            self._accept(document)

    def _accept(self, document: Document) -> None:
        missing = [one for one in document.constraints if one.id not in self._known.accepted]
        if missing:
            publish(self._replay.ledger, document, self._replay.actor)
        for one in missing:
            self._run.accept(
                one.id,
                one.text,
                accepted_by=self._replay.actor.id,
                asserted_by=document.source,
                source=Source(KIND, document.name, revision=document.revision),
            )
            self._known.accepted.add(one.id)

    # --- what is done ----------------------------------------------------------------------------

    def _make(self, call: ScriptedCall) -> None:
        """Make a call, or tell what it came to before."""
        made = self._come_to(call)
        self._answers[call.number] = made
        self.calls.append(made)
        self._replay.told(made)

    def _come_to(self, call: ScriptedCall) -> ReplayedCall:
        told = None if call.result is None else call.result.text
        if call.args is None:
            return self._told(call, "not_called", told or "")
        tool = self._replay.outside.find(call.tool)
        assert tool is not None, "this was looked at first"
        try:
            if tool.recovery is Recovery.READ_ONLY:
                return self._read(call, tool, call.args)
            return self._do(call, tool, call.args)
        except InvalidInput as error:
            raise _Stop(error.code, str(error), **_at(call)) from None

    def _read(self, call: ScriptedCall, tool: Tool, args: Mapping[str, Any]) -> ReplayedCall:
        """Read what a call reads: each call anew, unless what this very one read is recorded."""
        answer = self._said_before(call)
        if answer is not None:
            came = "refused" if self._replay.outside.refuses(call.tool, answer) else "read"
            return self._told(call, came, answer, before=True)
        options: Options = {"step": call.step, "occurrence": call.occurrence}
        before = self._replay.outside.calls
        value: Any
        try:
            value = self._run.perform(tool, args, **options)
        except RefusedOutside as error:
            return self._told(call, "refused", str(error))
        except ReadFailed as error:
            kind = type(error.__cause__).__name__
            raise _Stop("read_failed", f"{call.tool!r} raised {kind}: {error}", **_at(call)) from None
        except ResultNotKept as error:
            value = error
        return self._told(call, "read", value, before=self._replay.outside.calls == before)

    def _said_before(self, call: ScriptedCall) -> str | None:
        """Return what a recorded message says that a call came to; None where none does."""
        digest = self._known.messages.get(str(call.answered_in))
        if digest is None:
            return None
        try:
            message = load_text(self._replay.ledger.blob(digest))
        except NotFound:
            return None  # the content has expired
        read = read_message(1, message)
        return None if read.result is None else read.result.text

    def _do(self, call: ScriptedCall, tool: Tool, args: Mapping[str, Any]) -> ReplayedCall:
        key = self._key(call, tool, args)
        refused = self._refused_before(key)
        if refused is not None:
            return self._told(call, "refused", refused, key=key, before=True)
        options = self._repeating(call, key)
        options |= {"step": call.step, "wait_seconds": self._replay.wanted.wait_seconds}
        before = self._replay.outside.calls
        value: Any
        try:
            value = self._run.perform(tool, args, **options)
        except EffectFailed as error:
            refused = self._refused_outside(key)
            if refused is None:
                self._stop(call, key, error)
            return self._told(call, "refused", refused, key=key)
        except ResultNotKept as error:
            value = error
        except (EffectError, PossibleRepeat, Refused, Fenced) as error:
            self._stop(call, key, error)
        return self._told(call, "done", value, key=key, before=self._replay.outside.calls == before)

    def _key(self, call: ScriptedCall, tool: Tool, args: Mapping[str, Any]) -> str:
        assert tool.signature is not None, "what is called has a function"
        text = tool.signature.bind(args).text
        return effect_key(self._replay.ledger.tenant, self._root, call.step, call.tool, None, text)

    def _refused_before(self, key: str) -> str | None:
        """Return how the outside refused before: a refusal is an answer, and not asked for twice."""
        return self._refused_outside(key) if key in self._known.intended else None

    def _refused_outside(self, key: str) -> str | None:
        known = self._replay.ledger.effect(key)
        if known.status != "failed" or known.error is None or known.error.type == "LeaseLost":
            return None
        return known.error.message

    def _repeating(self, call: ScriptedCall, key: str) -> Options:
        """Say what somebody says, or said before, of a repeat."""
        said = self._replay.wanted.repeats.get(call.number) or self._known.intended.get(key)
        if said is None:
            return {}
        undone_by = said.undone_by
        if isinstance(undone_by, int):
            undone_by = self._key_of(undone_by)
        return {"repeat": True, "reason": said.reason, "undone_by": undone_by}

    def _key_of(self, number: int) -> str:
        """Return the key of the effect that another call is."""
        other = self._answers.get(number)
        if other is None or other.key is None:
            raise invalid("undone_by", f"call {number} is no act before it, so it undid nothing")
        return other.key

    def _stop(self, call: ScriptedCall, key: str, error: LedgerError) -> NoReturn:
        evidence = error.data.get("evidence") or error.data
        said: dict[str, Any] = {**_at(call), "key": key}
        if isinstance(error, PossibleRepeat):
            said["first_key"] = evidence.get("key")
            said["first"] = next((one.number for one in self.calls if one.key == said["first_key"]), None)
        said["retry_after"] = error.data.get("retry_after")
        unknown = isinstance(error, EffectInFlight | OutcomeUnknown)
        raise _Stop(error.code, str(error), unknown=unknown, **said) from None

    def _told(self, call: ScriptedCall, came: Any, value: Any, **more: Any) -> ReplayedCall:
        words = f"[a {value.type}, which is no JSON]" if isinstance(value, ResultNotKept) else text_of(value)
        answer = text_of(self._secrets.redact(words))
        recorded = None
        if call.result is not None:
            recorded = call.result.text
            answer = recorded if _alike(answer, recorded) else answer
        said = (self._name, call.number, call.message, call.tool, came, answer, recorded)
        return ReplayedCall(*said, **more)


def _at(call: ScriptedCall) -> dict[str, Any]:
    return {"call": call.number, "tool": call.tool, "message": call.message}


def _answering(value: Any, call: ReplayedCall) -> Any:
    """Return the message that brings a result, with what the outside answered in its content."""
    return value if call.as_recorded else {**value, "content": call.answer}


def _alike(answer: str, recorded: str) -> bool:
    """Tell whether two results say the same: JSON may be written in several ways."""
    if answer == recorded:
        return True
    try:
        return canonical_text(load_text(answer)) == canonical_text(load_text(recorded))
    except InvalidInput:
        return False
