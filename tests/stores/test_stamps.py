"""Event ids are fresh, whoever draws them."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor

from ledger.stores.stamps import new_id

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def test_ids_are_of_version_7_and_sort_by_time() -> None:
    ids = [new_id() for _ in range(1000)]
    assert all(UUID7.fullmatch(id) for id in ids)
    stamps = [id[:13] for id in ids]
    assert stamps == sorted(stamps)


def test_threads_never_draw_the_same() -> None:
    with ThreadPoolExecutor(8) as pool:
        drawn = [id for some in pool.map(lambda _: [new_id() for _ in range(700)], range(16)) for id in some]
    # Without the stamp: what is random must differ by itself.
    assert len({id[14:] for id in drawn}) == len(drawn) == 16 * 700


def test_a_forked_child_draws_for_itself() -> None:
    new_id()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, "\n".join(new_id() for _ in range(50)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        theirs = pipe.read().split("\n")
    os.waitpid(child, 0)
    ours = [new_id() for _ in range(50)]
    assert len(theirs) == 50
    assert not {id[14:] for id in theirs} & {id[14:] for id in ours}
