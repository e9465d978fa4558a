"""Expiry: contents go by class and age, what names them stays, and an event says so before they do."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import Actor, Ledger
from ledger.adapters.cli.words import event_words
from ledger.application.edge import Edge
from ledger.application.expired import ExpiredContent
from ledger.application.expiring import BATCH, Tally, expire, finish
from ledger.application.exporting import export
from ledger.application.importing_runs import Imported, import_runs
from ledger.application.ledger import edge_of
from ledger.application.own_stream import STREAM, say
from ledger.application.reading import records_of
from ledger.application.verifying import verify
from ledger.errors import HasExpired, InvalidInput, NotForAgents, NotFound, RunNotFound, StoreUnavailable
from ledger.events import ContentExpired, EffectIntended
from ledger.integrity.findings import Standing
from ledger.stores.base import Blob, BlobPlace, FullStore
from ledger.stores.memory import MemoryStore
from ledger.stores.postgres.store import PostgresStore
from ledger.testing import Clock
from tests.servers.cluster import Cluster
from tests.stores.builder import shown
from tests.stores.conftest import KINDS
from tests.stores.secured import secured

LARGE = "x" * 20_000
DAY = timedelta(days=1)
KIM: dict[str, Any] = {"by": "human:kim", "reason": "kept for a month"}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Ledger]:
    with opened(KINDS[request.param](tmp_path), clock) as ledger:
        yield ledger


def opened(store: FullStore, clock: Clock) -> Ledger:
    return Ledger(Edge(store, "default", Actor("service:tests"), clock, pause=lambda attempt: None))


def charge(amount: str) -> dict[str, str]:
    return {"paid": amount, "receipt": LARGE}


def fill(ledger: Ledger, run: str, *, words: str = "hello") -> None:
    """Open a run with two messages and an act whose result is large."""
    one = ledger.open_run(run, "goal")
    one.record_message("m-1", "user", f"{words} from {run}")
    one.record_message("m-2", "system", "be kind")
    one.perform("charge", {"amount": "10"}, charge)


def key_of(ledger: Ledger, run: str) -> str:
    events = (record.event for record in ledger.log(run))
    return next(event.key for event in events if isinstance(event, EffectIntended))


def digest(content: str) -> bytes:
    return sha256(f'"{content}"'.encode()).digest()


def kept(ledger: Ledger) -> list[str]:
    return sorted(row.kind for row in ledger.store.list_blobs("default"))


def said(ledger: Ledger) -> list[ContentExpired]:
    records = records_of(edge_of(ledger), STREAM)
    return [record.event for record in records if isinstance(record.event, ContentExpired)]


# --- what goes and what stays --------------------------------------------------------------------------


def test_contents_go_by_class_and_age_and_everything_else_stays(ledger: Ledger, clock: Clock) -> None:
    fill(ledger, "old")
    clock.tick(40 * 86_400)
    fill(ledger, "new")
    before = ledger.contract("old"), ledger.contract("new")
    found = expire(ledger, classes=["message"], older_than=30 * DAY, **KIM)
    # "be kind" is named by the new run as well, and is as young as that.
    size = len('"hello from old"')
    assert (found.classes, found.kept, found.left) == ({"message": Tally(1, size)}, 2, {})
    assert (found.young, found.shared, found.wanted) == (2, 0, 0)
    assert kept(ledger) == ["message", "message", "result"]
    (event,) = said(ledger)
    assert event.digests == (digest("hello from old").hex(),)
    assert (event.by, event.classes, event.cutoff, event.run) == (
        "human:kim",
        ("message",),
        clock() - 30 * DAY,
        None,
    )
    assert (ledger.contract("old"), ledger.contract("new")) == before
    report = verify(ledger)
    assert (report.standing, report.expired_blobs, report.missing_blobs) == (Standing.SOUND, 1, 0)
    assert expire(ledger, classes=["message"], older_than=30 * DAY, **KIM).total == Tally()
    assert len(said(ledger)) == 1


def test_a_dry_run_says_the_same_and_changes_nothing(ledger: Ledger, clock: Clock) -> None:
    fill(ledger, "old")
    clock.tick(86_400)
    before = kept(ledger), ledger.store.end(newest=True)
    told = expire(ledger, older_than=timedelta(hours=1), dry_run=True, **KIM)
    assert (kept(ledger), ledger.store.end(newest=True)) == before
    done = expire(ledger, older_than=timedelta(hours=1), **KIM)
    assert told.classes == done.classes
    assert told.total.contents == 3
    assert kept(ledger) == []


def test_of_one_run_goes_what_no_other_names(ledger: Ledger, clock: Clock) -> None:
    fill(ledger, "one")
    fill(ledger, "two")
    clock.tick(3600)
    found = expire(ledger, run="one", **KIM)
    # Both runs name "be kind", and the same result.
    assert {kind: one.contents for kind, one in found.classes.items()} == {"message": 1}
    assert (found.young, found.shared, found.wanted) == (0, 2, 0)
    assert [event.run for event in said(ledger)] == ["one"]
    assert ledger.blob(digest("hello from two").hex()) == b'"hello from two"'
    with pytest.raises(HasExpired):
        ledger.blob(digest("hello from one").hex())


def test_content_that_somebody_wants_for_longer_stays(ledger: Ledger, clock: Clock) -> None:
    from ledger.application.payloads import pack_content
    from ledger.events import MessageRecorded, RunOpened

    packed = pack_content(b'"kept"', "message")
    until = "2100-01-01T00:00:00.000000Z"
    events = [RunOpened(goal="g"), MessageRecorded(content=packed.payload, id="m", role="user")]
    ledger.import_events("r", events, expected=0, blobs=[packed.blobs[0]._replace(expires_at=until)])
    clock.tick(3600)
    assert expire(ledger, classes=["message"], **KIM).wanted == 1
    assert kept(ledger) == ["message"]


def test_a_content_that_is_told_again_is_there_again(ledger: Ledger, clock: Clock) -> None:
    run = ledger.open_run("r", "goal")
    run.record_message("m-1", "user", "again")
    clock.tick(3600)
    expire(ledger, classes=["message"], **KIM)
    run.record_message("m-2", "user", "again")
    assert [content for _, content in ledger.run("r").load().messages] == ["again", "again"]
    assert verify(ledger).standing is Standing.SOUND
    # Taken away now, it is missing to the record that was written after the event.
    places = [row.place for row in ledger.store.list_blobs("default")]
    ledger.store.drop_blobs("default", places, since=ledger.store.end(newest=True), but="")
    report = verify(ledger, "r")
    assert (report.standing, report.missing_blobs) == (Standing.UNSUPPORTED, 1)


def test_many_are_explained_in_events_that_are_bounded(clock: Clock) -> None:
    with opened(KINDS["memory"](Path()), clock) as ledger:
        run = ledger.open_run("r", "goal")
        for number in range(BATCH + 20):
            run.record_message(f"m-{number}", "user", f"message {number}")
        clock.tick(3600)
        told: list[Any] = []
        found = expire(ledger, classes=["message"], progress=told.append, **KIM)
        assert found.total.contents == BATCH + 20
        assert (found.events, len(said(ledger))) == (17, 17)
        assert sum(len(event.digests) for event in said(ledger)) == BATCH + 20
        assert all(name[0] == event.prefix for event in said(ledger) for name in event.digests)
        assert told[-1] == (BATCH + 20, BATCH + 20)
        assert verify(ledger).expired_blobs == BATCH + 20


# --- what is read afterwards ---------------------------------------------------------------------------


def test_what_is_read_says_when_it_went_and_who_decided_it(ledger: Ledger, clock: Clock) -> None:
    fill(ledger, "r")
    clock.tick(3600)
    expire(ledger, run="r", **KIM)
    with pytest.raises(HasExpired) as gone:
        ledger.blob(digest("hello from r").hex())
    assert (gone.value.by, gone.value.reason, gone.value.position) == ("human:kim", "kept for a month", 2)
    _, content = ledger.run("r").load().messages[0]
    assert isinstance(content, ExpiredContent)
    assert (content.by, content.at, content.digest) == ("human:kim", clock(), digest("hello from r").hex())
    record = next(record for record in ledger.log("r") if record.name == "message.recorded")
    words = event_words(record.event, {content.digest: content}, brief=False)
    assert "by human:kim: 'kept for a month'" in words.line
    with pytest.raises(NotFound) as unknown:
        ledger.blob("0" * 64)
    assert not isinstance(unknown.value, HasExpired)


def test_an_act_whose_result_has_expired_is_not_done_again(ledger: Ledger, clock: Clock) -> None:
    fill(ledger, "r")
    clock.tick(3600)
    expire(ledger, classes=["result"], **KIM)

    def never(amount: str) -> None:
        raise AssertionError("it was done already")

    with pytest.raises(HasExpired):
        ledger.run("r").perform("charge", {"amount": "10"}, never)
    history = ledger.effect(key_of(ledger, "r"))
    assert (history.status, history.attempt) == ("succeeded", 1)


# --- who may, and how --------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [{"actor": Actor("agent:a")}, {"by": "agent:a"}])
def test_agents_drop_nothing(who: dict[str, Any], clock: Clock) -> None:
    with opened(KINDS["memory"](Path()), clock) as ledger:
        fill(ledger, "r")
        with pytest.raises(NotForAgents):
            expire(ledger, run="r", **{**KIM, **who})
        assert said(ledger) == []


def test_what_is_malformed_is_refused(clock: Clock) -> None:
    with opened(KINDS["memory"](Path()), clock) as ledger:
        for asked in (
            {},
            {"older_than": -DAY},
            {"classes": [""]},
            {"classes": ["mesage"]},
            {"run": "r", "now": clock().replace(tzinfo=None)},
        ):
            with pytest.raises(InvalidInput):
                expire(ledger, **KIM, **asked)
        with pytest.raises(RunNotFound):
            expire(ledger, run="nobody", **KIM)


def test_what_was_cut_short_is_finished_where_that_is_asked_for(ledger: Ledger, clock: Clock) -> None:
    fill(ledger, "r")
    clock.tick(3600)
    store: Any = ledger.store
    drop = store.drop_blobs
    calls: list[Any] = []

    def fail(tenant: str, places: list[BlobPlace], **options: Any) -> list[BlobPlace]:
        calls.append(places)
        if places:
            raise StoreUnavailable("away", reason="connection_lost")
        return []

    store.drop_blobs = fail
    with pytest.raises(StoreUnavailable):
        expire(ledger, classes=["message"], **KIM)
    store.drop_blobs = drop
    events = said(ledger)
    assert (len(kept(ledger)), sum(len(event.digests) for event in events)) == (3, 2)
    # What is there is shown, whatever was said of it.
    assert ledger.blob(digest("hello from r").hex()) == b'"hello from r"'
    clock.tick(3600)
    size = len('"hello from r"') + len('"be kind"')
    for dry_run in (True, False):
        # What nobody asked for stays, and is told.
        found = expire(ledger, older_than=365 * DAY, dry_run=dry_run, **KIM)
        assert (found.total, found.events, found.left) == (Tally(), 0, {"message": Tally(2, size)})
        assert (len(kept(ledger)), verify(ledger).unfinished_blobs) == (3, 2)
    # A dry run counts what would go once.
    assert expire(ledger, classes=["message"], dry_run=True, **KIM).left == {}
    with pytest.raises(NotForAgents):
        finish(ledger, actor=Actor("agent:a"))
    told = finish(ledger, dry_run=True)
    assert (told.classes, len(kept(ledger))) == ({"message": Tally(2, size)}, 3)
    found = finish(ledger)
    assert (found.classes, found.events, found.cutoff) == (told.classes, 0, None)
    assert (kept(ledger), said(ledger)) == (["result"], events)
    assert verify(ledger).unfinished_blobs == 0
    assert finish(ledger).total == Tally()


def test_finishing_spares_another_class_and_what_is_wanted_for_longer(clock: Clock) -> None:
    from ledger.application.payloads import pack_content
    from ledger.events import MessageRecorded, RunOpened

    packed = [pack_content(f'"{words}"'.encode(), "message") for words in ("one", "two")]
    one, two = (each.blobs[0] for each in packed)
    said = [MessageRecorded(content=each.payload, id=f"m-{n}", role="user") for n, each in enumerate(packed)]
    with opened(MemoryStore(), clock) as ledger:
        wanted = two._replace(expires_at="2100-01-01T00:00:00.000000Z")
        blobs = [one, one._replace(kind="evidence"), wanted]
        ledger.import_events("r", [RunOpened(goal="g"), *said], expected=0, blobs=blobs)
        clock.tick(3600)
        say(edge_of(ledger), ledger.actor, tombstones_of(blobs, clock()))
        assert verify(ledger).unfinished_blobs == 1
        assert finish(ledger).classes == {"message": Tally(1, len('"one"'))}
        assert [row.place for row in ledger.store.list_blobs("default")] == sorted(
            (BlobPlace(one.digest, "evidence"), BlobPlace(two.digest, "message"))
        )


def tombstones_of(blobs: list[Blob], cutoff: datetime) -> list[ContentExpired]:
    """Say of messages that they were dropped, as an expiry does before it drops them."""
    names = {blob.digest.hex() for blob in blobs}
    return [
        ContentExpired(**KIM, classes=("message",), cutoff=cutoff, digests=(name,), prefix=name[0])
        for name in names
    ]


def test_what_another_ledger_dropped_comes_in_as_events_and_goes_where_that_is_asked_for(
    ledger: Ledger, clock: Clock
) -> None:
    def take_over(origin: Ledger) -> Imported:
        file = io.BytesIO()
        export(origin, file.write)
        file.seek(0)
        return import_runs(ledger, file)

    with opened(MemoryStore(), clock) as origin:
        fill(origin, "r")
        assert take_over(origin).unfinished == 0
        clock.tick(3600)
        expire(origin, classes=["message"], **KIM)
        done = take_over(origin)
    assert (done.missing, done.dropped, done.unfinished) == (2, 2, 2)
    assert (len(kept(ledger)), verify(ledger).unfinished_blobs) == (3, 2)
    # One of them is told again here: it is kept by that.
    clock.tick(3600)
    ledger.run("r").record_message("m-3", "user", "be kind")
    for dry_run in (True, False):
        found = expire(ledger, classes=["evidence"], dry_run=dry_run, **KIM)
        assert (found.total, {kind: one.contents for kind, one in found.left.items()}) == (
            Tally(),
            {"message": 1},
        )
    assert finish(ledger).total.contents == 1
    assert kept(ledger) == ["message", "result"]
    report = verify(ledger)
    assert (report.standing, report.expired_blobs, report.unfinished_blobs) == (Standing.SOUND, 1, 0)


def test_of_one_run_that_another_ledger_dropped_stays_what_another_names_here(clock: Clock) -> None:
    with opened(MemoryStore(), clock) as here, opened(MemoryStore(), clock) as origin:
        fill(origin, "one")
        fill(here, "two")
        clock.tick(3600)
        expire(origin, run="one", **KIM)
        file = io.BytesIO()
        export(origin, file.write)
        file.seek(0)
        # "be kind" and the same result are named by "two" as well, and older than the cutoff.
        assert import_runs(here, file).unfinished == 0
        assert finish(here).total == Tally()


def test_a_content_that_is_named_meanwhile_stays(ledger: Ledger, clock: Clock) -> None:
    fill(ledger, "r")
    clock.tick(3600)
    store: Any = ledger.store
    drop = store.drop_blobs

    def late(tenant: str, places: list[BlobPlace], **options: Any) -> Any:
        if places:
            ledger.run("r").record_message("m-3", "user", "hello from r")
        return drop(tenant, places, **options)

    store.drop_blobs = late
    found = expire(ledger, classes=["message"], **KIM)
    assert found.total.contents == 1
    assert ledger.blob(digest("hello from r").hex()) == b'"hello from r"'
    assert verify(ledger).standing is Standing.SOUND


def test_on_postgresql_only_who_owns_the_ledger_may_delete(postgres: Cluster, clock: Clock) -> None:
    place = secured(postgres)
    with opened(PostgresStore(place.writer()), clock) as ledger:
        fill(ledger, "r")
        clock.tick(3600)
        with pytest.raises(StoreUnavailable) as refused:
            expire(ledger, run="r", **KIM)
        assert refused.value.data["reason"] == "no_privilege"
        with pytest.raises(StoreUnavailable):
            finish(ledger)
        assert (said(ledger), len(kept(ledger))) == ([], 3)
    with closing(PostgresStore(place.migrator)) as store:
        owner = opened(store, clock)
        assert expire(owner, run="r", **KIM).total.contents == 3
        assert verify(owner, "r").standing is Standing.SOUND
        shown(store)


# --- laws --------------------------------------------------------------------------------------------

WORDS = ("one", "two", "three")
STEP = st.one_of(
    st.tuples(st.just("say"), st.sampled_from("ab"), st.sampled_from(WORDS)),
    st.tuples(st.just("wait"), st.integers(1, 5), st.none()),
    st.tuples(st.just("expire"), st.sampled_from(["a", "b", None]), st.integers(0, 5)),
)


@settings(max_examples=25)
@given(st.lists(STEP, max_size=25))
def test_a_content_is_here_as_long_as_a_young_record_names_it(steps: list[tuple[str, Any, Any]]) -> None:
    clock = Clock()
    named: dict[str, list[tuple[str, datetime]]] = {word: [] for word in WORDS}
    here: set[str] = set()
    with opened(MemoryStore(), clock) as ledger:
        for run in "ab":
            ledger.open_run(run, "goal")
        for number, (what, which, more) in enumerate(steps):
            if what == "wait":
                clock.tick(3600 * which)
            elif what == "say":
                ledger.run(which).record_message(f"m-{number}", "user", more)
                named[more].append((which, clock()))
                here.add(more)
            else:
                age = timedelta(hours=more)
                expire(ledger, run=which, older_than=age, **KIM)
                for word in tuple(here):
                    runs = {run for run, _ in named[word]}
                    old = all(at < clock() - age for _, at in named[word])
                    if old and (which is None or runs == {which}):
                        here.remove(word)
        for word in WORDS:
            if word in here:
                assert ledger.blob(digest(word).hex()) == f'"{word}"'.encode()
            else:
                with pytest.raises(HasExpired if named[word] else NotFound):
                    ledger.blob(digest(word).hex())
        assert verify(ledger).standing is Standing.SOUND
