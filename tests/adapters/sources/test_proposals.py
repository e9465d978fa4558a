"""Which ids rules get, and what a document would change of what its source says."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.adapters.sources import Document, Proposal, propose
from ledger.adapters.sources.documents import parse_document
from ledger.adapters.sources.proposals import reading_of
from ledger.commands import PublishRevision, WithdrawAtSource
from ledger.run.sources import SourceState
from ledger.testing import History, given_source
from ledger.values import Published

EMPTY = given_source("policy:refunds")


def markdown(text: str) -> Document:
    return parse_document(text.encode(), "policy.md")


def published(document: Document, before: History[SourceState] = EMPTY) -> History[SourceState]:
    """Publish a document, with all that it leaves out withdrawn."""
    proposal = propose(document, before.state)
    command = PublishRevision(
        revision=proposal.revision, constraints=proposal.constraints, withdraw=proposal.omitted
    )
    decided = before.when(command)
    assert decided.after.state.revision == proposal.revision
    return decided.after


def changes(proposal: Proposal) -> list[tuple[str, str]]:
    return [(one.kind, one.id) for one in proposal.rules]


def compared(old: str, new: str) -> Proposal:
    return propose(markdown(new), published(markdown(old)).state)


def digest(text: str, digits: int = 8) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def test_an_id_is_the_heading_and_a_digest_of_the_text() -> None:
    proposal = propose(markdown("# The limit\n- At most 100 EUR\n"), EMPTY.state)
    assert changes(proposal) == [("added", f"the-limit-{digest('At most 100 EUR')}")]
    assert proposal.rules[0].line == 2


def test_a_document_that_was_published_changes_nothing() -> None:
    document = markdown("# A\n- One\n- Two\n\nThree\n")
    state = published(document).state
    proposal = propose(document, state)
    assert [one.kind for one in proposal.rules] == ["unchanged"] * 3
    assert proposal.revision == state.revision
    assert proposal.constraints == tuple(item.published for item in state.items)


def test_the_one_rule_of_a_heading_that_changed_is_reworded() -> None:
    proposal = compared("# A\n- One\n- Two\n# B\n- One\n", "# A\n- Two\n- Ten\n# B\n- One\n")
    assert changes(proposal) == [
        ("unchanged", f"a-{digest('Two')}"),
        ("reworded", f"a-{digest('One')}"),
        ("unchanged", f"b-{digest('One')}"),
    ]
    reworded = proposal.rules[1]
    assert reworded.before is not None
    assert reworded.after is not None
    assert (reworded.before.text, reworded.after.text) == ("One", "Ten")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# A\n- One\n- Two\n", "# A\n- Ten\n- Twenty\n"),
        ("# A\n- One\n", "# A\n- Ten\n- Twenty\n"),
        ("# A\n- One\n- Two\n", "# A\n- Ten\n"),
        ("# A\n- One\n# B\n- Two\n", "# A\n- Two\n# B\n- Ten\n"),
    ],
)
def test_where_more_changed_nothing_is_guessed(old: str, new: str) -> None:
    kinds = {one.kind for one in compared(old, new).rules}
    assert "reworded" not in kinds
    assert {"added", "withdrawn"} <= kinds


def test_a_rule_that_moved_keeps_its_id() -> None:
    proposal = compared("# A\n- One\n- Two\n", "# Z\n- Zero\n# B\n- One\n- Two\n")
    assert changes(proposal)[1:] == [
        ("unchanged", f"a-{digest('One')}"),
        ("unchanged", f"a-{digest('Two')}"),
    ]


def test_a_heading_may_be_renamed_and_one_rule_under_it_reworded() -> None:
    proposal = compared("# A\n- One\n- Two\n", "# B\n- One\n- Ten\n")
    assert changes(proposal) == [("unchanged", f"a-{digest('One')}"), ("reworded", f"a-{digest('Two')}")]


def test_a_rule_that_moved_away_does_not_lend_its_heading() -> None:
    proposal = compared("# A\n- One\n- Two\n- Three\n", "# A\n- One\n# B\n- Two\n- Ten\n")
    assert changes(proposal) == [
        ("unchanged", f"a-{digest('One')}"),
        ("unchanged", f"a-{digest('Two')}"),
        ("added", f"b-{digest('Ten')}"),
        ("withdrawn", f"a-{digest('Three')}"),
    ]


def test_a_reworded_rule_keeps_its_id_from_whoever_says_its_first_words_again() -> None:
    history = published(markdown("# A\n- Ten\n"), published(markdown("# A\n- One\n")))
    proposal = propose(markdown("# A\n- Ten\n- One\n"), history.state)
    assert changes(proposal) == [
        ("unchanged", f"a-{digest('One')}"),
        ("added", f"a-{digest('One', 16)}"),
    ]


def test_ids_of_the_document_count_and_a_rule_alone_is_reworded_too() -> None:
    one = parse_document(b"limit: {text: At most 100, rule: {tools: [refund]}}", "p", is_yaml=True)
    two = parse_document(b"limit: {text: At most 100, rule: {tools: [pay]}}\nask: Ask", "p", is_yaml=True)
    history = published(one)
    assert changes(propose(two, history.state)) == [("reworded", "limit"), ("added", "ask")]
    listed = parse_document(b"- Ask\n- At most 100\n", "p", is_yaml=True)
    again = propose(listed, published(two, history).state)
    assert changes(again) == [("unchanged", "ask"), ("reworded", "limit")]


def test_an_id_that_the_document_gives_is_taken_from_no_other_rule() -> None:
    history = published(parse_document(b"- One\n", "p", is_yaml=True))
    (id,) = (item.id for item in history.state.items)
    document = parse_document(f"- One\n- {{id: {id}, text: Two}}\n".encode(), "p", is_yaml=True)
    assert changes(propose(document, history.state)) == [
        ("added", f"rule-{digest('One', 16)}"),
        ("reworded", id),
    ]


def test_what_was_left_out_may_return_and_what_was_withdrawn_by_name_is_told() -> None:
    history = published(markdown("# A\n- One\n- Two\n"))
    one, two = (item.id for item in history.state.items)
    without = markdown("# A\n- Two\n")
    history = published(without, history)
    history = history.when(WithdrawAtSource(id=two, by="human:kim", reason="wrong")).after
    proposal = propose(markdown("# A\n- One\n- Two\n"), history.state)
    assert changes(proposal) == [("returned", one), ("returned", two)]
    assert proposal.by_name == {two}
    told = [one.gone for one in proposal.rules if one.gone is not None]
    assert [(gone.by, gone.reason) for gone in told] == [
        (None, f"not in revision {without.revision}"),
        ("human:kim", "wrong"),
    ]


def test_what_says_the_same_in_another_form_is_the_same_revision_unless_somebody_names_another() -> None:
    state = published(markdown("# A\n- One two\n")).state
    wrapped = markdown("# A\n\n- One\n  two\n\n<!-- note -->\n")
    assert wrapped.revision != state.revision
    assert propose(wrapped, state).revision == state.revision
    assert propose(wrapped, state, revision="5").revision == "5"
    assert reading_of(wrapped, state).revision == state.revision


def test_a_reader_is_told_all_that_the_document_says() -> None:
    state = published(markdown("# A\n- One\n")).state
    document = markdown("# A\n- Ten\n")
    reading = reading_of(document, state)
    assert reading.revision == document.revision
    assert reading.published == (Published(id=f"a-{digest('One')}", text="Ten"),)


# --- laws ----------------------------------------------------------------------------------------

RULES = st.dictionaries(
    st.sampled_from(["A", "B", "C"]),
    st.lists(st.sampled_from(["one", "two", "three", "four", "five"]), unique=True, max_size=5),
    min_size=1,
).filter(lambda rules: any(rules.values()))


def written(rules: Mapping[str, list[str]]) -> Document:
    return markdown(
        "".join(
            f"# {heading}\n\n" + "".join(f"- {text}\n" for text in rules[heading]) + "\n" for heading in rules
        )
    )


def ids(document: Document, proposal: Proposal) -> dict[tuple[str, str], str]:
    said = [one for one in proposal.rules if one.after is not None]
    return {(entry.heading, entry.text): one.id for entry, one in zip(document.entries, said, strict=True)}


@given(st.lists(RULES, min_size=1, max_size=4), st.randoms())
def test_ids_do_not_depend_on_the_order(history: list[dict[str, list[str]]], random: Random) -> None:
    source = EMPTY
    for rules in history[:-1]:
        source = published(written(rules), source)
    straight = written(history[-1])
    headings = list(history[-1])
    random.shuffle(headings)
    shuffled = written(
        {heading: random.sample(history[-1][heading], len(history[-1][heading])) for heading in headings}
    )
    assert ids(straight, propose(straight, source.state)) == ids(shuffled, propose(shuffled, source.state))


@given(st.lists(RULES, min_size=1, max_size=5))
def test_no_two_rules_share_an_id_and_publishing_twice_adds_nothing(
    history: list[dict[str, list[str]]],
) -> None:
    source = EMPTY
    for rules in history:
        document = written(rules)
        proposal = propose(document, source.state)
        assert len({one.id for one in proposal.rules}) == len(proposal.rules)
        source = published(document, source)
        assert {item.text for item in source.state.items} == {entry.text for entry in document.entries}
        assert {one.kind for one in propose(document, source.state).rules} == {"unchanged"}
        position = source.position
        assert published(document, source).position == position  # the same again
