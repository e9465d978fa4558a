"""The page of the takeover brief: what somebody must know who takes a run over, field by field."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from ledger.run import brief as module
from ledger.run.brief import Brief
from ledger.run.outside import DoneEffect, ElsewhereEffect, FailedEffect, OpenEffect
from ledger.run.waiting import Waiting
from ledger.run.ways_out import WayOut
from ledger.values import Value
from tests.reference.fields import Field, facts, fields
from tests.reference.signatures import described
from tests.reference.words import first, page

PARTS: tuple[type[Value], ...] = (
    *(
        kind
        for kind in vars(module).values()
        if inspect.isclass(kind)
        and issubclass(kind, Value)
        and kind is not Brief
        and kind.__module__ == module.__name__
    ),
    *(DoneEffect, FailedEffect, OpenEffect, ElsewhereEffect, Waiting, WayOut),
)


def brief_page() -> str:
    """Write the fields of a brief and of its parts."""
    return page("The takeover brief", *_parts())


def _parts() -> Iterator[str]:
    yield """\
What `ledger.brief` returns and `intent-ledger brief RUN --json` writes, where fields that are None are left
out. How it is used stands under [take over a run](../how-to/takeover.md). What is not described here stands
under [the contract, and other values](contract.md), and under [effects](effects.md).

Fields in *italics* may be None or empty."""
    yield _section(Brief, "##")
    yield "## Parts of the brief"
    for kind in PARTS:
        yield _section(kind, "###")


def _section(kind: type[Value], level: str) -> str:
    known = {part.__name__: first(part) for part in PARTS}
    declared = [
        field._replace(words=field.words or known.get(field.kind.removeprefix("list of "), ""))
        for field in fields(kind)
    ]
    tables = facts(declared, Field.may_be_none)
    return "\n\n".join(
        (f"{level} `{kind.__name__}`", inspect.getdoc(kind) or "", *tables, *described(kind, level + "#"))
    )
