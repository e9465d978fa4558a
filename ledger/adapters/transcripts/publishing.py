"""Documents of transcripts as sources: published once, by whoever comes first."""

from __future__ import annotations

from typing import NamedTuple

from ledger.adapters.transcripts.documents import Document
from ledger.application.ledger import Ledger
from ledger.errors import Refused
from ledger.run.sources import SourceState
from ledger.values import Actor


class Publication(NamedTuple):
    """Where the source of a document stands."""

    state: SourceState
    is_new: bool
    """It published the document just now."""


def publish(ledger: Ledger, document: Document, actor: Actor) -> Publication:
    """Let a document's source publish what it says, unless it has ever published anything."""
    handle = ledger.source(document.source, actor=actor)
    state = handle.state
    if state.revision is not None:
        return Publication(state, is_new=False)
    try:
        stated = handle.publish(document.revision, document.constraints)
    except Refused:
        # The source has owners who do not let us, or published otherwise meanwhile: what the run accepted
        # is a fact all the same, only claimed.
        return Publication(handle.state, is_new=False)
    return Publication(handle.state, not stated.repeated)
