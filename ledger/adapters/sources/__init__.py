"""Sources as files: Markdown and YAML documents of rules, published and read again."""

from ledger.adapters.sources.documents import Document, Entry, LeftOut, read_document
from ledger.adapters.sources.files import file_reader
from ledger.adapters.sources.proposals import Proposal, Proposed, propose

__all__ = [
    "Document",
    "Entry",
    "LeftOut",
    "Proposal",
    "Proposed",
    "file_reader",
    "propose",
    "read_document",
]
