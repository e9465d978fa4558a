"""Sample transcripts of a hotel desk, invented for this product, and the declarations of its tools.

They hold what a ledger is for: a policy, a call that the outside refused and that was tried again, a deed
that was done twice on purpose, and a refund that nobody knows the outcome of.
"""

from pathlib import Path


def sample_path() -> Path:
    """Return the file of transcripts, as JSON Lines."""
    return Path(__file__).with_name("hotel-desk.jsonl")


def sample_tools_path() -> Path:
    """Return the tools file that belongs to them."""
    return Path(__file__).with_name("hotel-tools.json")
