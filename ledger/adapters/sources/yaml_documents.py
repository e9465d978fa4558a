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

from ledger.adapters.sources.entries import Entry, Found, at_line
from ledger.errors import InvalidInput
from ledger.run.stated_rule import rule_of
from ledger.values import Rule, check_id

_DEEPEST = 20
_STRING = "tag:yaml.org,2002:str"
_FIELDS = ("id", "rule", "text")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_yaml(text: str, name: str) -> Found:
    """Read the rules out of a YAML text.

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
    return Found(tuple(_Reader(name).entries(root)))


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

    def __init__(self, name: str) -> None:
        self._name = name

    def entries(self, root: yaml.Node) -> Iterator[Entry]:
        if isinstance(root, yaml.SequenceNode):
            for node in root.value:
                yield self._listed(node)
        elif isinstance(root, yaml.MappingNode):
            for id, node in self._members(root).items():
                yield self._entry(node, id)
        else:
            raise self._wrong(root, "give a list of rules, or a mapping of ids to rules")

    def _listed(self, node: yaml.Node) -> Entry:
        if isinstance(node, yaml.MappingNode):
            members = self._members(node)
            if len(members) == 1 and not members.keys() & set(_FIELDS):
                ((id, inner),) = members.items()
                return self._entry(inner, id)
        return self._entry(node, None)

    def _entry(self, node: yaml.Node, id: str | None) -> Entry:
        if isinstance(node, yaml.ScalarNode):
            return Entry(_line(node), self._text(node, "a rule's text"), id=self._id(id, node))
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(node, "a rule is a text, or {text: …, rule: …}")
        members = self._members(node)
        unknown = next((key for key in members if key not in _FIELDS), None)
        if unknown is not None:
            raise self._wrong(members[unknown], f"{unknown!r} is none of {', '.join(_FIELDS)}")
        if "text" not in members:
            raise self._wrong(node, "the rule has no text")
        if "id" in members:
            if id is not None:
                raise self._wrong(members["id"], "the rule has its id already: what stands before it")
            id = self._text(members["id"], "an id")
        text = self._text(members["text"], "a rule's text")
        rule = members.get("rule")
        return Entry(
            _line(node), text, id=self._id(id, node), rule=None if rule is None else self._rule(rule)
        )

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
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            text = self._text(key, "a name")
            if text in found:
                raise self._wrong(key, f"{text!r} stands here for the second time")
            found[text] = value
        return found

    def _rule(self, node: yaml.Node) -> Rule | None:
        said = self._plain(node)
        if said is None:
            return None
        if not isinstance(said, dict):
            raise self._wrong(node, "rule: it is a mapping, e.g. {deny: [refund]}")
        try:
            return rule_of(said)
        except InvalidInput as error:
            raise self._wrong(node, str(error)) from None

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
