"""Commands on a ledger on PostgreSQL."""

from __future__ import annotations

import secrets
from pathlib import Path

import psycopg

from ledger import open_ledger
from tests.adapters.cli.acts import MAIL, ORDER, REFUNDS, begin_now, make_acts
from tests.adapters.cli.command import Answer, run
from tests.adapters.cli.conftest import Call
from tests.adapters.cli.waits import make as make_waits
from tests.servers.cluster import Cluster
from tests.servers.proxy import Proxy
from tests.stores.builder import shown
from tests.stores.secured import secured


def test_a_ledger_is_made_migrated_and_read(call: Call, postgres: Cluster, fresh_database: str) -> None:
    answer = call("runs", "--ledger", fresh_database, "--json")
    assert (answer.code, answer.error["data"]["reason"]) == (3, "empty")
    assert "intent-ledger migrate" in answer.error["message"]
    document = call("migrate", "--ledger", fresh_database, "--json").document
    assert (document["before"], document["after"] > 0) == (0, True)
    again = call("migrate", "--ledger", fresh_database)
    assert "up to date" in again.out
    assert call("runs", "--ledger", fresh_database).code == 0
    assert postgres.password not in again.out + document["url"]


def test_effects_are_listed_asked_about_and_settled(fresh_database: str, shop: Path) -> None:
    make_acts(fresh_database)
    executing = begin_now(fresh_database)

    def ask(*arguments: str) -> Answer:
        return run(*arguments, "--json", cwd=shop.parent, INTENT_LEDGER_URL=fresh_database)

    listed = ask("effects").document["effects"]
    assert [one["key"] for one in listed] == [*REFUNDS, MAIL, ORDER, executing]
    assert [one["status"] for one in listed] == ["unknown"] * 5 + ["executing"]
    asked = ask("reconcile", "--tools", shop.stem)
    assert (asked.code, asked.document["in_doubt"]) == (2, 3), asked.err
    assert [answer["found"] for answer in asked.document["answers"]] == [
        "happened",
        "did_not_happen",
        "unknown",
        *["not_asked"] * 3,
    ]
    said = ("--evidence", "asked by telephone", "--by", "human:kim")
    assert ask("settle", MAIL[:12], "--happened", *said).code == 0
    early = ask("settle", executing, "--did-not", *said)
    assert (early.code, early.document["came_to"]) == (2, "not_yet")
    page = ask("effects", "refund-17", "--all", "--limit", "3").document
    assert [one["status"] for one in page["effects"]] == ["succeeded", "did_not_happen", "unknown"]
    assert ask("effect", MAIL).document["events"][-1]["name"] == "effect.reconciled"
    assert [row["tool"] for row in ask("tools").document["tools"]] == [
        "order",
        "refund",
        "ship",
    ]


def test_roles_are_created_once(call: Call, fresh_database: str) -> None:
    name = f"shop_{secrets.token_hex(6)}"
    first = call("migrate", "--ledger", fresh_database, "--roles", name, "--json").document
    assert first["created_roles"] == [
        f"{name}_{kind}" for kind in ("owner", "writer", "reader", "every_tenant")
    ]
    again = call("migrate", "--ledger", fresh_database, "--roles", name)
    assert "all roles are there" in again.out
    assert call("doctor", "--ledger", fresh_database).code == 0


def test_roles_that_cannot_be_are_refused(
    call: Call, good: Path, fresh_database: str, postgres: Cluster
) -> None:
    assert call("migrate", "--ledger", good, "--roles", "shop").code == 64
    assert call("migrate", "--ledger", fresh_database, "--roles", "x" * 60).code == 64
    place = secured(postgres)
    other = call("migrate", "--ledger", place.migrator, "--roles", "shop", "--json")
    assert (other.code, place.roles.owner in other.error["message"]) == (64, True)
    same = place.roles.owner.removesuffix("_owner")
    without_the_right = call("migrate", "--ledger", place.writer(), "--roles", same, "--json")
    assert (without_the_right.code, without_the_right.error["data"]["reason"]) == (3, "no_privilege")


def test_a_tenant_of_others_is_not_listed_as_empty(call: Call, postgres: Cluster) -> None:
    place = secured(postgres)
    login = place.login(place.roles.writer, tenant="acme-corp")
    for command in (("runs",), ("contract", "r"), ("log", "r")):
        answer = call(*command, "--ledger", login, "--json")
        assert (answer.code, answer.out, answer.error["data"]["reason"]) == (3, "", "no_tenant")
    assert call("runs", "--ledger", login, "--tenant", "acme-corp").code == 0


def test_roles_named_like_the_servers_own_are_refused(call: Call, fresh_database: str) -> None:
    for name in ("Bad Name;", "pg"):
        assert call("migrate", "--ledger", fresh_database, "--roles", name, "--json").code == 64


def test_doctor_exits_with_1_where_something_is_bad(call: Call, postgres: Cluster) -> None:
    place = secured(postgres)
    assert call("doctor", "--ledger", place.writer()).code == 0
    answer = call("doctor", "--ledger", place.login(place.roles.writer), "--json")
    assert (answer.code, answer.document["fine"]) == (1, False)
    assert "url" in answer.document


def test_a_gap_that_a_writer_forced_in_is_found(call: Call, postgres: Cluster) -> None:
    writer = secured(postgres).writer()
    with open_ledger(writer) as ledger:
        ledger.open_run("r", "g")
    assert call("verify", "--all", "--ledger", writer).code == 0
    with psycopg.connect(writer) as connection:
        connection.execute(
            "INSERT INTO intent_ledger.events (gid, position, tenant, run, hash, record) "
            "SELECT (epoch + pg_current_xact_id()::text::bigint) << 20, 7, 'default', 'r', '', '' "
            "FROM intent_ledger.epoch"
        )
    answer = call("verify", "--all", "--ledger", writer)
    assert (answer.code, "positions 2 to 6 are missing" in answer.out) == (1, True)


def test_verify_says_with_its_exit_code_what_it_found(call: Call, postgres: Cluster) -> None:
    place = secured(postgres)
    with open_ledger(place.writer()) as ledger:
        ledger.open_run("r", "g").move("n")
    auditor = place.reader()
    answer = call("verify", "--all", "--ledger", auditor, "--json")
    assert (answer.code, answer.document["standing"], answer.document["unguarded"]) == (0, "sound", [])
    one_tenant = place.login(place.roles.reader, tenant="default")
    answer = call("verify", "--all", "--ledger", one_tenant, "--json")
    assert (answer.code, answer.document["standing"]) == (2, "unsupported")
    assert "every tenant" in call("verify", "--all", "--ledger", one_tenant).out
    with psycopg.connect(place.url) as connection:
        connection.execute("DROP TRIGGER events_refuse_change ON intent_ledger.events")
    answer = call("verify", "--all", "--ledger", auditor)
    assert (answer.code, "UNGUARDED: missing or changed: trigger events_refuse_change" in answer.out) == (
        0,
        True,
    )
    with psycopg.connect(place.url) as connection:
        connection.execute("UPDATE intent_ledger.events SET record = record || '\\x20' WHERE position = 2")
    answer = call("verify", "--all", "--ledger", auditor, "--json")
    assert (answer.code, answer.document["broken"][0]["first_broken"]) == (1, 2)
    assert answer.document["unguarded"] == ["trigger events_refuse_change"]


def test_verify_where_the_server_is_away_could_not_run(call: Call, proxy: Proxy, fresh_database: str) -> None:
    open_ledger(fresh_database).close()
    server, database = fresh_database.rpartition(":")[0], fresh_database.rpartition("/")[2]
    url = f"{server}:{proxy.port}/{database}"
    assert call("verify", "--all", "--ledger", url).code == 2
    with proxy.refusing():
        answer = call("verify", "--all", "--ledger", url, "--json")
    assert (answer.code, answer.error["data"]["reason"]) == (3, "unreachable")


def test_a_reader_is_answered_from_what_others_keep(call: Call, postgres: Cluster) -> None:
    place = secured(postgres)
    writer, reader = place.writer(), place.reader()
    with open_ledger(writer) as ledger:
        ledger.open_run("r", "g").promise("mail", "Mail", owed_to="customer:17")
        shown(ledger.store)
    asked = (("obligations",), ("ask", "writers", "run=r"), ("runs", "--kept"))
    for command in asked:
        nothing = call(*command, "--ledger", reader, "--json")
        assert (nothing.code, nothing.error["code"]) == (3, "projection_behind"), nothing
    call("project", "create", "--ledger", place.migrator)
    for command in asked:
        told = call(*command, "--ledger", writer, "--json")
        read = call(*command, "--ledger", reader, "--json")
        assert (told.code, read.code) == (0, 0), (told, read)
        first, second = told.document, read.document
        assert {**first, "now": None} == {**second, "now": None}
    with open_ledger(writer) as ledger:
        ledger.run("r").promise("call", "Call", owed_to="customer:17")
        shown(ledger.store)
    behind = call("ask", "writers", "run=r", "--ledger", reader, "--json")
    assert (behind.code, behind.error["code"]) == (3, "projection_behind")
    as_is = call("ask", "writers", "run=r", "--as-is", "--ledger", reader, "--json").document
    assert [row["last_position"] for row in as_is["rows"]] == [2]


def test_what_waits_is_told_shown_and_answered(call: Call, fresh_database: str) -> None:
    made = make_waits(fresh_database)
    where = ("--ledger", fresh_database, "--json")
    assert call("notify", "--command", "true", "--until-current", *where).document["told"] == 1
    assert [one["id"] for one in call("approvals", *where).document["approvals"]] == [made.waiting]
    answer = call("approve", made.waiting[:8], "--by", "human:kim", *where)
    assert (answer.code, answer.document["came_to"]) == (0, "counted")
    shown = call("approval", made.waiting, "--ledger", fresh_database).out
    assert shown.startswith("pay of shop: approved by human:kim\n")
    told = call("notify", "--command", "true", "--until-current", *where).document
    assert (told["told"], told["passed_over"], told["whole"]) == (0, 0, True)
