"""`do`: every command that a run takes, by its name."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from ledger.adapters.cli.derived import Saying, build
from ledger.adapters.cli.verbs import group_of

ABOUT = """Say any command of the ledger to a run, by its name.

COMMAND is the stable name of a command, its options are that command's fields: text stands as it is; what
holds several values is given once for each; an object is JSON, or KEY=VALUE once for each member; a payload
is JSON. Each has a --help. What is a request may be refused, what is a report is recorded in any case.

\b
Examples:
  intent-ledger do --help
  intent-ledger do obligation.waive refund-17 --id tell-customer \\
      --reason "told by telephone" --by human:kim
  intent-ledger do message.record refund-17 --id m-9 --role user \\
      --content '"Please go on"' --json
"""

ELSEWHERE = {
    "effect.claim": "the program performs an act: run.perform",
    "run.fork": "intent-ledger fork",
    "run.open": "the program opens a run: ledger.open_run",
    "run.restart": "intent-ledger restart",
    "run.resume": "intent-ledger resume",
}
"""Commands that are not said here, and where they are."""


class Commands(TyperGroup):
    """The commands that a run takes, looked up when one of them is named."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List their names, in the order of the vocabulary."""
        from ledger.commands import COMMAND_CLASSES
        from ledger.run.decide import RULES

        return [kind.name for kind in COMMAND_CLASSES if kind in RULES and kind.name not in ELSEWHERE]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Build a command; None: there is none of this name."""
        if cmd_name in ELSEWHERE:
            raise typer.BadParameter(f"{cmd_name} is not said here: {ELSEWHERE[cmd_name]}")
        return build(Saying(cmd_name), cmd_name) if cmd_name in self.list_commands(ctx) else None


def add_to(app: typer.Typer) -> None:
    """Put the commands under `do`."""
    group = group_of(ABOUT, cls=Commands, subcommand_metavar="COMMAND RUN [OPTIONS]")
    app.add_typer(group, name="do")
