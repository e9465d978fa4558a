"""What of a Markdown document becomes constraints."""

import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledger.adapters.transcripts.documents import read_document, slug
from ledger.errors import InvalidInput
from ledger.values import Published


def texts(markdown: str) -> list[str]:
    return [constraint.text for constraint in read_document(markdown).constraints]


@pytest.mark.parametrize("marker", ["-", "*", "+", "1.", "7)", "003."])
def test_every_kind_of_marker_begins_a_constraint(marker: str) -> None:
    assert texts(f"{marker} Ask first.\n") == ["Ask first."]


def test_an_item_keeps_what_is_nested_in_it_without_the_indentation_of_the_item() -> None:
    markdown = "1. For each date:\n   - say the price\n     - with tax\n\n   and wait.\n2. Next\n"
    assert texts(markdown) == [
        "For each date:\n- say the price\n  - with tax\n\nand wait.",
        "Next",
    ]


def test_blank_lines_between_items_belong_to_none() -> None:
    assert texts("- one\n\n\n- two\n\n") == ["one", "two"]


def test_lazy_lines_belong_to_the_item_they_continue() -> None:
    assert texts("- one\nstill one\n- two\n") == ["one\nstill one", "two"]


def test_a_table_in_an_item_stays_in_it_and_one_beside_it_is_none() -> None:
    markdown = "| a | b |\n|---|---|\n| - | x |\n\n- fees\n  | class | fee |\n  |---|---|\n  | eco | 5 |\n"
    assert texts(markdown) == ["fees\n| class | fee |\n|---|---|\n| eco | 5 |"]


@pytest.mark.parametrize(
    "markdown",
    [
        "```\n- no\n```\n",
        "~~~ md\n- no\n~~~\n",
        "    - no\n",
        "> - no\n",
        "<!--\n- no\n-->\n",
        "<script>\n- no\n</script>\n",
        "- - -\n",
        "text\n14. no\n",
        "-no\n",
        "1.no\n",
        "\\- no\n",
        "-\n",
        "",
    ],
)
def test_what_only_looks_like_an_item_is_none(markdown: str) -> None:
    assert texts(markdown) == []


def test_code_in_an_item_keeps_its_own_indentation() -> None:
    assert texts("-     run this\n-\n      or this\n- x\n\n      y\n") == [
        "    run this",
        "    or this",
        "x\n\n    y",
    ]


def test_tabs_count_as_columns_up_to_the_next_stop() -> None:
    assert texts("-\tone\n\tstill\n") == ["one\nstill"]
    assert texts("- one\n\n\tmore\n") == ["one\n\n  more"]


def test_all_line_ends_are_the_same_line_end() -> None:
    unix = "# H\n- one\n  two\n- three\n"
    assert texts(unix.replace("\n", "\r\n")) == texts(unix) == texts(unix.replace("\n", "\r"))


def test_no_other_character_ends_a_line() -> None:
    assert texts("- a\u2028b\x0bc\x85d\n") == ["a\u2028b\x0bc\x85d"]


def test_the_heading_above_names_a_constraint_whatever_its_form() -> None:
    markdown = "- zero\n\nBook *a* `room`\n===\n- one\n\n### Refunds & fees ###\n- two\n"
    found = read_document(markdown)
    prefixes = [constraint.id.rpartition("-")[0] for constraint in found.constraints]
    assert prefixes == ["item", "book-a-room", "refunds-fees"]
    assert found.title == "Book a room"


def test_a_heading_inside_an_item_names_nothing() -> None:
    found = read_document("- # Inner\n\n- two\n")
    assert found.title is None
    assert [constraint.text for constraint in found.constraints] == ["# Inner", "two"]


def test_an_id_is_the_slug_of_the_heading_and_the_beginning_of_the_digest_of_the_text() -> None:
    digest = hashlib.sha256(b"Ask first.").hexdigest()
    assert read_document("# Desk rules\n- Ask first.\n").constraints == (
        Published(id=f"desk-rules-{digest[:12]}", text="Ask first."),
    )


def test_an_item_that_stands_twice_under_one_heading_is_one_constraint() -> None:
    assert texts("# A\n- x\n- y\n- x\n") == ["x", "y"]
    assert texts("# A\n- x\n# B\n- x\n") == ["x", "x"]


def test_digests_that_begin_alike_do_not_make_two_items_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.adapters.transcripts.documents._SHORT_DIGITS", 0)
    found = read_document.__wrapped__("# A\n- x\n- y\n")
    assert [constraint.text for constraint in found.constraints] == ["x", "y"]
    assert len({constraint.id for constraint in found.constraints}) == 2


def test_a_document_is_named_by_its_first_heading_and_its_text() -> None:
    markdown = "Hello.\n\n## Desk rules\n- x\n\n# Other\n"
    digest = hashlib.sha256(markdown.encode()).hexdigest()
    found = read_document(markdown)
    assert found.revision == digest
    assert found.source == f"document:desk-rules-{digest[:12]}"
    assert read_document("- x").source.startswith("document:system-")


def test_a_tag_on_a_line_of_its_own_is_a_boundary() -> None:
    markdown = (
        '<rules kind="a">\n# Desk\n- one\n- two\n</rules>\n<tool_rules>\n- three\n</tool_rules>\n'
        "- four\n  <example>\n  - shown\n  </example>\n"
    )
    assert texts(markdown) == ["one", "two", "three", "four\n<example>\n- shown\n</example>"]
    assert read_document(markdown).title == "Desk"


def test_a_tag_that_html_knows_as_a_block_holds_what_commonmark_says() -> None:
    assert texts("<div>\n- no\n</div>\n\n- yes\n") == ["yes"]


def test_lists_nested_deeper_than_parsers_like_swallow_nothing_that_follows() -> None:
    nested = "".join(f"{'  ' * depth}- {depth}\n" for depth in range(40))
    assert len(texts(f"{nested}- last\n")) == 2


def test_a_document_nested_beyond_reading_is_refused() -> None:
    with pytest.raises(InvalidInput, match="nest too deeply"):
        read_document(">" * 20_000)


def test_an_item_longer_than_a_constraint_can_be_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidInput, match="line 3") as raised:
        read_document(f"# H\n\n- {'x' * 65_537}\n")
    assert raised.value.path == "document"


@pytest.mark.parametrize(
    ("heading", "short"),
    [
        ("Modify flight", "modify-flight"),
        ("  Q&A: what's  new?", "q-a-what-s-new"),
        ("Grundsätze für Café", "grundsätze-für-café"),
        ("退款 规则", "退款-规则"),
        ("!!!", ""),
        ("x" * 100, "x" * 60),
        ("a" * 59 + " b", "a" * 59),
    ],
)
def test_a_slug_keeps_letters_and_digits_of_any_script(heading: str, short: str) -> None:
    assert slug(heading) == short


MARKDOWN = st.lists(
    st.sampled_from(
        ["- a", "* b", "1. c", "  - d", "   e", "# H", "===", "```", "> q", "", "\t- f", "<x>", "---", "|a|"]
    ),
    max_size=12,
).map("\n".join)


@given(st.one_of(MARKDOWN, st.text(max_size=80)))
@example("\x00- a\n\x0c\n- b")
@example("-\x1c\n- b")
def test_any_text_yields_constraints_that_can_be_published(markdown: str) -> None:
    found = read_document(markdown)
    ids = [constraint.id for constraint in found.constraints]
    assert len(set(ids)) == len(ids)
    assert all(constraint.text.strip() for constraint in found.constraints)
    assert read_document(markdown.replace("\n", "\r\n")).constraints == found.constraints


@given(st.lists(st.from_regex(r"[a-z]{1,8}( [a-z]{1,8}){0,3}", fullmatch=True), max_size=8, unique=True))
def test_the_items_of_a_list_come_back_in_their_order(items: list[str]) -> None:
    assert texts("# H\n\n" + "\n\n".join(f"- {item}" for item in items)) == items
