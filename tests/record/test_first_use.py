"""The first record written in a process sets nothing up that a fork in another thread could cut in half."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import builtins
import ledger.record
from ledger import Actor
from ledger.events import CursorMoved

actor, event = Actor("agent:a"), CursorMoved(node="n")
imported, load = [], builtins.__import__

def spy(name, *arguments, **more):
    imported.append(name)
    return load(name, *arguments, **more)

builtins.__import__ = spy
for value in (actor, event):
    value.__pydantic_serializer__.to_json(value, exclude_none=True)
    kind = type(value)
kind.__pydantic_validator__.validate_json(b'{"node": "n"}')
builtins.__import__ = load
assert imported == [], imported
"""


def test_nothing_is_left_to_be_loaded_when_the_first_record_is_written_or_read() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
