"""No words of people or agents are stored with a secret in them, whichever command says them."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import Actor, AsyncLedger, Ledger, Run, Source, open_async_ledger
from ledger import commands as c
from ledger.application.edge import Edge
from ledger.application.exact_words import no_secret_in_exact_words
from ledger.application.redacting import EXACT, redacted
from ledger.application.statements import Stated
from ledger.errors import InvalidInput, LedgerError
from ledger.secrets import Secrets
from ledger.stores.memory import MemoryStore
from ledger.values import Payload, Published, Recovery, Rule, Step
from tests.strategies import COMPLETE, command

TOKEN = "ghp_" + "a8Bk39dkQpzLw82jdm4KsoW0qLx71bCdEf22"
SAID = f"it is {TOKEN}, keep it"
KEPT = "it is [redacted:github-token], keep it"
TELLING = replace(COMPLETE, text=st.just(SAID))
KIM = Actor("human:kim")
SECRETS = Secrets()
EACH = settings(max_examples=5)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with Ledger(Edge(MemoryStore(), "default", KIM)) as opened:
        yield opened


@pytest.fixture
def run(ledger: Ledger) -> Run:
    return ledger.open_run("r", "Go")


def stored(ledger: Ledger) -> bytes:
    """Return all that is recorded, of runs, sources, and the ledger itself."""
    store, tenant = ledger.store, ledger.tenant
    heads = store.heads(tenant, prefix="", limit=1000)
    return b"\n".join(row.record for head in heads for row in store.read(tenant, head.stream))


# --- every command -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", c.COMMAND_CLASSES, ids=lambda kind: kind.name)
@EACH
@given(data=st.data())
def test_the_words_of_a_command_are_said_without_or_it_is_refused(
    kind: type[c.Command], data: st.DataObject
) -> None:
    given = data.draw(command(kind, TELLING))
    fields = dict(redacted(kind, given.__dict__, lambda value, what: SECRETS.redact(value)))
    exact = {name for name in EXACT.get(kind, ()) if TOKEN in repr(fields[name])}
    if exact:
        with pytest.raises(InvalidInput) as refused:
            no_secret_in_exact_words(SECRETS, given)
        assert TOKEN not in str(refused.value)
    else:
        no_secret_in_exact_words(SECRETS, given)
    left = {name: value for name, value in fields.items() if name not in exact}
    assert TOKEN not in repr(left)
    assert kind.model_validate(fields) == given.with_fields(fields)
    with Ledger(Edge(MemoryStore(), "default", KIM)) as opened:
        run = opened.open_run("r", SAID)
        with suppress(LedgerError):
            run.do(given)
        kept = stored(opened)
    assert TOKEN.encode() not in kept
    assert KEPT.encode() in kept


def test_labels_are_found_again_by_what_they_say_whatever_they_are_called(ledger: Ledger) -> None:
    labels = {"pin": "north", "cookie": "choc", "token": "eur", "card": "4111 1111 1111 1111"}
    ledger.open_run("r", SAID, labels=labels)
    assert ledger.contract("r").labels == labels
    assert [row.run for row in ledger.runs(labels={"pin": "north"}).runs] == ["r"]
    assert TOKEN.encode() not in stored(ledger)


def test_a_label_that_holds_a_secret_is_refused(ledger: Ledger, run: Run) -> None:
    before = stored(ledger)
    for say in (
        lambda: ledger.open_run("other", "Go", labels={"team": "refunds", "note": SAID}),
        lambda: run.open_child("child", "Go", labels={"team": "refunds", "note": SAID}),
    ):
        with pytest.raises(InvalidInput, match="holds a secret") as refused:
            say()
        assert refused.value.path == "labels.note"
        assert TOKEN not in str(refused.value)
    assert stored(ledger) == before


def test_words_that_would_be_too_long_without_their_secret_are_cut(ledger: Ledger) -> None:
    said = "postgresql://a:b@" + "x" * (65_536 - 17)
    run = ledger.open_run("r", said)
    kept = run.contract.goal.text
    assert kept == said.replace(":b@", ":[redacted:url-password]@")[:65_535] + "…"
    assert run.revise_goal(said, reason="as it was", by="human:kim").records
    assert run.revise_goal(kept, reason="as it was", by="human:kim").repeated
    run.commit_plan([Step(name="pay", description=said)], reason=said)
    assert run.do(c.CommitPlan(reason=said, steps=(Step(name="pay", description=said),))).repeated
    ledger = Ledger(Edge(ledger.store, ledger.tenant, KIM))
    contract = ledger.contract("r")
    assert contract.plan is not None
    assert contract.plan.steps[0].description == contract.plan.reason == kept
    assert ledger.open_run("r2", said).contract.goal.text == kept
    with pytest.raises(InvalidInput):
        ledger.open_run("r3", said + "x" * 100)


# --- what it comes to ------------------------------------------------------------------------------


def test_who_says_it_again_repeats_it_and_is_warned(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    sayings: list[Callable[[], Stated]] = [
        lambda: run.revise_goal(SAID, reason=SAID, by="human:kim"),
        lambda: run.promise("p", SAID, owed_to="customer:1"),
        lambda: run.commit_plan([Step(name="pay", description=SAID)], reason=SAID),
        lambda: run.do(c.MakeAssumption(id="a", text=SAID)),
        lambda: run.suspend(reason=SAID),
    ]
    for say in sayings:
        assert not say().repeated
        assert say().repeated
    contract = run.contract
    assert contract.goal.text == contract.obligations[0].text == KEPT
    assert contract.plan is not None
    assert contract.plan.steps[0].description == KEPT
    assert "a secret (github-token) in text of goal.revise of 'r' is kept as redacted" in caplog.text


def test_words_are_kept_without_what_stands_behind_the_name_of_a_secret(ledger: Ledger, run: Run) -> None:
    said, kept = "Log in with password=hunter2, please", "Log in with password=[redacted:name], please"
    run.revise_goal(said, reason=said, by="human:kim")
    run.commit_plan([Step(name="pay", description=said)], reason="token=${TOKEN}")
    run.record_message("m", "user", said)
    run.do(c.RecordMessage(id="n", role="user", content=Payload(json_text=json.dumps(said))))
    assert run.contract.goal.text == kept
    assert run.contract.plan is not None
    assert (run.contract.plan.steps[0].description, run.contract.plan.reason) == (kept, "token=${TOKEN}")
    run.accept("c", "Never say password=hunter2 again", asserted_by="human:kim")
    assert run.contract.constraints[0].text == "Never say password=hunter2 again", "it counts by the letter"
    assert kept.encode() in stored(ledger)
    assert said.encode() not in stored(ledger)


def test_a_question_and_its_answer_are_kept_without(ledger: Ledger, run: Run) -> None:
    run.accept(
        "ask",
        "A person approves each mail",
        asserted_by="human:kim",
        rule={"tools": ["mail"], "needs_approval": True},
    )
    with pytest.raises(LedgerError):
        run.perform("mail", {"to": "a"}, lambda to: None, recovery="queryable", probe=lambda key, args: None)
    (waiting,) = run.contract.approvals
    run.do(c.RequestApproval(key=waiting.key, question=SAID))
    (*_, asked) = run.contract.approvals
    assert asked.question == KEPT
    lee = ledger.run("r", actor=Actor("human:lee"))
    lee.do(c.AnswerApproval(answer="denied", by="human:lee", id=asked.id, reason=SAID))
    assert TOKEN.encode() not in stored(ledger)


EXACTLY: list[Any] = [
    lambda run, source: run.accept("c", SAID, asserted_by="human:kim"),
    lambda run, source: run.accept("c", "Only these", asserted_by="human:kim", rule=Rule(tools=(TOKEN,))),
    lambda run, source: source.publish("1", {"c": SAID}),
    lambda run, source: source.publish(
        "1", [Published(id="c", rule=Rule(tools=(TOKEN,)), text="Only these")]
    ),
    lambda run, source: run.do(
        c.ClaimEffect(args=f'{{"to":"{TOKEN}"}}', recovery=Recovery.AT_MOST_ONCE, tool="mail", worker="w")
    ),
]


@pytest.mark.parametrize("say", EXACTLY)
def test_where_the_exact_words_count_a_secret_is_refused_and_the_field_named(
    ledger: Ledger, run: Run, say: Any
) -> None:
    before = stored(ledger)
    with pytest.raises(InvalidInput, match="holds a secret") as refused:
        say(run, ledger.source("policy:p"))
    assert refused.value.data["path"].partition(".")[0].partition("[")[0] in (
        "args",
        "constraints",
        "rule",
        "text",
    )
    assert TOKEN not in str(refused.value)
    assert stored(ledger) == before


LOOKS = "Connect only through postgresql://reader:EXAMPLE@db/x"


LAX = Secrets(shapes=())
"""As words were said before they were looked at."""


def test_what_stands_there_already_may_be_said_again(ledger: Ledger, run: Run) -> None:
    lax = Ledger(Edge(ledger.store, ledger.tenant, KIM), LAX)
    rule: dict[str, Any] = {"tools": [TOKEN], "needs_approval": True}
    x: Any = {"text": LOOKS, "rule": rule}
    lax.source("policy:p").publish("1", {"x": x, "y": "Be kind"})
    lax.run("r").accept("z", LOOKS, asserted_by="human:kim", rule=rule)
    source, run = ledger.source("policy:p"), ledger.run("r")
    assert run.accept("z", LOOKS, asserted_by="human:kim", rule=rule).repeated
    assert run.do(c.AcceptConstraint(id="z", text=LOOKS, asserted_by="human:kim", rule=Rule(**rule))).repeated
    assert source.publish("1", {"x": x, "y": "Be kind"}).repeated
    assert source.publish("2", {"x": x, "y": "Be quick"}).records
    assert run.accept("x", LOOKS, asserted_by="human:kim", source=Source("policy", "p")).records
    assert run.accept("mine", LOOKS, asserted_by="human:kim", source=Source("policy", "p", item="x")).records
    looser: Any = {"text": LOOKS, "rule": {"tools": [TOKEN]}}
    new: list[Callable[[], object]] = [
        lambda: run.accept("z", LOOKS + " and y", asserted_by="human:kim", rule=rule, change="reworded"),
        lambda: run.accept("z", LOOKS, asserted_by="human:kim", rule={"tools": [TOKEN]}, change="relaxed"),
        lambda: run.accept("other", LOOKS, asserted_by="human:kim", source=Source("policy", "p")),
        lambda: run.accept("other", LOOKS, asserted_by="human:kim"),
        lambda: source.publish("3", {"x": LOOKS + " and y"}, withdraw=["y"]),
        lambda: source.publish("3", {"x": x, "y": LOOKS}),
        lambda: source.publish("3", {"x": looser}, withdraw=["y"]),
    ]
    for say in new:
        with pytest.raises(InvalidInput, match="holds a secret"):
            say()


@pytest.mark.anyio
async def test_it_may_in_an_event_loop() -> None:
    edge = Edge(MemoryStore(), "default", KIM)
    lax = Ledger(edge, LAX)
    lax.source("policy:p").publish("1", {"x": LOOKS})
    lax.open_run("r", "Go").accept("z", LOOKS, asserted_by="human:kim")
    async with AsyncLedger(Ledger(edge)) as ledger:
        source, run = await ledger.source("policy:p"), await ledger.run("r")
        assert (await run.accept("z", LOOKS, asserted_by="human:kim")).repeated
        assert (await run.accept("x", LOOKS, asserted_by="human:kim", source=Source("policy", "p"))).records
        assert (await source.publish("1", {"x": LOOKS})).repeated
        new: list[Callable[[], Coroutine[Any, Any, Stated]]] = [
            lambda: run.accept("y", LOOKS, asserted_by="human:kim", source=Source("policy", "p")),
            lambda: source.publish("2", {"x": LOOKS + " and y"}),
        ]
        for say in new:
            with pytest.raises(InvalidInput, match="holds a secret"):
                await say()


def test_a_reference_in_the_arguments_of_a_claim_is_none(run: Run) -> None:
    args = '{"token":{"$secret":"mail"}}'
    claim = c.ClaimEffect(args=args, recovery=Recovery.AT_MOST_ONCE, tool="mail", worker="w")
    assert run.do(claim).records


def test_a_source_withdraws_and_publishes_for_reasons_without(ledger: Ledger) -> None:
    source = ledger.source("policy:p")
    source.publish("1", {"c": "Be kind", "d": "Be quick"})
    source.publish("2", {"c": "Be kind"}, withdraw=["d"], reason=SAID)
    source.withdraw("c", reason=SAID, by="human:kim")
    kept = stored(ledger)
    assert TOKEN.encode() not in kept
    assert kept.count(KEPT.encode()) == 2


@pytest.mark.anyio
async def test_it_is_so_in_an_event_loop(tmp_path: Path) -> None:
    async with open_async_ledger(f"sqlite:///{tmp_path / 'ledger.db'}", actor=KIM) as opened:
        run = await opened.open_run("r", SAID)
        await run.suspend(reason=SAID)
        contract = await run.contract
        assert contract.goal.text == KEPT
        assert contract.suspended is not None
        assert contract.suspended.reason == KEPT
        with pytest.raises(InvalidInput):
            await (await opened.source("policy:p")).publish("1", {"c": SAID})
