"""What can be called, with its whole signature and its words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from ledger.commands import COMMAND_CLASSES, Command
from ledger.values import Value
from tests.reference.fields import shown

LINE = 100
"""Characters of the longest signature that stands on one line."""

ANSWERS = {"R": "Stated"}
"""What the methods that both faces of the ledger share answer."""

ALIASES = {
    "Amounts": "Mapping[str, Decimal | str | int]",
    "Clock": "Callable[[], datetime]",
    "Declarations": "Mapping[str, Tool | Recovery | str | Mapping | None] | Iterable[Tool]",
    "Format": 'Literal["json", "msgpack"]',
    "GateChoice": 'Gate | Literal["off"] | None',
    "Key": "tuple[str, int]",
    "Message": "dict[str, Any]",
    "Needed": "Callable[[Sequence[Located], Collection[Located]], Iterable[Located]]",
    "Read": "Callable[[str], Reading | Callable[[SourceState], Reading] | None]",
    "Repeats": "Callable[[ToolCallRequest], str | None]",
    "Saver": "LedgerSaver",
    "Types": "Iterable[type] | Mapping[str, type]",
}
"""Names that only the code has, and what they stand for."""


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public members of a class and of its bases, its own first, as its source orders them."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if base in (Value, BaseModel, object, tuple) or not base.__module__.startswith("ledger."):
            continue
        for name, stated in tuple(vars(base).items()):
            member = getattr(stated, "__func__", stated)
            if not name.startswith("_") and name not in seen and _is_called(member):
                seen.add(name)
                yield name, member


def _is_called(member: object) -> bool:
    return isinstance(member, property) or inspect.isfunction(member)


def described(kind: type, level: str = "###") -> Iterator[str]:
    """Yield a section for each member of a class."""
    for name, member in members(kind):
        heading = f"{level} `{kind.__name__}.{name}`"
        if isinstance(member, property):
            yield f"{heading}\n\nA property, `{said(member.fget, 'return')}`. {inspect.getdoc(member)}"
        else:
            yield called(name, member, heading)
            yield from (f"It says {command}." for command in _commands_of(member))


def methods_of(command: type[Command], handles: Iterable[type]) -> list[str]:
    """Find the methods that build a command."""
    return [
        f"{handle.__name__}.{name}"
        for handle in handles
        for name, member in members(handle)
        if inspect.isfunction(member) and command in _built(member)
    ]


def _built(function: Callable[..., Any]) -> list[type[Command]]:
    source = inspect.getsource(function)
    return [kind for kind in COMMAND_CLASSES if re.search(rf"\bc\.{kind.__name__}\b", source)]


def _commands_of(function: Callable[..., Any]) -> Iterator[str]:
    for kind in _built(function):
        yield f"[`{kind.__name__}`](commands.md#{kind.__name__.lower()})"


def called(name: str, function: Callable[..., Any], heading: str, answer: str | None = None) -> str:
    """Write one function."""
    signature = signature_of(name, function, answer)
    return f"{heading}\n\n```python\n{signature}\n```\n\n{listed(inspect.getdoc(function) or '')}"


def signature_of(name: str, function: Callable[..., Any], answer: str | None = None) -> str:
    """Write a signature as its source does, on one line where it fits."""
    parts: list[str] = []
    by_place = False
    for place, one in enumerate(inspect.signature(function).parameters.values()):
        if place == 0 and one.name in ("self", "cls"):
            continue
        if by_place and one.kind is not one.POSITIONAL_ONLY:
            parts.append("/")
        by_place = one.kind is one.POSITIONAL_ONLY
        if one.kind is one.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(_parameter(one))
    end = f" -> {answer or said(function, 'return')}"
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) <= LINE:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def said(function: Any, name: str) -> str:
    """Read an annotation as the source writes it."""
    return _plain(inspect.get_annotations(inspect.unwrap(function))[name])


def _plain(annotation: str) -> str:
    names: Mapping[str, str] = ANSWERS | ALIASES
    annotation = annotation.replace("c.Command", "Command").replace("'", '"')
    return re.sub(r"\b\w+\b", lambda found: names.get(found[0], found[0]), annotation)


def _parameter(one: inspect.Parameter) -> str:
    stars = "**" if one.kind is one.VAR_KEYWORD else ""
    default = "" if one.default is one.empty else f" = {shown(one.default)}"
    return f"{stars}{one.name}: {_plain(one.annotation)}{default}"


def listed(words: str) -> str:
    """Turn the entries of `Args` and `Raises` into lists, and leave all else of a docstring as it is."""
    lines: list[str] = []
    in_list = False
    for line in words.splitlines():
        if line in ("Args:", "Raises:"):
            in_list = True
            lines += [{"Args:": "Takes:"}.get(line, line), ""]
        elif in_list and line.startswith("    "):
            entry = line.strip()
            if line[4] == " ":
                lines.append("  " + entry)
            else:
                name, _, meaning = entry.partition(": ")
                is_name = meaning and re.fullmatch(r"[\w*]+(, [\w*]+)*", name)
                lines.append(f"- `{name}`: {meaning}" if is_name else f"- {entry}")
        else:
            in_list = in_list and not line.strip()
            lines.append(line)
    return "\n".join(lines)
