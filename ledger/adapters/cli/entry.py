"""Where the command begins and ends: from arguments to an exit code, whatever happens in between."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

import typer

from ledger.adapters.cli.app import command
from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.screen import ReaderGone, Screen
from ledger.errors import IntegrityError, InvalidInput, LedgerError, Refused

# Typer's own class of usage errors has no public name; BadParameter is its direct subclass.
USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    screen = Screen(as_json="--json" in arguments)
    code = _run(arguments, screen)
    try:
        screen.flush()
    except (OSError, ReaderGone):
        _discard_output()
    return int(code)


def _run(arguments: list[str], screen: Screen) -> int:
    try:
        code = command().main(arguments, prog_name="intent-ledger", standalone_mode=False)
        screen.flush()
        return int(code or 0)
    except ReaderGone:
        return Exit.BROKEN_PIPE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except SystemExit as stop:
        # Only typer raises it: with 1 when the reader of a help text went away, else after completion.
        return Exit.BROKEN_PIPE if stop.code == 1 else int(stop.code or 0)
    except USAGE_ERROR as error:
        screen.fail("usage", _usage(error), {})
        return Exit.USAGE
    except LedgerError as error:
        screen.fail(error.code, str(error), error.data)
        return exit_of(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        screen.fail("os_error", message, {"errno": error.errno, "path": error.filename})
        return Exit.COULD_NOT_RUN
    except Exception:  # noqa: BLE001 - the outermost frame: Python's own exit code 1 means "altered" here
        for line in traceback.format_exc().splitlines():
            screen.note(line)
        screen.fail("defect", "this is a defect of intent-ledger: report it with the lines above", {})
        return Exit.DEFECT


def exit_of(error: LedgerError) -> Exit:
    """Tell with which code an error ends the command."""
    # What stopped a projection may be a record that was altered.
    if isinstance(error, IntegrityError) or error.data.get("altered") is True:
        return Exit.BAD_NEWS
    if isinstance(error, Refused):
        return Exit.REFUSED
    return Exit.USAGE if isinstance(error, InvalidInput) else Exit.COULD_NOT_RUN


def _usage(error: Exception) -> str:
    message = getattr(error, "format_message", error.__str__)().rstrip(".").replace(": Value error, ", ": ")
    context = getattr(error, "ctx", None)
    if re.match(r"No such option: -[^-]", message):
        message += "; an id that begins with a dash stands behind --"
    path = "intent-ledger" if context is None else context.command_path
    return f"{message}; see: {path} --help"


def _discard_output() -> None:
    """Keep the interpreter from complaining when it flushes once more on its way out."""
    with suppress(OSError, ValueError):  # not a real file, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
