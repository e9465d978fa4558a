"""Rules in YAML: a list of texts or of `{id?, text, rule?}`, or a mapping of ids to texts or `{text, rule?}`.

Only what means the same to every reader of YAML is read: no tags, no anchors, no aliases, one document. A
text or id that YAML would take for a number, a date or a truth value has to stand in quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from ledger.adapters.sources.entries import Entry, Found, at_line, noted
from ledger.errors import InvalidInput
from ledger.run.stated_rule import rule_of
from ledger.values import Rule, check_id

_DEEPEST = 20
_STRING = "tag:yaml.org,2002:str"
_FIELDS = ("id", "rule", "text")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_yaml(text: str, name: str, wrong: list[InvalidInput] | None = None) -> Found:
    """Read the rules out of a YAML text; with `wrong` malformed ones are put there and left out.

    Raises:
        InvalidInput: it is no YAML, or not of that form; the message names the line.
    """
    try:
        _check(text, name)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise at_line(name, 1 if mark is None else mark.line + 1, f"no YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise at_line(name, line, f"YAML cannot hold the character U+{int(error.character):04X}") from None
    if root is None:
        return Found(())
    return Found(tuple(_Reader(name, wrong).entries(root)))


def _check(text: str, name: str) -> None:
    """Look through the text before anything is built of it."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = _line(event)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise at_line(name, line, "anchors and aliases are not read here: write it out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise at_line(name, line, f"tags are not read here: {tag}")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise at_line(name, line, f"it nests deeper than {_DEEPEST} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Reader:
    """Reads the nodes of one document."""

    def __init__(self, name: str, wrong: list[InvalidInput] | None) -> None:
        self._name = name
        self._noted = wrong

    def entries(self, root: yaml.Node) -> Iterator[Entry]:
        found: list[Entry] = []
        if isinstance(root, yaml.SequenceNode):
            for node in root.value:
                with noted(self._noted):
                    found.append(self._listed(node))
        elif isinstance(root, yaml.MappingNode):
            seen: set[str] = set()
            for key, node in root.value:
                with noted(self._noted):
                    found.append(self._entry(node, self._name_of(key, seen), _line(key)))
        else:
            with noted(self._noted):
                raise self._wrong(root, "give a list of rules, or a mapping of ids to rules")
        return iter(found)

    def _listed(self, node: yaml.Node) -> Entry:
        if isinstance(node, yaml.MappingNode):
            members = self._members(node)
            if len(members) == 1 and not members.keys() & set(_FIELDS):
                ((id, inner),) = members.items()
                return self._entry(inner, id, _line(node))
        return self._entry(node, None, _line(node))

    def _entry(self, node: yaml.Node, id: str | None, line: int) -> Entry:
        """Read a rule; `line` is where it begins, with its id if that stands in front."""
        if isinstance(node, yaml.ScalarNode):
            return Entry(line, self._text(node, "a rule's text"), id=self._id(id, node))
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(node, "a rule is a text, or {text: …, rule: …}")
        members = self._members(node)
        unknown = next((key for key in members if key not in _FIELDS), None)
        if unknown is not None:
            raise self._wrong(members[unknown], f"{unknown!r} is none of {', '.join(_FIELDS)}")
        if "text" not in members:
            raise at_line(self._name, line, "the rule has no text")
        if "id" in members:
            if id is not None:
                raise self._wrong(members["id"], "the rule has its id already: what stands before it")
            id = self._text(members["id"], "an id")
        text = self._text(members["text"], "a rule's text")
        rule = members.get("rule")
        return Entry(line, text, id=self._id(id, node), rule=None if rule is None else self._rule(rule))

    def _id(self, id: str | None, node: yaml.Node) -> str | None:
        if id is not None:
            try:
                check_id(id)
            except ValueError as error:
                raise self._wrong(node, str(error)) from None
        return id

    def _text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._wrong(node, f"{what} is a text")
        if node.tag != _STRING:
            kind = node.tag.rpartition(":")[2]
            raise self._wrong(node, f"{what} is a text, and YAML takes {node.value!r} for {kind}: quote it")
        # Blanks at the end are what block scalars leave there.
        return str(node.value).strip()

    def _members(self, node: yaml.MappingNode) -> dict[str, yaml.Node]:
        seen: set[str] = set()
        return {self._name_of(key, seen): value for key, value in node.value}

    def _name_of(self, key: yaml.Node, seen: set[str]) -> str:
        text = self._text(key, "a name")
        if text in seen:
            raise self._wrong(key, f"{text!r} stands here for the second time")
        seen.add(text)
        return text

    def _rule(self, node: yaml.Node) -> Rule | None:
        said = self._plain(node)
        if said is None:
            return None
        if not isinstance(said, dict):
            raise self._wrong(node, "rule: it is a mapping, e.g. {deny: [refund]}")
        try:
            return rule_of(said)
        except InvalidInput as error:
            raise self._wrong(self._place(node, error.path), str(error)) from None

    def _place(self, node: yaml.Node, path: str) -> yaml.Node:
        """Find what an error speaks of, e.g. `rule.when[0].path`, as far down as it is there."""
        for name in re.findall(r"[^.\[\]]+", path)[1:]:
            if isinstance(node, yaml.MappingNode):
                inner = self._members(node).get(name)
            elif isinstance(node, yaml.SequenceNode) and name.isdecimal():
                inner = node.value[int(name)] if int(name) < len(node.value) else None
            else:
                inner = None
            if inner is None:
                return node
            node = inner
        return node

    def _plain(self, node: yaml.Node) -> Any:
        """Return what a node says as JSON has it."""
        if isinstance(node, yaml.MappingNode):
            return {name: self._plain(value) for name, value in self._members(node).items()}
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(value) for value in node.value]
        assert isinstance(node, yaml.ScalarNode)
        text: str = node.value
        if node.tag == _STRING:
            return text
        if node.style is None and text in _WORDS:
            return _WORDS[text]
        if _NUMBER.fullmatch(text):
            return json.loads(text)
        kind = node.tag.rpartition(":")[2]
        raise self._wrong(node, f"YAML takes {text!r} for {kind}: quote it, or write it as JSON does")

    def _wrong(self, node: yaml.Node, reason: str) -> InvalidInput:
        return at_line(self._name, _line(node), reason)


def _line(part: yaml.Node | yaml.Event) -> int:
    mark = part.start_mark
    assert mark is not None, "what was read from a text knows its place"
    return mark.line + 1
