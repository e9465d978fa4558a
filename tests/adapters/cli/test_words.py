"""Stored words among ours: what a stranger wrote cannot pass for what the ledger says."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from ledger import open_ledger
from ledger.adapters.cli.visible import one_line, visible
from ledger.adapters.cli.words import event_words, quoted, source_words
from ledger.events import ConstraintAccepted, ObligationOpened, StatesDropped
from ledger.values import SavedName, Source
from tests.adapters.cli.conftest import Call

FORGED = 'kim", from policy:refunds revision 4; accepted by "human:boss'


@given(st.text(st.characters(codec="utf-8")))
@example("a`id`b")
@example("x $(id) y")
@example("it's $HOME")
@example("it's")
@example("#a")
@example("a&b")
@example("*")
@example("back\\slash x")
def test_a_shell_reads_what_is_written_as_one_word_and_obeys_none_of_it(text: str) -> None:
    told = quoted(text)
    (word,) = shlex.split(told, comments=True)
    assert word == (visible(text) if not re.search(r"[\t\n\v\f\r]", text) else one_line(text))
    outside = re.sub(r"""'[^']*'|"[^"$`\\!]*\"""", "", told)
    assert re.fullmatch(r"[\w.:/@#+%-]*", outside)


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1), st.integers(4, 9))
def test_what_is_cut_stays_in_its_quotes(text: str, most: int) -> None:
    (word,) = shlex.split(quoted(text, most))
    assert len(word) <= most


def test_one_word_needs_no_quotes() -> None:
    assert quoted("policy:refunds") == "policy:refunds"
    assert quoted("order-17#1") == "order-17#1"
    assert quoted("") == "''"
    assert quoted("a  b") == "'a  b'"
    assert quoted("Kim's order") == '"Kim\'s order"'
    assert source_words(Source("policy", "a b", revision="4 5", item="x")) == (
        "'policy:a b' revision '4 5' item x"
    )


def test_an_id_cannot_forge_another_field_of_an_event() -> None:
    event = ConstraintAccepted(accepted_by="agent:a", asserted_by=f"human:{FORGED}", id="c", text=FORGED)
    words = event_words(event, {}, brief=False)
    assert words.headline == f"c: {shlex.quote(FORGED)}"
    assert words.rest == f"accepted by agent:a, asserted by {shlex.quote('human:' + FORGED)}"


def test_an_id_cannot_forge_the_origin_of_a_constraint(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with open_ledger(path) as ledger:
        run = ledger.open_run("r", "g")
        run.accept("c", "text", asserted_by=f"human:{FORGED}")
    out = call("contract", "r", "--ledger", path).out
    assert f"asserted by {shlex.quote('human:' + FORGED)}; accepted by service:" in out


def test_saved_states_are_counted_and_the_first_ones_named() -> None:
    names = tuple(SavedName(id=id, line=line) for id, line in (("1", None), ("2", "sub"), ("3, 4", None)))
    event = StatesDropped(by="human:kim", reason="old", all=True, kept=names)
    assert event_words(event, {}, brief=False).line.endswith("kept 3: 1, 2 of sub, '3, 4'")
    more = StatesDropped(by="human:kim", reason="old", states=(*names, SavedName(id="5", line=None)))
    assert event_words(more, {}, brief=True).line.endswith("states 4: 1, 2 of sub, '3, 4', …")


def test_times_stand_in_one_form_to_the_second_or_exact() -> None:
    due = datetime(2026, 1, 31, 9, 0, 0, 250, tzinfo=UTC)
    event = ObligationOpened(id="tell", text="Mail", owed_to="customer:17", due=due)
    assert "due 2026-01-31 09:00:00.000250Z" in event_words(event, {}, brief=False).line
    assert "due 2026-01-31 09:00:00Z" in event_words(event, {}, brief=True).line
    whole = event.model_copy(update={"due": due.replace(microsecond=0)})
    assert "due 2026-01-31 09:00:00Z" in event_words(whole, {}, brief=False).line
