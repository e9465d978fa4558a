"""Events and values in words, the same for every event: what is new in the vocabulary shows up by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ledger.adapters.cli.visible import one_line, visible

if TYPE_CHECKING:
    from ledger.events import Event
    from ledger.values import Source

_DIGEST = re.compile(r"[0-9a-f]{64}")
_REVISION = re.compile(r"sha256-[0-9a-f]{12,64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_NAMES = ("role", "id", "tool", "key", "node")
"""Fields that say what an event is about; those that it has begin its line, two at most."""
_JSON = ("args", "args_in_full")
"""Fields whose text is JSON."""
_MANY = ("states", "kept")
"""Fields that name saved states."""
_MOST = 240
"""Characters of a text where it is to be brief."""
_SAYINGS = ("text", "goal", "question", "content", "note")
"""Fields that hold what is said."""


class Words(NamedTuple):
    """An event in words."""

    headline: str
    rest: str
    """The other fields, in the order of the record."""
    reasons: tuple[str, ...] = ()
    """Why it is so, where the gate said it: each of its own, from 1."""

    @property
    def line(self) -> str:
        """All of it on one line."""
        return "; ".join(part for part in (self.headline, self.rest, *self.reasons) if part)


def when(moment: datetime) -> str:
    """Write a moment to the second, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _exactly_when(moment: datetime) -> str:
    """Write a moment as `when` does, with what of a second it has."""
    part = f".{moment.microsecond:06}" if moment.microsecond else ""
    return f"{when(moment)[:-1]}{part}Z"


def counted(number: int, what: str) -> str:
    """Write a number with its noun: `1 event`, `2 events`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def revision_words(revision: str, *, brief: bool) -> str:
    """Name a revision; one that is a digest of a file is cut to what tells it apart."""
    is_digest = brief and _REVISION.fullmatch(revision) is not None
    return revision[:11] + ".." if is_digest else quoted(revision)


def source_words(source: Source, *, brief: bool = False) -> str:
    """Name a point in a source stream."""
    words = quoted(source.stream)
    if source.revision is not None:
        words += f" revision {quoted(shortened(source.revision, brief))}"
    return words if source.item is None else f"{words} item {quoted(source.item)}"


def event_words(event: Event, contents: Mapping[str, Any], *, brief: bool) -> Words:
    """Put an event into words.

    `contents` are JSON values, or `ExpiredContent`, by digest, for payloads that are blobs; `brief` cuts long
    texts and digests.
    """
    said = event.model_dump(mode="json", exclude_defaults=True)
    reasons = tuple(
        f"{number}. {_reason(one, contents, brief)}" for number, one in enumerate(said.pop("reasons", ()), 1)
    )
    many = {name: _names_of(said.pop(name)) for name in _MANY if name in said}
    fields = {
        name: one_line(value, _MOST if brief else None) if name in _JSON else _value(value, contents, brief)
        for name, value in said.items()
    } | many
    names = [field for field in _NAMES if field in fields][:2]
    name = " ".join(fields.pop(field) for field in names)
    saying = next((fields.pop(field) for field in _SAYINGS if field in fields), "")
    headline = ": ".join(part for part in (name, saying) if part)
    rest = ", ".join(f"{field.replace('_', ' ')} {value}" for field, value in fields.items())
    return Words(headline, rest, reasons)


def _names_of(states: list[dict[str, Any]]) -> str:
    """Count saved states and name the first ones: there may be hundreds, and `--json` has them all."""
    names = [
        quoted(one["id"]) + (f" of {quoted(one['line'])}" if one.get("line") else "") for one in states[:3]
    ]
    return f"{len(states):,}: {', '.join(names)}{', …' if len(states) > len(names) else ''}"


def _reason(one: Mapping[str, Any], contents: Mapping[str, Any], brief: bool) -> str:
    """Write a reason of the gate: what stands against going on, then what is known of it."""
    known = [f"cleared by {_value(one['cleared_by'], contents, brief)}"]
    for field, lead in (("since", "since "), ("who", "by "), ("position", "position ")):
        if field in one:
            known.append(lead + _value(one[field], contents, brief))
    most = _MOST if brief else None
    return f"{quoted(one['kind'])}: {one_line(one['what'], most)} ({', '.join(known)})"


def value_words(value: Any, *, brief_time: bool = False) -> str:
    """Put a JSON value into words, whole and on one line; a time to the second, if it is to be brief."""
    if brief_time and isinstance(value, str) and _TIME.fullmatch(value):
        return when(datetime.fromisoformat(value))
    return _value(value, {}, brief=False)


def _value(value: Any, contents: Mapping[str, Any], brief: bool) -> str:
    most = _MOST if brief else None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        if _TIME.fullmatch(value):
            moment = datetime.fromisoformat(value)
            return when(moment) if brief else _exactly_when(moment)
        return shortened(value, brief) if _DIGEST.fullmatch(value) else quoted(value, most)
    if isinstance(value, dict):
        return _object(value, contents, brief, most)
    if isinstance(value, list):
        return ", ".join(_value(item, contents, brief) for item in value) or "none"
    return json.dumps(value)


def _object(value: dict[str, Any], contents: Mapping[str, Any], brief: bool, most: int | None) -> str:
    """Write the small values that events are made of as people would."""
    if "json_text" in value:
        return one_line(value["json_text"], most)
    if "digest" in value and value.keys() <= {"digest", "size", "type"}:
        if value["digest"] in contents:
            return _content(contents[value["digest"]], most)
        kind = f" of type {quoted(value['type'])}" if "type" in value else ""
        return f"content {shortened(value['digest'], brief)}{kind}"
    if {"kind", "name"} <= value.keys() <= {"kind", "name", "revision", "item"}:
        revision = f" revision {quoted(value['revision'])}" if "revision" in value else ""
        item = f" item {quoted(value['item'])}" if "item" in value else ""
        return quoted(f"{value['kind']}:{value['name']}") + revision + item
    if value.keys() == {"name"}:
        return quoted(value["name"])
    return " ".join(f"{one_line(key)}={_value(member, contents, brief)}" for key, member in value.items())


def _content(content: Any, most: int | None) -> str:
    """Write a stored content; of a chat message what it says and what it calls."""
    from ledger.integrity.tombstones import ExpiredContent

    if isinstance(content, ExpiredContent):
        who = f"{when(content.at)} by {quoted(content.by)}"
        return f"content {shortened(content.digest, True)} dropped {who}: {quoted(content.reason, most)}"
    if isinstance(content, str):
        return quoted(content, most)
    if (
        isinstance(content, dict)
        and isinstance(content.get("content"), str)
        and not content.get("tool_calls")
    ):
        return quoted(content["content"], most)
    return one_line(json.dumps(content, ensure_ascii=False), most)


_PLAIN = re.compile(r"[\w.:/@+%-][\w.:/@#+%-]*")
"""A word of which a shell makes nothing else."""
_LITERAL = re.compile(r"[^\"$`\\!]*")
"""What a shell takes as it stands between double quotes."""
_BREAK = re.compile(r"[\t\n\v\f\r]")


def quoted(text: str, most: int | None = None) -> str:
    """Write text on one line, in quotes unless it is one word, so that it cannot pass for words of ours.

    A POSIX shell reads what is written as the one word that was meant, and nothing in it as a command: a name
    may be copied behind a command. Single quotes, but for a text with an apostrophe.
    """
    if _PLAIN.fullmatch(text):
        return one_line(text, most)
    # Blanks are part of a name; a text of several lines is shown on one.
    line = one_line(text, most) if most is not None or _BREAK.search(text) else visible(text)
    if "'" in line and _LITERAL.fullmatch(line):
        return f'"{line}"'
    return "'" + line.replace("'", "'\"'\"'") + "'"


def shortened(text: str, brief: bool) -> str:
    """Cut a digest to what tells it apart; anything else stays whole."""
    return text[:12] + ".." if brief and _DIGEST.fullmatch(text) else text
