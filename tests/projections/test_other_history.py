"""A cursor that came past records of other tenants, under which another log was restored."""

from __future__ import annotations

import pytest

from ledger import Ledger
from ledger.application.ledger import edge_of
from ledger.stores.read_models import Advance, Cursor
from projections.asking import ask
from projections.checking import check
from projections.history import find_counted
from projections.reading import Reader
from projections.rebuilding import rebuild
from projections.runner import manner_of
from projections.standing import wait_for
from projections.timeline import Timeline
from projections.work import Work
from tests.projections.conftest import OpenLedger
from tests.projections.samples import catch_up, kept, naive, standing
from tests.stores.builder import shown

ONE = Timeline()
OTHER = b"\x07" * 32


def stored(ledger: Ledger) -> Cursor:
    """Return the cursor as it is stored, whatever of it counts."""
    (found,) = ledger.store.read_models().cursors(ledger.tenant)
    return found


def let_say(ledger: Ledger, seen: int, seen_hash: bytes | None) -> None:
    """Let the cursor say that the tenant has no other record up to a place, as another history had it."""
    models, before = ledger.store.read_models(), stored(ledger)
    now = edge_of(ledger).now()
    taken = models.take(ledger.tenant, ONE.model, holder="other", seconds=30, now=now)
    assert taken is not None
    reached = before.reached._replace(seen=seen, seen_hash=seen_hash)
    page = Advance(taken.fence, before.reached.gid, reached, {}, 30.0)
    models.advance(ledger.tenant, ONE.model, page, now=now)
    models.release(ledger.tenant, ONE.model, taken.fence)


def extended(ledger: Ledger) -> int:
    """Let a projection handle one record, then append four more; return where the ledger ends."""
    run = ledger.open_run("run", "goal")
    catch_up(ledger, ONE)
    for number in range(4):
        run.revise_goal(f"goal {number}", reason="it changed", by="human:kim")
    shown(ledger.store)
    return ledger.store.end()


def is_done(ledger: Ledger, target: int) -> bool:
    """Tell whether a runner that may not work, as another does, holds all up to a place for handled."""
    edge = edge_of(ledger)
    return Work(ONE, edge, Reader(edge), manner_of(None, 10, 10**6, 30.0)).is_done(target)


# Where the cursor says that it has seen all, beyond the end of this ledger, and by which record.
SAID = {
    "another record": (0, OTHER),
    "a record that is gone": (5 << 20, OTHER),
    "a record that was not shown": (0, None),
    "a record that was not shown and is gone": (5 << 20, None),
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_it_counts_only_up_to_the_record_it_handled_last(
    ledger: Ledger, said: tuple[int, bytes | None]
) -> None:
    end = extended(ledger)
    let_say(ledger, end + said[0], said[1])
    mark = stored(ledger).reached.gid
    assert mark < end <= stored(ledger).reached.position
    answer = ask(ledger, "timeline", run="run", catch_up=False)
    assert (answer.as_of, len(answer.rows)) == (mark, 1)
    one = standing(ledger, ONE)
    assert (one.state, one.position, one.lag_events) == ("active", mark, 4)
    assert not wait_for(ledger, ONE, timeout=0)
    assert wait_for(ledger, ONE, mark, timeout=0)
    assert not is_done(ledger, end)
    # Its rows are right as far as it goes.
    assert [(found.state, found.events) for found in check(ledger, [ONE])] == [("same", 1)]
    # A question that may run it goes on from there.
    answer = ask(ledger, "timeline", run="run")
    assert (answer.as_of, len(answer.rows)) == (end, 5)
    assert is_done(ledger, end)
    assert kept(ledger, ONE) == naive(ledger, ONE)


def test_it_keeps_no_build_from_being_served(ledger: Ledger) -> None:
    end = extended(ledger)
    let_say(ledger, end + (5 << 20), OTHER)
    rebuild(ledger, [ONE])
    assert standing(ledger, ONE).slot == 1
    assert kept(ledger, ONE) == naive(ledger, ONE)


def test_past_records_of_others_that_are_what_they_were_it_counts(
    ledger: Ledger, open_on: OpenLedger
) -> None:
    ledger.open_run("run", "goal")
    for number in range(3):
        open_on("others").open_run(f"run-{number}", "goal")
    catch_up(ledger, ONE)
    end, fence = ledger.store.end(), stored(ledger).fence
    assert stored(ledger).reached.gid < end == stored(ledger).reached.seen
    for seen_hash in (stored(ledger).reached.seen_hash, None):
        # Also by a login that is not shown the record, or was not when the cursor was stored.
        let_say(ledger, end, seen_hash)
        fence += 1
        found = find_counted(edge_of(ledger), ONE.model)
        assert found is not None
        assert found.reached.position == end
        assert wait_for(ledger, ONE, timeout=0)
        assert standing(ledger, ONE).position == end
        assert ask(ledger, "timeline", run="run", catch_up=False).as_of == end
        assert ask(ledger, "timeline", run="run").as_of == end
        # Nothing was left to do.
        assert stored(ledger).fence == fence
