"""What of a file is a rule, and what is wrong with one that is malformed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledger.adapters.sources import Document, read_document
from ledger.adapters.sources.documents import LARGEST_BYTES, parse_document
from ledger.errors import InvalidInput
from ledger.values import Operator, Predicate, Rule


def markdown(text: str) -> Document:
    return parse_document(dedent(text).encode(), "policy.md")


def yaml(text: str) -> Document:
    return parse_document(dedent(text).encode(), "policy.yaml", is_yaml=True)


def told(document: Document) -> list[tuple[str, str]]:
    return [(entry.heading, entry.text) for entry in document.entries]


# --- Markdown ------------------------------------------------------------------------------------


def test_each_paragraph_and_each_item_is_a_rule_under_the_nearest_heading() -> None:
    document = markdown(
        """
        # Refund policy

        Be polite.

        ## The *limit*

        - At most 100 EUR
        * Ask above 50 EUR

        1. Log each refund
        """
    )
    assert told(document) == [
        ("refund-policy", "Be polite."),
        ("the-limit", "At most 100 EUR"),
        ("the-limit", "Ask above 50 EUR"),
        ("the-limit", "Log each refund"),
    ]
    assert [entry.line for entry in document.entries] == [4, 8, 9, 11]


def test_without_a_heading_all_of_it_counts() -> None:
    assert told(markdown("- One\n\nTwo\n")) == [("rule", "One"), ("rule", "Two")]


def test_what_is_nested_in_an_item_belongs_to_it() -> None:
    document = markdown(
        """
        # Hosts

        - Only these:

          in this order
          1. a.example
          2. b.example
             - and its twin
          ```
          c.example
          ```
          > unless told

        - Never others
        """
    )
    assert told(document) == [
        (
            "hosts",
            (
                "Only these:\nin this order\n1. a.example\n2. b.example\n   - and its twin\n"
                "```\nc.example\n```\n> unless told"
            ),
        ),
        ("hosts", "Never others"),
    ]


def test_what_leads_into_a_list_stands_before_each_item() -> None:
    document = markdown(
        """
        The agent must never:

        - refund twice
        - tell a price

        Afterwards:
        be polite.

        - Log it
        """
    )
    assert [text for _, text in told(document)] == [
        "The agent must never: refund twice",
        "The agent must never: tell a price",
        "Afterwards: be polite.",
        "Log it",
    ]


def test_wrapping_it_in_another_way_changes_nothing_but_the_revision() -> None:
    one, other = markdown("- At most\n  100 EUR\n"), markdown("- At most 100   EUR\n")
    assert told(one) == told(other)
    assert one.revision != other.revision


def test_what_is_no_rule_is_left_out_and_told_unless_it_is_a_comment() -> None:
    document = markdown(
        """\
        ---
        title: Refunds
        - not: a rule
        ---
        - One <!-- note --> and `<!-- code -->`
        <!-- a comment
        over lines -->

        ```
        code
        ```

        | a |
        |---|
        | b |

        > quoted

        <div>html</div>

        ---
        """
    )
    assert told(document) == [("rule", "One and `<!-- code -->`")]
    assert document.entries[0].line == 5
    assert [tuple(part) for part in document.left_out] == [
        (9, "a block of code"),
        (13, "a table"),
        (17, "a quote"),
        (19, "HTML"),
    ]


def test_line_ends_make_no_other_document() -> None:
    lines = b"# A\n\n- One\n- Two\n"
    one = parse_document(lines, "a.md")
    for content in (lines.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + lines):
        assert parse_document(content, "a.md") == one
    assert one.revision.startswith("sha256-")
    assert len(one.revision) == 19


# --- YAML ----------------------------------------------------------------------------------------


def test_a_list_holds_texts_and_rules_with_and_without_ids() -> None:
    document = yaml(
        """
        - Be polite
        - id: limit-100
          text: |
            At most
            100 EUR
          rule:
            tools: [refund]
            require:
              - {path: /amount, operator: le, value: 100}
              - {path: /note, operator: present}
        - limit-50: Ask above 50 EUR
        """
    )
    polite, limit, ask = document.entries
    assert (polite.id, polite.text, polite.line) == (None, "Be polite", 2)
    assert (limit.id, limit.text, limit.line) == ("limit-100", "At most\n100 EUR", 3)
    assert limit.rule == Rule(
        tools=("refund",),
        require=(
            Predicate(operator=Operator.AT_MOST, path="/amount", value="100"),
            Predicate(operator=Operator.PRESENT, path="/note"),
        ),
    )
    assert (ask.id, ask.text) == ("limit-50", "Ask above 50 EUR")


def test_a_mapping_gives_the_ids() -> None:
    document = yaml(
        """
        polite: Be polite
        limit-100: {text: At most 100 EUR, rule: {deny: [wire], needs_approval: true}}
        """
    )
    assert [(one.id, one.text, one.line) for one in document.entries] == [
        ("polite", "Be polite", 2),
        ("limit-100", "At most 100 EUR", 3),
    ]
    assert document.entries[1].rule == Rule(deny=("wire",), needs_approval=True)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: b\n!!python/object:os.system c: d", 2, "tags are not read"),
        ("a: !secret b", 1, "tags are not read"),
        ("a: &x b\nc: *x", 1, "anchors and aliases"),
        ("a: b\na: c", 2, "'a' stands here for the second time"),
        ("- {id: a, text: b}\n- {id: a, text: c}", 2, "the id 'a' is that of line 1"),
        ("a: b\nlimit: No", 2, "YAML takes 'No' for bool: quote it"),
        ("a: b\n17: c", 2, "YAML takes '17' for int: quote it"),
        ("- x\n- 2026-01-31", 2, "for timestamp: quote it"),
        ("- x\n- {id: a}", 2, "the rule has no text"),
        ("- x\n- {text: a, txet: b}", 2, "'txet' is none of id, rule, text"),
        ("a: {id: b, text: c}", 1, "has its id already"),
        ("- x\n- [y]", 2, "a rule is a text"),
        ("just words", 1, "give a list of rules"),
        ("a: [", 1, "no YAML"),
        ("- a\n---\n- b", 2, "no YAML"),
        ("- a\n- a", 2, "it says the same as line 1"),
        ("- a\n- ''", 2, "the rule has no text"),
        ("- x\na: y", 2, "no YAML"),
        ("a: x\nb:\n  rule: {deny: [wire]}", 2, "the rule has no text"),
        ("- text: a\n  rule: {deny: wire}", 2, "rule.deny: give a list, in brackets"),
        ("- text: a\n  rule: {allowed: [wire]}", 2, "rule.allowed: no such field"),
        ("- text: a\n  rule: [wire]", 2, "rule: it is a mapping"),
        ("- text: a\n  rule: {needs_approval: yes}", 2, "YAML takes 'yes' for bool"),
        (
            "- text: a\n  rule: {require: [{path: /a, operator: le, value: 1.0e+999}]}",
            2,
            "rule.require[0].value: ",
        ),
        ("- text: a\n  rule: {require: [{path: /a, operator: le, value: 0x1F}]}", 2, "quote it, or write it"),
        (
            "- text: a\n  rule:\n    tools: [pay]\n    when:\n      - {path: amount, operator: eq, value: 1}",
            5,
            "rule.when[0].path: 'amount' is no JSON Pointer: write '/amount'",
        ),
        (
            "- text: a\n  rule:\n    require: [{path: /a, operator: '<', value: 1}]",
            3,
            "give one of 'eq', 'ne'",
        ),
        ("- text: a\n  rule:\n    needs_approval: 'yes'", 3, "give true or false"),
        ("a: \x07", 1, "U+0007"),
        ("- x\n" + "[" * 30 + "]" * 30, 2, "no YAML"),
        ("- x\n- " + "[" * 30 + "]" * 30, 2, "deeper than 20"),
    ],
)
def test_malformed_yaml_is_refused_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_document(text.encode(), "policy.yaml", is_yaml=True)
    assert refused.value.data["line"] == line, refused.value
    assert refused.value.path == "policy.yaml"
    assert says in str(refused.value)
    assert str(refused.value).startswith(f"policy.yaml: line {line}: ")


def test_a_bomb_of_aliases_is_refused_before_anything_is_built() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    with pytest.raises(InvalidInput, match="line 1: anchors"):
        parse_document(bomb.encode(), "policy.yaml", is_yaml=True)


# --- any file ------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_yaml", [False, True])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it holds no rules"),
        (b"\n \n", "it holds no rules"),
        (b"- a\n\0", "line 2: a zero byte"),
        (b"- a\n\n- b\xff", "line 3: not UTF-8"),
        (b"- a\n" * LARGEST_BYTES, "larger than 262,144 bytes"),
        (b"- " + b"a" * 70_000, "line 1: text: "),
    ],
)
def test_what_is_no_document_is_refused(content: bytes, says: str, is_yaml: bool) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_document(content, "policy", is_yaml=is_yaml)
    assert says in str(refused.value)


def test_two_rules_under_one_heading_differ() -> None:
    with pytest.raises(InvalidInput, match="line 3: it says the same as line 2"):
        markdown("# A\n- One\n- One\n")
    assert len(markdown("# A\n- One\n# B\n- One\n").entries) == 2


def test_nesting_that_no_stack_holds_is_refused() -> None:
    with pytest.raises(InvalidInput, match="nest too deeply"):
        parse_document(b"> " * 5_000 + b"x", "policy.md")


def test_a_file_is_read_by_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("- One")
    (tmp_path / "a.YML").write_text("one: One")
    (tmp_path / "a.pdf").write_text("One")
    assert read_document(tmp_path / "a.md").entries[0].id is None
    assert read_document(str(tmp_path / "a.YML")).entries[0].id == "one"
    with pytest.raises(InvalidInput, match=r"give Markdown \(.md, .markdown, .txt\) or YAML"):
        read_document(tmp_path / "a.pdf")
    with pytest.raises(FileNotFoundError):
        read_document(tmp_path / "b.md")


PIECES = (
    "a ä 😀 b:  {} [] &x *x !t ' \" |~ --- text: id: rule: <!-- --> <div> ``` - 1. # > % @ , ` \\ null ~ : ?"
)
SPACES = ("", " ", "    ", "\n", "\n\n", "\t", "\r", "\x85", "\u2028", "\x0b", "\n| a |\n|---|\n")
TEXTS = st.lists(
    st.tuples(st.sampled_from(PIECES.split(" ")), st.sampled_from(SPACES)).map("".join), max_size=30
)


@pytest.mark.parametrize("is_yaml", [False, True])
@given(content=st.one_of(TEXTS.map("".join).map(str.encode), st.binary(max_size=60)))
@example(content=b"[a]: b")
@example(content=b"? a")
@example(content=b"%YAML 9.9\n---\n- a")
def test_no_content_is_more_than_refused(content: bytes, is_yaml: bool) -> None:
    with suppress(InvalidInput):
        document = parse_document(content, "policy", is_yaml=is_yaml)
        lines = content.count(b"\n") + content.count(b"\r") + 1
        assert all(1 <= entry.line <= lines for entry in document.entries)
        assert all(entry.text.strip() for entry in document.entries)
