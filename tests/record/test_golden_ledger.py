"""The ledger that the program of format 1 left is opened, verified, followed and folded by this one."""

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger, open_ledger
from ledger.application.verifying import verify
from ledger.codec import reencode
from ledger.integrity.findings import Standing
from ledger.stores.sqlite_schema import supported_version
from tests.record.golden_file import FILE
from tests.record.golden_ledger import CONTRACTS, LEDGER, lines, rebuild
from tests.record.test_golden import FIRST_LINES

EXPECTED: dict[str, Any] = json.loads(CONTRACTS.read_text(encoding="utf-8"))
ROWS = [
    found["row"]
    for found in map(json.loads, LEDGER.read_text(encoding="utf-8").splitlines())
    if found.get("table") == "events"
]
TENANTS = ["default", "acme – Zürich"]

PINNED = {
    LEDGER: "80ad552f81a520fbb925cfda3fbcee9b6fa739fdfa40455b686ebe0d17135cb2",
    CONTRACTS: "153fcfa2fe46177723fd74b67360284f6de5fba82964373212ed59f4794d004d",
}

Opened = Callable[..., Ledger]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Put the file together as that program left it."""
    path = tmp_path / "golden.db"
    rebuild(LEDGER, path)
    return path


@pytest.fixture
def opened(path: Path) -> Iterator[Opened]:
    """Open it with this program, years later."""
    ledgers: list[Ledger] = []

    def open_it(tenant: str = "default") -> Ledger:
        ledgers.append(open_ledger(path, tenant=tenant, clock=lambda: datetime(2030, 1, 1, tzinfo=UTC)))
        return ledgers[-1]

    yield open_it
    for ledger in ledgers:
        ledger.close()


def names_of_format_1() -> set[str]:
    first = FILE.read_bytes().splitlines()[:FIRST_LINES]
    return {json.loads(json.loads(line)["record"])["name"] for line in first}


@pytest.mark.parametrize("file", PINNED, ids=lambda path: path.name)
def test_it_is_as_it_was_written(file: Path) -> None:
    assert hashlib.sha256(file.read_bytes()).hexdigest() == PINNED[file]


def test_every_event_of_format_1_is_in_it() -> None:
    records = [json.loads(row["record"]["text"]) for row in ROWS]
    assert {record["name"] for record in records} == names_of_format_1()
    assert {(record["v"], record["version"]) for record in records} == {(1, 1)}


def test_the_file_that_is_put_together_holds_what_the_text_says(path: Path) -> None:
    assert list(lines(path)) == LEDGER.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("tenant", TENANTS)
def test_it_is_opened_brought_to_this_schema_and_found_sound(opened: Opened, tenant: str) -> None:
    ledger = opened(tenant)
    assert ledger.store.describe()["schema"] == supported_version()
    report = verify(ledger)
    assert report.standing is Standing.SOUND, report


def test_it_is_still_sound_where_a_run_goes_on(opened: Opened) -> None:
    ledger = opened()
    before = ledger.contract("order-21").position
    run = ledger.run("order-21")
    run.promise("tell", "Mail the customer", owed_to="customer:21")
    run.observe("stock", 3, tool="count", observed_at=datetime(2029, 1, 1, tzinfo=UTC), args='{"a":1}')
    assert [record.version for record in ledger.log("order-21", after=before)] == [1, 2]
    assert verify(ledger).standing is Standing.SOUND


@pytest.mark.parametrize("tenant", TENANTS)
def test_every_record_is_followed_and_written_again_in_its_bytes(opened: Opened, tenant: str) -> None:
    ledger = opened(tenant)
    mine = [row for row in ROWS if row["tenant"] == tenant]
    records = list(ledger.follow())
    assert [(record.run, record.position, record.hash.hex()) for record in records] == [
        (row["run"], row["position"], row["hash"]["hex"]) for row in mine
    ]
    for record, row in zip(records, mine, strict=True):
        again = reencode(record)
        assert again.record.decode() == row["record"]["text"]
        columns = [None if part is None else {"hex": part.hex()} for part in again[3:6]]
        assert columns == [row["key"], row["act"], row["claim"]]


def test_sources_contents_and_messages_are_read(opened: Opened) -> None:
    ledger = opened()
    policy = ledger.sources()["policy:refunds"]
    assert policy.position == 4
    assert policy.revision == "2"
    loaded = ledger.run("order-17").load()
    assert [message.id for message, _ in loaded.messages][-4:] == ["m-9", "m-10", "m-11", "m-12"]
    seen = [record.event for record in ledger.log("order-17") if record.name == "observation.recorded"]
    digests = [digest for event in seen if (digest := event.model_dump()["value"]["digest"])]
    assert [len(ledger.blob(digest)) for digest in digests] == [80_002]


@pytest.mark.parametrize("kept", [True, False], ids=["with its snapshots", "without"])
@pytest.mark.parametrize("place", EXPECTED)
def test_every_contract_says_what_it_said(opened: Opened, place: str, kept: bool) -> None:
    """Fields may have come since; what that program said of a run this one says too."""
    words = place.split(" ")
    ledger = opened(" ".join(words[:-2]))
    if not kept:
        assert ledger.store.drop_snapshots() == 2
    contract = ledger.contract(words[-2], at=int(words[-1]))
    assert differences(EXPECTED[place], contract.model_dump(mode="json")) == []


def differences(expected: Any, found: Any, path: str = "") -> list[str]:
    """List where what is found is not what was expected; a field that only one of both knows is none."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return [
            line
            for name in expected.keys() & found.keys() - {"format"}
            for line in differences(expected[name], found[name], f"{path}.{name}")
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = zip(expected, found, strict=True)
        return [line for n, (one, two) in enumerate(pairs) for line in differences(one, two, f"{path}[{n}]")]
    return [] if expected == found else [f"{path}: {expected!r} is now {found!r}"]


def test_a_contract_that_says_something_else_is_noticed() -> None:
    """The comparison lets new fields pass; here it is shown to let nothing else pass."""
    said = EXPECTED["default order-17 86"]
    assert differences(said, {**said, "mood": "good", "format": 2}) == []
    assert differences(said, {**said, "incarnation": 2}) == [".incarnation: 1 is now 2"]
    assert differences(said, {**said, "effects": said["effects"][1:]})
    assert differences(said, {**said, "goal": {**said["goal"], "text": "x"}})


def test_leases_that_lapsed_long_ago_are_unknown(opened: Opened) -> None:
    """What time alone changes is told of old effects as of new ones."""
    ledger = opened()
    contract = ledger.contract("order-17")
    assert {effect.status_at(contract.at + timedelta(days=1)) for effect in contract.effects} <= {
        "unknown",
        "disputed",
    }
