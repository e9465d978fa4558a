"""Taking authority back beside children that are opened, act and are restarted: nothing of it is missed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

from ledger import Ledger, Run
from ledger.commands import Carve
from ledger.errors import AuthorityExceeded, ChainBroken, NotOpen, StoreBusy, StoreUnavailable
from tests.application.faulty import Interrupt
from tests.effects.hooked import CLAIM
from tests.scenarios.scene import KIM, PROGRAM, RUN, Scene
from tests.scenarios.test_races_of_lineage import FAULTS, Family

KID, HEIR, LATE = "refund-17/a", "refund-17/b", "refund-17/c"
REVOKED = frozenset({"authority.revoked"})
TEN = {"EUR": Decimal(10)}


def part(amount: int) -> Carve:
    return Carve(id="till", budget={"EUR": Decimal(amount)})


def once(hook: Callable[[], object]) -> Callable[[], object]:
    """Call it the first time only."""
    left = [hook]
    return lambda: left.pop()() if left else None


def granted(scene: Scene) -> Run:
    """Begin a run with a budget, and a child with a part of it."""
    run = scene.begin()
    scene.program(KIM).run(RUN).grant(
        "till", principal=PROGRAM.id, scopes=["pay"], granted_by=KIM.id, budget={"EUR": 100}
    )
    run.open_child(KID, "Pay a part", grants=[part(40)])
    return scene.program().run(KID)


def revoke(ledger: Ledger) -> None:
    ledger.run(RUN, actor=KIM).revoke("till", reason="too much", by=KIM.id)


def narrow(ledger: Ledger) -> None:
    ledger.run(RUN, actor=KIM).narrow("till", as_="less", reason="too much", by=KIM.id, budget=TEN)


def pay(run: Run, scene: Scene, order: int) -> Any:
    return run.perform(scene.till.tool(), {"order": order}, step="pay-17")


def in_force(scene: Scene, run: str) -> list[str]:
    return [grant.id for grant in scene.program().contract(run).grants]


ENDS = pytest.mark.parametrize("end", [revoke, narrow])


@ENDS
def test_a_child_that_is_opened_meanwhile_is_reached(scene: Scene, end: Callable[[Ledger], None]) -> None:
    granted(scene)
    ledger, store = scene.hooked()
    store.before(REVOKED, once(lambda: scene.program().run(RUN).open_child(LATE, "More", grants=[part(20)])))
    end(ledger)
    assert (in_force(scene, KID), in_force(scene, LATE)) == ([], [])
    assert scene.names(LATE)[-1] == "authority.revoked"
    assert scene.is_sound()


def test_a_child_of_a_child_that_is_opened_meanwhile_is_reached(scene: Scene) -> None:
    kid = granted(scene)
    ledger, store = scene.hooked()
    store.before(REVOKED, once(lambda: kid.open_child(LATE, "A part of that", grants=["till"])))
    revoke(ledger)
    assert (in_force(scene, KID), in_force(scene, LATE)) == ([], [])


@ENDS
def test_the_successor_of_a_child_that_is_restarted_meanwhile_is_reached(
    scene: Scene, end: Callable[[Ledger], None]
) -> None:
    granted(scene)
    ledger, store = scene.hooked()
    person = scene.program(KIM)
    store.before(REVOKED, once(lambda: person.restart(KID, as_=HEIR, reason="gone", by=KIM.id)))
    end(ledger)
    assert in_force(scene, HEIR) == []
    assert "authority.revoked" not in scene.names(KID)
    with pytest.raises(AuthorityExceeded):
        pay(scene.program().run(HEIR), scene, 17)


def test_an_act_of_a_child_that_is_begun_meanwhile_is_the_last_one(scene: Scene) -> None:
    kid = granted(scene)
    ledger, store = scene.hooked()
    store.before(REVOKED, once(lambda: pay(kid, scene, 17)))
    revoke(ledger)
    assert pay(kid, scene, 17)
    with pytest.raises(AuthorityExceeded):
        pay(kid, scene, 18)
    assert scene.till.orders == [17]
    assert scene.is_sound()


def test_an_act_of_a_child_that_the_end_overtakes_is_not_begun(scene: Scene) -> None:
    granted(scene)
    ledger, store = scene.hooked()
    store.before(CLAIM, once(lambda: revoke(scene.program(KIM))))
    with pytest.raises(AuthorityExceeded):
        pay(ledger.run(KID), scene, 17)
    assert scene.till.orders == []


def test_a_child_that_closes_meanwhile_gives_back_to_what_is_left_or_to_nobody(scene: Scene) -> None:
    kid = granted(scene)
    ledger, store = scene.hooked()
    store.before(REVOKED, once(lambda: kid.close("failed", reason="no need")))
    ledger.run(RUN, actor=KIM).narrow("till", as_="less", reason="too much", by=KIM.id)
    (grant,) = scene.program().contract(RUN).grants
    assert grant.budget == {"EUR": Decimal(100)}  # it was back when the narrowing was decided again


def test_a_right_that_is_revoked_in_the_parent_while_its_child_works_ends_its_work(scene: Scene) -> None:
    """Each act asks for its authority when it begins, in the middle of a plan too."""
    kid = granted(scene)
    kid.commit_plan([f"pay-{number}" for number in range(1, 6)])
    for number in (1, 2):
        kid.perform(scene.till.tool(), {"order": number}, step=f"pay-{number}")
    revoke(scene.program(KIM))
    for number in (3, 4, 5):
        with pytest.raises(AuthorityExceeded):
            kid.perform(scene.till.tool(), {"order": number}, step=f"pay-{number}")
    assert scene.till.orders == [1, 2]
    assert scene.names(KID).count("effect.refused") == 3


@ENDS
def test_a_child_that_cannot_be_read_stands_in_nobodys_way_and_is_owed(
    scene: Scene, end: Callable[[Ledger], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    granted(scene)
    scene.program().run(RUN).open_child(LATE, "More", grants=[part(20)])
    ledger, store = scene.hooked()
    load = getattr(store, "load")  # noqa: B009

    def broken(tenant: str, stream: str, *args: Any, **options: Any) -> Any:
        if stream == KID:
            raise ChainBroken("it is not what was written", run=KID, position=2)
        return load(tenant, stream, *args, **options)

    monkeypatch.setattr(store, "load", broken, raising=False)
    end(ledger)
    contract = scene.program().contract(RUN)
    assert "till" not in [grant.id for grant in contract.grants]
    assert in_force(scene, LATE) == []
    (owed,) = [one for one in contract.obligations if one.id == f"not-reached:{KID}"]
    assert owed.owed_to == KIM.id
    assert "chain_broken" in owed.text
    with pytest.raises(NotOpen):
        ledger.run(RUN, actor=KIM).revoke("till", reason="too much", by=KIM.id)


def test_records_that_cannot_be_read_hide_no_others(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    kid = granted(scene)
    kid.open_child(LATE, "A part of that", grants=["till"])
    ledger, store = scene.hooked()
    read = getattr(store, "read")  # noqa: B009

    def broken(tenant: str, stream: str, *args: Any, **options: Any) -> Any:
        rows = read(tenant, stream, *args, **options)
        if stream != KID:
            return rows
        opened = rows[0]._replace(record=rows[0].record.replace(b"Pay a part", b"Pay a lot!"))
        return [opened, *rows[1:]]

    monkeypatch.setattr(store, "read", broken, raising=False)
    revoke(ledger)
    assert (in_force(scene, KID), in_force(scene, LATE)) == ([], [])
    owed = [one.id for one in scene.program().contract(RUN).obligations]
    assert f"not-reached:{KID}" in owed


def test_a_store_that_cannot_be_asked_is_no_child_that_cannot_be_read(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    granted(scene)
    ledger, store = scene.hooked()
    run = ledger.run(RUN, actor=KIM)
    load = getattr(store, "load")  # noqa: B009

    def away(tenant: str, stream: str, *args: Any, **options: Any) -> Any:
        if stream == KID:
            raise StoreUnavailable("the store is away")
        return load(tenant, stream, *args, **options)

    monkeypatch.setattr(store, "load", away, raising=False)
    with pytest.raises(StoreUnavailable):
        run.revoke("till", reason="too much", by=KIM.id)
    assert (in_force(scene, RUN), in_force(scene, KID)) == (["till"], ["till"])


# --- the store fails ---------------------------------------------------------------------------------


@pytest.mark.parametrize("again", ["the same program", "another program"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_narrowing_is_stored_in_all_runs_or_in_none(fault: str, again: str) -> None:
    family = Family()
    first = family.program()
    first.run(RUN, actor=KIM).grant(
        "till", principal=PROGRAM.id, scopes=["pay"], granted_by=KIM.id, budget={"EUR": 100}
    )
    first.run(RUN).open_child(LATE, "Pay a part", grants=[part(40)])
    family.store.faults = [fault]
    with suppress(StoreUnavailable, StoreBusy, Interrupt):
        narrow(first)
    stored = family.names(RUN).count("authority.revoked"), family.names(LATE).count("authority.revoked")
    assert stored in ((0, 0), (1, 1))
    narrow(first if again == "the same program" else family.program())
    family.store.land()
    for run in (RUN, LATE):
        assert family.names(run).count("authority.revoked") == 1
    assert [grant.id for grant in family.program().contract(RUN).grants] == ["less"]
