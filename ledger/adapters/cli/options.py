"""The options that several commands share, written once."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="FILE|URL",
        help="The ledger: a SQLite file, or postgresql://…. Else INTENT_LEDGER_URL, else ./ledger.db.",
        show_default=False,
    ),
]
TenantOption = Annotated[
    str | None,
    typer.Option(
        "--tenant",
        metavar="ID",
        help="Whose runs and sources to see. Else INTENT_LEDGER_TENANT, else 'default'.",
        show_default=False,
    ),
]
ActorOption = Annotated[
    str | None,
    typer.Option(
        "--actor",
        metavar="KIND:NAME",
        help="Who writes, e.g. human:kim. Else INTENT_LEDGER_ACTOR, else service:LOGIN@HOST.",
        show_default=False,
    ),
]
SessionOption = Annotated[
    str | None,
    typer.Option("--actor-session", metavar="ID", help="Session of who writes.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write one JSON document instead of text.")]

ToolsOption = Annotated[
    str | None,
    typer.Option(
        "--tools",
        metavar="MODULE",
        help="Python module that declares the tools: shop.tools, or tools.py.",
        show_default=False,
    ),
]
RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="Only effects of this run.", show_default=False),
]
KeptOption = Annotated[
    bool, typer.Option("--kept", help="Find them by the read model `runs`, and read only those.")
]
KeyArgument = Annotated[
    str,
    typer.Argument(metavar="KEY", help="Its key, or at least the first 8 digits.", show_default=False),
]


class Given(NamedTuple):
    """Options that stand before the command; those after it count first."""

    url: str | None = None
    tenant: str | None = None
    actor: str | None = None
