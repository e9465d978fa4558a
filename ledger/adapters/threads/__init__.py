"""Threads: conversations as the outside names them, each a row of runs that keep its states.

Shared by what keeps states for programs: the `Checkpointer` and LangGraph's saver.
"""

from ledger.adapters.threads.located import Located, Nearby
from ledger.adapters.threads.naming import run_name
from ledger.adapters.threads.states import ThreadStates
from ledger.adapters.threads.threads import Entry, Threads

__all__ = ["Entry", "Located", "Nearby", "ThreadStates", "Threads", "run_name"]
