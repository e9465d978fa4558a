"""`Checkpointer`: the small interface that people write by hand, on a ledger, on files, behind a cache.

from ledger.adapters.checkpointer import Checkpointer

with Checkpointer.open("agent.db") as saves:
    saves.save("chat-17", {"messages": [{"id": "m1", "role": "user", "text": "Hello"}]}, at="after_model")
    saves.load("chat-17").state
"""

from ledger.adapters.checkpointer.awaited import AsyncCheckpointer
from ledger.adapters.checkpointer.backend import Cache
from ledger.adapters.checkpointer.boundaries import BOUNDARIES, Boundary
from ledger.adapters.checkpointer.checkpointer import Checkpointer
from ledger.adapters.checkpointer.errors import (
    CheckpointNotFound,
    CorruptCheckpoint,
    MidStream,
    NewerFormat,
)
from ledger.adapters.checkpointer.messages import Summary
from ledger.adapters.checkpointer.redis_cache import RedisCache
from ledger.adapters.checkpointer.values import Checkpoint, Loaded

__all__ = [
    "BOUNDARIES",
    "AsyncCheckpointer",
    "Boundary",
    "Cache",
    "Checkpoint",
    "CheckpointNotFound",
    "Checkpointer",
    "CorruptCheckpoint",
    "Loaded",
    "MidStream",
    "NewerFormat",
    "RedisCache",
    "Summary",
]
