"""The page of the contract: what a run means, part by part, and what calls return beside it."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping

from ledger.application.checking import Checked
from ledger.application.loaded import Loaded
from ledger.application.query import Page, RunQuery, RunSummary
from ledger.application.readers import Reader, Reading
from ledger.application.refreshing import Refreshed
from ledger.application.resuming import Resumption
from ledger.application.statements import Stated
from ledger.commands import Carve
from ledger.events import Reason
from ledger.record import Record, TermsMark
from ledger.run import contract as module
from ledger.run import standing
from ledger.run.compared import Origin, What
from ledger.run.contract import Contract
from ledger.run.diff import Diff, Difference, Side
from ledger.run.permission import Objection, Permission
from ledger.run.sources import Gone, Item, SourceState
from ledger.stores.base import Blob
from ledger.values import Value
from tests.reference.fields import Field, facts, fields, inputs
from tests.reference.signatures import described
from tests.reference.words import first, page

RETURNED: tuple[type, ...] = (
    Stated,
    Record,
    Loaded,
    Page,
    RunSummary,
    Resumption,
    Reason,
    Refreshed,
    Permission,
    Objection,
    Diff,
    Difference,
    Side,
    Origin,
    SourceState,
    Item,
    Gone,
    Checked,
    Reader,
)
GIVEN: tuple[type, ...] = (RunQuery, Blob, Carve, Reading)


def contract_parts() -> list[type[Value]]:
    """List the values a contract is made of, in the order in which their modules state them."""
    own = [
        kind
        for place in (module, standing)
        for kind in vars(place).values()
        if inspect.isclass(kind) and issubclass(kind, Value) and kind.__module__ == place.__name__
    ]
    return [*(kind for kind in own if kind is not Contract), TermsMark]


def contract_page() -> str:
    """Write the fields of what calls return, and of what they are given."""
    return page(
        "The contract, and other values",
        """\
What `run.contract` and `ledger.contract` return, and the other values that calls return and take. The kinds
stand under [Types](events.md#types), and so do the values that callers build: `Actor`, `Source`, `Step`,
`Rule`, `Runtime`, `Limits`, `Published`. `Totals` are sums of amounts, by unit.

Fields in *italics* may be None or empty. In every part `position` is the place in the run where it was said,
`at` the time, `by` who somebody says it was, and `rests_on` what it would not hold without.""",
        _section(Contract, "##"),
        "## Parts of the contract",
        *(_section(kind, "###") for kind in contract_parts()),
        "## What else calls return",
        *(_section(kind, "###") for kind in RETURNED),
        "## What calls are given",
        *(_section(kind, "###") for kind in GIVEN),
    )


def _section(kind: type, level: str) -> str:
    known = {part.__name__: first(part) for part in (*contract_parts(), *RETURNED)}
    declared = [_with_words_of(field, known) for field in fields(kind)]
    tables = inputs(declared) if kind in GIVEN else facts(declared, Field.may_be_none)
    words = inspect.getdoc(kind) or ""
    return "\n\n".join((f"{level} `{kind.__name__}`", words, *tables, *described(kind, level + "#")))


def _with_words_of(field: Field, known: Mapping[str, str]) -> Field:
    """Let a field without words say what its part says of itself, or which choices there are."""
    if field.said == "What":
        return field._replace(words=f"One of {', '.join(f'`{one}`' for one in typing.get_args(What))}.")
    return field._replace(words=field.words or known.get(field.kind.removeprefix("list of "), ""))
