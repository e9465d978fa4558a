"""The exit codes of the command line. They are stable: scripts and monitors rely on them."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What a command says to the shell."""

    FINE = 0
    """Done; for `verify`: the record is sound."""
    BAD_NEWS = 1
    """It ran, and the answer is bad: a record that is not what was written, a transcript that was refused,
    reports about an act that contradict each other, a file of rules with errors, a setting that breaks a
    promise."""
    CANNOT_TELL = 2
    """`verify`: neither sound nor altered can be shown; `reconcile`, `settle`, `cancel`, `restart`: what
    became of an act is still not known; `refresh`: something is stale still."""
    COULD_NOT_RUN = 3
    """The question was not answered: no such ledger or run, a busy or newer database, an unreadable file."""
    REFUSED = 4
    """A rule said no, and will say so again: the run has ended, an id is taken, it is not for agents."""
    REPLAN = 10
    """`resume`: not yet, for what is known or meant to be done has to be looked at again. This and the four
    below are the verdicts of the gate, the strictest last; `continue` is FINE."""
    RECONCILE = 11
    """`resume`: not yet, for what happened outside has to be found out, or the run is at work elsewhere."""
    REAPPROVE = 12
    """`resume`: not yet, for who may act has to be said anew."""
    RESTART = 13
    """`resume`: not this run, but a successor of it."""
    REFUSE = 14
    """`resume`: the run cannot be read."""
    USAGE = 64
    """The command line or a setting is malformed. (2, as other tools have it, is taken.)"""
    DEFECT = 70
    """A defect of this program. (1, as Python has it, is taken.)"""
    INTERRUPTED = 130
    """Stopped by Ctrl-C."""
    BROKEN_PIPE = 141
    """Who was reading the output went away."""
    TERMINATED = 143
    """`project rebuild`, `project run --until-current`: ended by SIGTERM before they were done."""
