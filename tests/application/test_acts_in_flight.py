"""One act in two runs, in two processes, on PostgreSQL: both claims are in flight at one moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ledger.errors import PossibleRepeat, StoreUnavailable
from ledger.stores.base import Append
from ledger.stores.postgres.store import PostgresStore
from tests.application.approving import ARGS, PROGRAM, Outside, begin, opened, paying
from tests.application.conftest import SetClock, Wrapped
from tests.stores.place import address
from tests.stores.uncommitted import held_open, until_waited_for


@pytest.mark.parametrize("named", [{"step": "two"}, {"key": "two"}], ids=["a step", "a given key"])
@pytest.mark.parametrize("stored", [True, False], ids=["it is stored", "it is undone"])
def test_who_begins_an_act_waits_for_who_is_about_to_begin_it(
    tmp_path: Path, clock: SetClock, named: dict[str, Any], stored: bool
) -> None:
    """Neither has looked, since nothing was there to be seen, and each would find nothing in the way."""
    url, outside, sent = address("postgres", tmp_path), Outside(), []
    tool = paying(outside, needs_approval=False)

    def keep(append: Append) -> None:
        if any(b'"effect.started"' in row.record for part in append.streams for row in part.rows):
            sent.append(append)
            raise StoreUnavailable("held back", reason="held back")

    with closing(PostgresStore(url)) as here, closing(PostgresStore(url)) as there:
        wrapped = Wrapped(here)
        mine, other = opened(wrapped, clock), opened(there, clock)
        begin(mine, "parent")
        mine.run("parent", actor=PROGRAM).open_child("child", goal="Refund order 17")
        wrapped.before = keep
        with pytest.raises(StoreUnavailable):
            mine.run("parent", actor=PROGRAM).perform(tool, ARGS, step="one")
        child = other.run("child", actor=PROGRAM)
        with ThreadPoolExecutor(1) as pool, held_open(here, *sent) as holder:
            performing = pool.submit(child.perform, tool, ARGS, **named)
            until_waited_for(url, holder)
            holder.command(b"COMMIT" if stored else b"ROLLBACK")
            if stored:
                with pytest.raises(PossibleRepeat) as refused:
                    performing.result(60)
                assert refused.value.evidence["run"] == "parent"
            else:
                performing.result(60)
    assert outside.calls == (0 if stored else 1)
