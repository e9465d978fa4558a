"""The ledger for event loops: the same names, awaited. Nothing else of the core knows of them."""

from ledger.aio.handles import AsyncRun, AsyncSourceHandle
from ledger.aio.ledger import AsyncLedger
from ledger.aio.opening import open_async_ledger

__all__ = ["AsyncLedger", "AsyncRun", "AsyncSourceHandle", "open_async_ledger"]
