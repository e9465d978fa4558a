"""The command `intent-ledger`: what a ledger knows, for people at a terminal and for scripts.

Every command is a module of this package. Modules import what they need when they run, so that `--help` is
quick; answers go to standard output, everything else to standard error.
"""

from ledger.adapters.cli.entry import main

__all__ = ["main"]
