"""Files as sources: what a repository says is read again when a run that relies on it is resumed."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ledger.adapters.sources.documents import read_document
from ledger.adapters.sources.proposals import reading_of
from ledger.application.readers import Reading
from ledger.canonical import invalid
from ledger.run.sources import SourceState

_NAME = re.compile(r"\w[\w.-]*")


def file_reader(path: str | Path) -> Callable[[str], Callable[[SourceState], Reading]]:
    """Return a reader for `ledger.sources.register`: each source of its kind is a file of rules.

    `{name}` in the path stands for the name of the source: with `policies/{name}.md` the source
    `policy:refunds` is `policies/refunds.md`. Names that are more than a file name are not read: which source
    a run relies on, an agent may say. The files are read as `intent-ledger sources publish` reads them.

    Raises:
        InvalidInput: the path has no `{name}`. And for the reader: the file is no document of rules.
        OSError: the reader cannot read the file.
    """
    template = str(path)
    if "{name}" not in template:
        raise invalid("path", "put {name} where the name of the source stands, as in policies/{name}.md")

    def read(source: str) -> Callable[[SourceState], Reading]:
        name = source.partition(":")[2]
        if not _NAME.fullmatch(name):
            raise invalid("source", f"{name!r} is no name of a file")
        return partial(reading_of, read_document(template.replace("{name}", name)))

    return read
