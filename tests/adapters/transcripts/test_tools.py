"""The tools file: what it may say, and how what it may not say is refused."""

import re
from pathlib import Path

import pytest

from ledger import Recovery
from ledger.adapters.transcripts import Tools
from ledger.errors import InvalidInput


def test_a_tool_that_nobody_declared_can_be_neither_asked_nor_repeated() -> None:
    tool = Tools(tools={}).of("pay")
    assert tool.recovery is Recovery.AT_MOST_ONCE
    assert not tool.failed("Error: no")


def test_a_tool_is_what_the_file_declares() -> None:
    tools = Tools.parse(
        '{"$comment": "words", "tools": {"pay": '
        '{"recovery": "idempotent", "dedupes_for": 60, "failed_if": "^No"}}}'
    )
    pay = tools.of("pay")
    assert (pay.recovery, pay.dedupes_for) == (Recovery.IDEMPOTENT, 60)
    assert pay.failed("No money")
    assert not pay.failed("Oh No")


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        ("{", "tools file", "not JSON"),
        ("[]", "$", "valid dictionary"),
        ("{}", "tools", "required"),
        ('{"tool": {}, "tools": {}}', "tool", "no such field"),
        ('{"tools": {"a": {}}}', "tools.a.recovery", "required"),
        ('{"tools": {"a": {"recovery": "readonly"}}}', "tools.a.recovery", "read_only"),
        ('{"tools": {"a": {"recovery": "queryable", "failed": "x"}}}', "tools", "did you mean 'failed_if'"),
        ('{"tools": {"a": {"recovery": "queryable", "zzz": "x"}}}', "tools", "known are"),
        (
            '{"tools": {"a": {"recovery": "queryable", "failed_if": "("}}}',
            "tools.a.failed_if",
            "not a regular",
        ),
        ('{"tools": {"a": {"recovery": "queryable", "fresh_for": 1}}}', "tools.a", "read_only"),
        ('{"tools": {"a": {"recovery": "read_only", "dedupes_for": 1}}}', "tools.a", "idempotent"),
        ('{"tools": {"a": {"recovery": "read_only", "settle_seconds": 1}}}', "tools.a", "queryable"),
        ('{"tools": {"a": {"recovery": "read_only", "fresh_for": -1}}}', "tools.a.fresh_for", "greater"),
        ('{"tools": {"a": {"recovery": "read_only"}, "a": {"recovery": "outbox"}}}', "tools file", "twice"),
        ('{"tools": {"": {"recovery": "read_only"}}}', "tools..[key]", "empty"),
    ],
)
def test_what_the_file_may_not_say_is_refused_with_its_place(text: str, path: str, hint: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(hint)) as raised:
        Tools.parse(text)
    assert raised.value.path == path


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as raised:
        Tools.read(tmp_path / "none.json")
    assert raised.value.path == str(tmp_path / "none.json")
    with pytest.raises(InvalidInput):
        Tools.read(tmp_path)
