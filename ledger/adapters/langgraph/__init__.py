"""LangGraph on a ledger: its checkpoints are kept beside what its nodes did.

    from ledger.adapters.langgraph import LedgerSaver

Needs the extra `langgraph`: `pip install '.[langgraph]'` in a checkout.
"""

try:
    import langgraph.checkpoint.base  # noqa: F401
    import ormsgpack  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover - the tests have it
    raise ModuleNotFoundError(
        f"a saver for LangGraph needs {error.name}: in a checkout pip install '.[langgraph]', or "
        "'.[langchain]' for LangChain's agents",
        name=error.name,
    ) from error

from ledger.adapters.langgraph.codec import UnknownType
from ledger.adapters.langgraph.declared import ledger_tools
from ledger.adapters.langgraph.deleting import StillNeeded
from ledger.adapters.langgraph.importing import import_threads
from ledger.adapters.langgraph.prompting import acontract_text, contract_text
from ledger.adapters.langgraph.resuming import Gate, ThreadIsHeld
from ledger.adapters.langgraph.running import aledger_run, ledger_run
from ledger.adapters.langgraph.saver import LedgerSaver
from ledger.adapters.langgraph.tool_node import LedgerToolCalls

__all__ = [
    "Gate",
    "LedgerSaver",
    "LedgerToolCalls",
    "StillNeeded",
    "ThreadIsHeld",
    "UnknownType",
    "acontract_text",
    "aledger_run",
    "contract_text",
    "import_threads",
    "ledger_run",
    "ledger_tools",
]
