"""A process that imports one file, to be killed or raced.

    python -m tests.adapters.transcripts.importer DATABASE FILE

It says `ready`, waits for a line, imports in small appends, says how far it is after each, and at last the
counts of its report; then it waits for another line, so that it does not end before it can be killed.
"""

from __future__ import annotations

import json
import sys

from ledger import Actor, open_ledger
from ledger.adapters.transcripts import import_transcripts, importing
from tests.adapters.transcripts.conversation import TOOLS

APPEND_EVENTS = 7


def say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def main(database: str, file: str) -> None:
    importing.CHUNK_EVENTS = APPEND_EVENTS
    with open_ledger(database, actor=Actor("service:importer")) as ledger:
        say("ready")
        sys.stdin.readline()
        report = import_transcripts(ledger, file, tools=TOOLS, progress=lambda done, total: say(str(done)))
    say(json.dumps({**report.counts, "events": report.events}))
    sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
