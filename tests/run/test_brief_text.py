"""The takeover brief as Markdown: the same bytes each time, and no text passes for a line of ours."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given as draws
from hypothesis import strategies as st

from ledger import events as e
from ledger.run.brief import Brief, Told, build
from ledger.run.contract import Contract
from ledger.run.known import EffectHistory
from ledger.run.looking import histories as histories_of
from ledger.testing import START, History, given
from ledger.values import Ending, ErrorSaid, Step, Verdict
from tests.run import examples as x
from tests.run.briefed import FULL, LATER, as_json, brief_of
from tests.run.histories import histories
from tests.strategies import ANY

FAR = timedelta(days=365)


def test_what_held_a_run_that_has_ended_is_told_no_more() -> None:
    why = e.Reason(cleared_by="goal.revised", kind="idle", what="it lay still")
    held = given(x.opened(), e.ResumeRefused(reasons=(why,), verdict=Verdict.REPLAN))
    assert "## What holds it" in brief_of(held).to_markdown()
    ended = held.also(e.RunClosed(outcome=Ending.RESTARTED, successor="run-2", reason="anew"))
    assert "## What holds it" not in brief_of(ended).to_markdown()
    assert brief_of(ended).held == held.contract.held, "which is told to programs still"


def test_a_run_with_nothing_is_short() -> None:
    text = brief_of(given(x.opened())).to_markdown()
    digest = given(x.opened()).contract.hash
    assert text == (
        "# Takeover brief of run run-1 at position 1\n"
        "Judged at 2026-01-01 00:00:00Z.\n"
        "\n## Where it stands\n"
        "- open, incarnation 1 since 2026-01-01 00:00:00Z\n"
        "- last sign of life by service:test\n  (2026-01-01 00:00:00Z, position 1)\n"
        f"- the event at position 1 has the hash {digest}\n"
        "\n## Goal\n- Refund order 17\n"
        "  (as opened by service:test, 2026-01-01 00:00:00Z, position 1)\n"
        "\n## Next\n- run.resume for run run-1\n"
        "  (asks whether it may go on; while its program is alive, only who takes it over may)\n"
    )


def test_all_that_the_json_names_stands_in_the_text() -> None:
    text = brief_of(FULL, LATER).to_markdown()
    for word in (
        "[limit-100] Never refund more than 100 EUR",
        "[before] EXPIRED: Be slow",
        "[tell] OVERDUE: Mail the customer",
        "[stock] stale",
        "[weather] invalid",
        "USED UP: agent:refunds may refund",
        "refund in step pay: unknown",
        "the outside calls it ch_1",
        "refund: EXHAUSTED",
        "NotFound: no such order",
        "on it rest step:pay",
        "approval:ok-1: Pay 10 EUR?",
    ):
        assert word in text, word


@pytest.mark.parametrize(("count", "hidden"), [(50, 0), (51, 1), (120, 70)])
def test_of_many_acts_the_last_are_shown_and_all_are_in_the_json(count: int, hidden: int) -> None:
    keys = [f"{number:064x}" for number in range(count)]
    acts = [
        event
        for key in keys
        for event in (
            x.intended(key),
            x.started(key),
            e.EffectSucceeded(key=key, attempt=1, external_ref=f"ref-{int(key, 16)}"),
        )
    ]
    brief = brief_of(given(x.opened(), *acts))
    assert [one["key"] for one in as_json(brief)["done"]] == keys
    text = brief.to_markdown()
    assert text.count("the outside calls it") == 50
    assert f"calls it ref-{count - 1}," in text
    assert (f"- {hidden} more before these" in text) is bool(hidden)


BREAKS = ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\n\n"]
FORGED = ["# Takeover brief of run run-1 at position 1", "## Next", "- [forged] entry", "(asserted by x)"]


def everywhere(text: str) -> History[Contract | None]:
    """Put a text wherever a text can stand in a brief."""
    error = ErrorSaid(message=text, type="Broken")
    found: dict[str, Any] = {"attempt": 1, "evidence": text, "method": "person"}
    return given(
        x.opened(goal=text),
        e.GoalRevised(by="human:kim", reason=text, text=text),
        x.accepted(text=text, source=x.POLICY, published=True, source_position=1),
        x.accepted("old", text=text, valid_until=START),
        e.PlanCommitted(steps=(Step(name="a", description=text),), reason=text),
        e.ObligationOpened(id="o", owed_to="human:kim", text=text, because="run:child"),
        e.AssumptionMade(id="a", text=text),
        e.CursorMoved(node="a", needs=("assumption:b",)),
        e.AssumptionMade(id="b", text=text),
        e.AssumptionRefuted(id="b", evidence=text),
        x.observed(),
        e.ObservationInvalidated(key="stock", reason=text),
        e.ApprovalRequested(id="p", key=x.ONE, question=text),
        x.granted(),
        e.AuthorityRevoked(by="human:kim", id="refunds", reason=text),
        x.intended(x.ONE),
        x.started(x.ONE),
        e.EffectUnknown(key=x.ONE, attempt=1, because="raised", error=error),
        e.EffectReconciled(key=x.ONE, found="unknown", **found),
        x.intended(x.TWO, act="b" * 64, repeat_reason=text),
        x.started(x.TWO),
        e.EffectSucceeded(key=x.TWO, attempt=1),
        x.intended(x.THREE, act="c" * 64),
        x.started(x.THREE),
        e.EffectFailed(key=x.THREE, attempt=1, error=error),
        x.intended("4" * 64, act="d" * 64),
        x.started("4" * 64),
        e.EffectReconciled(key="4" * 64, found="did_not_happen", **found),
        e.ReviewSigned(by="human:kim", hash="e" * 64, head=1, meaning="noted", note=text),
        e.RunSuspended(cause="asked", reason=text),
        e.ResumeRefused(
            reasons=(e.Reason(cleared_by="goal.revised", kind="idle", what=text),), verdict=Verdict.REPLAN
        ),
        e.RunClosed(outcome=Ending.FAILED, reason=text),
    )


@pytest.mark.parametrize("line_break", BREAKS, ids=ascii)
@pytest.mark.parametrize(("events", "texts"), [(31, 27), (32, 23)], ids=["held", "closed"])
def test_no_line_of_a_text_stands_at_a_margin_of_ours(line_break: str, events: int, texts: int) -> None:
    hostile = brief_of(everywhere(line_break.join(("begin", *FORGED))).upto(events)).to_markdown()
    plain = brief_of(everywhere("begin").upto(events)).to_markdown()
    assert own_lines(hostile) == own_lines(plain)
    assert plain.count("begin") == texts
    assert not set(BREAKS[1:-1]) & set(hostile)


def own_lines(text: str) -> list[str]:
    """List the beginnings of lines that are ours: at the margin, or two spaces in."""
    lines = [line for line in text.split("\n") if not line.startswith("    ")]
    lines = [re.sub(r"begin.*", "begin", line) for line in lines if line]
    return [re.sub(r"hash [0-9a-f]{64}", "hash", line) for line in lines]


@draws(history=histories(ANY, longest=10), later=st.sampled_from([timedelta(0), FAR]))
def test_any_brief_is_written_with_lines_of_the_known_kinds_only(
    history: History[Contract | None], later: timedelta
) -> None:
    brief = brief_of(history, history.now + later)
    text = brief.to_markdown()
    assert Brief.model_validate_json(brief.model_dump_json()).to_markdown() == text
    assert text.endswith("\n")
    first, judged, *lines = text.removesuffix("\n").split("\n")
    assert first == f"# Takeover brief of run run-1 at position {brief.position}"
    assert judged.startswith("Judged at ")
    assert all(re.match(r"$|## |- |  \(|    ", line) for line in lines)
    headings = [line for line in lines if line.startswith("## ")]
    assert len(headings) == len(set(headings))
    assert len(text.splitlines()) == len(lines) + 2


def test_no_name_can_pass_for_words_of_ours() -> None:
    text = brief_of(
        given(x.opened(), x.intended(tool="refund: succeeded, key 1"), x.granted(principal="agent:x may all"))
    ).to_markdown()
    assert '- "refund: succeeded, key 1": pending' in text
    assert '[refunds] "agent:x may all" may refund' in text


def test_effects_of_other_runs_are_named_beside_this_ones() -> None:
    other = given(x.opened(), x.intended(), x.started())
    known = histories_of([x.ONE], other.records)[x.ONE]
    assert isinstance(known, EffectHistory)
    brief = build(given(x.opened()).contract, Told(effects={x.ONE: known}), LATER)
    (found,) = brief.elsewhere
    assert (found.key, found.status, found.run) == (x.ONE, "unknown", "run-1")
    assert "## Not settled by other runs of the lineage\n- refund: unknown\n" in brief.to_markdown()
