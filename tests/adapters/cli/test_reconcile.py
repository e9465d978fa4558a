"""`reconcile`."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ledger import open_ledger
from ledger.errors import OutcomeUnknown
from tests.adapters.cli.acts import FAILED, LEAK, MAIL, ORDER, REFUNDS, begin_now, refused
from tests.adapters.cli.conftest import Alter, Call, Module
from tests.adapters.cli.ledgers import AGENT

ASYNC = """
import asyncio
from ledger import Happened, tool

loops = []

async def find(key, args):
    loops.append(asyncio.get_running_loop())
    await asyncio.sleep(0)
    assert len(set(loops)) == 1, "all probes share a loop"
    return Happened({"key": key})

@tool(recovery="queryable", probe=find)
async def refund(order: int) -> dict[str, str]: ...
"""

SECRETIVE = """
from ledger import Happened, Secrets, tool
from ledger import SecretRef

kept = Secrets().with_names("pin")

def find(key, args):
    return Happened({"pin": "1234", "order": args["order"]})

@tool(recovery="queryable", probe=find)
def refund(order: int): ...
"""

BOOK = """
from ledger import Outcome, current_effect, tool

@tool(recovery="idempotent", dedupes_for=DEDUPES)
ASYNCdef book(seat: int, times: int = 1):
    print("the hall is asked")
    if seat == 5:
        raise ConnectionError("refused sk_live_abcdefghijklmnopqrstuvwx")
    return Outcome({"seat": seat, "key": current_effect().key}, external_ref=f"seat-{seat}")
"""

BY_HAND = "it can be neither asked nor sent again: a person has to find out, and settle it"


def found(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(answer["effect"]["key"], answer["found"]) for answer in document["answers"]]


def statuses(path: Path) -> list[str]:
    with open_ledger(path) as ledger:
        now = ledger.contract("refund-17").at + timedelta(days=1)
        return [ledger.effect(key).status_at(now) for key in REFUNDS]


def test_each_answer_is_recorded_and_told_the_oldest_first(call: Call, acts: Path, shop: Path) -> None:
    answer = call("reconcile", "--tools", shop, "--ledger", acts)
    assert answer.code == 2, "a probe could not tell"
    lines = [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "NOW", line) for line in answer.out.splitlines()]
    refund = "refund in step pay of run refund-17, key"
    refused = "the probe raised ConnectionError: refused [redacted:stripe-key]"
    assert lines[:3] == [
        f"happened: {refund} {REFUNDS[0]}: probe NOW: charge ch_1 has the key",
        f"did not happen: {refund} {REFUNDS[1]}: probe NOW: no charge has the key",
        f"still unknown: {refund} {REFUNDS[2]}: probe NOW: {refused}",
    ]
    assert lines[3].endswith("'mail' has no probe: a person has to find out, and settle it")
    assert lines[4].endswith(BY_HAND)
    assert lines[5] == "5 effects: 1 happened, 1 did not happen, 1 still unknown, 2 not asked"
    assert statuses(acts) == ["succeeded", "did_not_happen", "unknown"]
    assert LEAK not in answer.out + answer.err
    assert LEAK.encode() not in acts.read_bytes()


def test_writes_one_document_whatever_the_module_prints(call: Call, acts: Path, shop: Path) -> None:
    answer = call("reconcile", "--tools", shop.stem, "--ledger", acts, "--json")
    document = answer.document
    assert found(document) == [
        (REFUNDS[0], "happened"),
        (REFUNDS[1], "did_not_happen"),
        (REFUNDS[2], "unknown"),
        (MAIL, "not_asked"),
        (ORDER, "not_asked"),
    ]
    first = document["answers"][0]["effect"]
    assert (first["status"], first["external_ref"]) == ("succeeded", "ch_1")
    assert (document["in_doubt"], document["needs"]) == (3, [])
    assert answer.err == "shop is imported\n" + "shop is asked\n" * 3


def test_without_a_module_it_says_which_tools_are_needed(call: Call, acts: Path) -> None:
    answer = call("reconcile", "--ledger", acts)
    assert answer.code == 2
    assert answer.out.splitlines()[-1] == "5 effects: 5 not asked"
    assert "their tools: refund (--tools)" in answer.err
    assert call("reconcile", "--ledger", acts, "--json").document["needs"] == ["refund"]
    told = [line.rpartition(": ")[2] for line in answer.out.splitlines()[:5]]
    assert told[0] == "no module was named that declares 'refund' (--tools)"
    assert [line for line in answer.out.splitlines() if "mail of run" in line or "order of run" in line] == [
        line for line in answer.out.splitlines() if line.endswith(BY_HAND)
    ]
    assert statuses(acts) == ["unknown"] * 3


def test_only_one_run_is_asked_about(call: Call, acts: Path, shop: Path) -> None:
    document = call("reconcile", "--run", "desk", "--tools", shop, "--ledger", acts, "--json").document
    assert found(document) == [(ORDER, "not_asked")]
    answer = call("reconcile", "--run", "nobody", "--tools", shop, "--ledger", acts, "--json")
    assert (answer.code, answer.error["code"] if answer.err.count("\n") == 1 else "run_not_found") == (
        3,
        "run_not_found",
    )


def book(acts: Path, seat: int) -> str:
    """Leave a booking in doubt, and return its key."""
    with open_ledger(acts, actor=AGENT) as ledger:
        run = ledger.open_run("hall", "Book")
        with suppress(OutcomeUnknown):
            run.perform("book", {"seat": seat}, refused, recovery="idempotent", dedupes_for=None)
        return run.contract.effects[-1].key


@pytest.mark.parametrize("kind", ["", "async "])
def test_what_the_outside_dedupes_is_sent_again(call: Call, acts: Path, module: Module, kind: str) -> None:
    key = book(acts, 4)
    assert call("reconcile", "--run", "hall", "--ledger", acts, "--json").document["needs"] == ["book"]
    tools = module("books", BOOK.replace("DEDUPES", "None").replace("ASYNC", kind))
    answer = call("reconcile", "--run", "hall", "--tools", tools, "--ledger", acts)
    assert (answer.code, answer.err) == (0, "the hall is asked\n")
    words = r"redelivery \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ: sent again under its key; the outside answered"
    assert re.fullmatch(
        rf"happened: book of run hall, key {key}: {words} and calls it seat-4", answer.out.splitlines()[0]
    )
    document = call("effect", key, "--run", "hall", "--ledger", acts, "--json").document
    assert document["effect"]["result"] == {"json_text": f'{{"key":"{key}","seat":4}}'}
    assert call("reconcile", "--run", "hall", "--ledger", acts).code == 0


def test_an_error_of_what_is_sent_again_leaves_it_unknown(call: Call, acts: Path, module: Module) -> None:
    book(acts, 5)
    tools = module("books", BOOK.replace("DEDUPES", "None").replace("ASYNC", ""))
    answer = call("reconcile", "--run", "hall", "--tools", tools, "--ledger", acts)
    assert answer.code == 2
    assert answer.out.startswith("still unknown: book of run hall, key ")
    raised = "sent again under its key; it raised: ConnectionError: refused [redacted:stripe-key]"
    assert answer.out.splitlines()[0].endswith(raised)
    assert LEAK.encode() not in acts.read_bytes()


def test_what_the_outside_may_have_forgotten_is_for_a_person(call: Call, acts: Path, module: Module) -> None:
    book(acts, 4)
    tools = module("books", BOOK.replace("DEDUPES", "0").replace("ASYNC", ""))
    answer = call("reconcile", "--run", "hall", "--tools", tools, "--ledger", acts)
    assert (answer.code, answer.err.count("the hall is asked")) == (2, 0)
    forgotten = "the outside may have forgotten its key: a person has to find out, and settle it"
    assert answer.out.splitlines()[0].endswith(forgotten)


def test_behind_a_run_that_was_altered_the_others_are_asked_about(
    call: Call, acts: Path, shop: Path, alter: Alter
) -> None:
    alter(acts, "UPDATE events SET hash = zeroblob(32) WHERE run = 'desk' AND position = 1")
    answer = call("reconcile", "--tools", shop, "--ledger", acts, "--json")
    assert answer.code == 1
    assert found(answer.document)[:3] == [
        (REFUNDS[0], "happened"),
        (REFUNDS[1], "did_not_happen"),
        (REFUNDS[2], "unknown"),
    ]
    assert [run["run"] for run in answer.document["unread"]] == ["desk"]
    assert call("reconcile", "--ledger", acts).out.splitlines()[-2].startswith("desk: ALTERED: ")
    alone = call("reconcile", "--run", "desk", "--ledger", acts, "--json")
    assert (alone.code, alone.error["code"]) == (1, "chain_broken")


def test_once_all_is_known_the_exit_code_is_0(call: Call, acts: Path, module: Module) -> None:
    tools = module("knows", ASYNC.replace("refund", "order").replace("order: int", "room: str"))
    answer = call("reconcile", "--run", "desk", "--tools", tools, "--ledger", acts)
    assert (answer.code, answer.err) == (0, "")
    answer = call("reconcile", "--run", "desk", "--tools", tools, "--ledger", acts)
    assert (answer.code, answer.out, answer.err) == (0, "", "nothing is unsettled\n")


def test_what_a_worker_is_executing_is_left_to_it(call: Call, acts: Path) -> None:
    begin_now(acts)
    answer = call("reconcile", "--run", "busy", "--ledger", acts, "--json")
    (told,) = answer.document["answers"]
    assert (answer.code, told["found"], answer.document["in_doubt"]) == (0, "not_asked", 0)
    assert told["because"].startswith("its worker will tell, and holds its lease until ")
    assert answer.document["needs"] == []


def test_a_dispute_is_bad_news(call: Call, acts: Path) -> None:
    call("settle", FAILED, "--happened", "--evidence", "e", "--by", "human:kim", "--ledger", acts)
    assert call("reconcile", "--ledger", acts).code == 1


def test_coroutine_probes_are_awaited_in_one_loop(call: Call, acts: Path, module: Module) -> None:
    tools = module("awaits", ASYNC)
    document = call("reconcile", "--tools", tools, "--ledger", acts, "--json").document
    assert found(document)[:3] == [(key, "happened") for key in REFUNDS]
    assert document["answers"][0]["effect"]["result"] == {"json_text": f'{{"key":"{REFUNDS[0]}"}}'}


def test_the_modules_own_secrets_are_redacted(call: Call, acts: Path, module: Module) -> None:
    tools = module("secretive", SECRETIVE)
    document = call("reconcile", "--tools", tools, "--ledger", acts, "--json").document
    text = document["answers"][0]["effect"]["result"]["json_text"]
    assert "1234" not in text
    assert '"order":1' in text


def test_who_asks_is_recorded(call: Call, acts: Path, shop: Path) -> None:
    call("reconcile", "--tools", shop, "--actor", "service:cron", "--ledger", acts)
    events = call("effect", REFUNDS[0], "--ledger", acts, "--json").document["events"]
    assert (events[-1]["name"], events[-1]["actor"]["id"]) == ("effect.reconciled", "service:cron")


@pytest.mark.parametrize("answer", ["'yes'", "{'found': True}"])
def test_what_is_no_answer_leaves_it_unknown(call: Call, acts: Path, module: Module, answer: str) -> None:
    tools = module("odd", ASYNC.replace('Happened({"key": key})', answer))
    document = call("reconcile", "--tools", tools, "--ledger", acts, "--json").document
    assert found(document)[:3] == [(key, "unknown") for key in REFUNDS]
