"""Rules in Markdown: each paragraph, and each item of a list that stands for itself, is one.

- What is nested in an item belongs to it: further paragraphs, lists, code, quotes.
- A paragraph that ends in a colon right before a list is no rule; its words stand before each of the items,
  which may mean the opposite without them.
- A rule is named by the nearest heading above it, whatever its level.
- Lines of one paragraph are joined, so that wrapping it in another way changes nothing.
- Front matter and comments are left out without a word. Code, tables, quotes, HTML and rulers between the
  rules are left out, too, and told.

Source: CommonMark 0.31.2; tables as in GitHub Flavored Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode as Node

from ledger.adapters.sources.entries import NO_HEADING, Entry, Found, LeftOut
from ledger.adapters.transcripts.documents import slug
from ledger.canonical import invalid

_LISTS = ("bullet_list", "ordered_list")
_LEFT_OUT = {
    "blockquote": "a quote",
    "code_block": "a block of code",
    "fence": "a block of code",
    "html_block": "HTML",
    "table": "a table",
}
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")


def read_markdown(text: str, name: str) -> Found:
    """Read the rules out of a Markdown text.

    Raises:
        InvalidInput: it nests too deeply to be read.
    """
    front = _FRONT_MATTER.match(text)
    if front is not None:
        text = "\n" * front[0].count("\n") + text[front.end() :]
    try:
        # Where its bound on nesting is reached the parser takes the rest of the text for part of what it is
        # in; without a bound it runs out of stack, which can be told.
        parser = MarkdownIt("commonmark", {"maxNesting": 10_000}).enable("table")
        nodes = Node(parser.parse(text)).children
        lines = text.split("\n")
        return Found(tuple(_entries(nodes, lines)), tuple(_left_out(nodes)))
    except RecursionError:
        raise invalid(name, "its quotes or lists nest too deeply") from None


def _entries(nodes: Sequence[Node], lines: Sequence[str]) -> Iterator[Entry]:
    heading = NO_HEADING
    lead = ""
    for node, following in zip_longest(nodes, nodes[1:]):
        if node.type == "heading":
            heading = slug(_plain(node)) or NO_HEADING
        elif node.type == "paragraph":
            words = _paragraph(node)
            if words.endswith(":") and following is not None and following.type in _LISTS:
                lead = words
                continue
            if words:
                yield Entry(_line(node), words, heading)
        elif node.type in _LISTS:
            for item in node.children:
                words = "\n".join(_blocks(item.children, lines))
                if words:
                    yield Entry(_line(item), f"{lead} {words}" if lead else words, heading)
        lead = ""


def _left_out(nodes: Iterable[Node]) -> Iterator[LeftOut]:
    for node in nodes:
        what = _LEFT_OUT.get(node.type)
        if what is not None and not (node.type == "html_block" and not _without_comments(node.content)):
            yield LeftOut(_line(node), what)


def _line(node: Node) -> int:
    assert node.map is not None, "a block knows its lines"
    return node.map[0] + 1


# --- words -------------------------------------------------------------------------------------


def _plain(node: Node) -> str:
    """Leave the marks of emphasis, code and links out of a heading."""
    inline = node.children[0].children if node.children else []
    return "".join(" " if part.type.endswith("break") else _words(part) for part in _flat(inline))


def _flat(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        if node.children and node.type != "image":
            yield from _flat(node.children)
        else:
            yield node


def _words(node: Node) -> str:
    return "" if node.type == "html_inline" else node.content


def _paragraph(node: Node) -> str:
    """Write a paragraph on one line, without the comments in it."""
    words = " ".join(inline.content for inline in node.children)
    for inline in node.children:
        for part in _flat(inline.children):
            # Only what is a comment to Markdown: in code the same letters are code.
            if part.type == "html_inline" and part.content.startswith("<!--"):
                words = words.replace(part.content, "", 1)
    return " ".join(words.split())


def _without_comments(html: str) -> str:
    return _COMMENT.sub("", html).strip()


def _blocks(nodes: Iterable[Node], lines: Sequence[str]) -> Iterator[str]:
    """Write what is nested in an item, line by line."""
    for node in nodes:
        if node.type in ("paragraph", "heading"):
            yield from filter(None, [_paragraph(node)])
        elif node.type in _LISTS:
            for item in node.children:
                yield from _item(item, node, lines)
        elif node.type in ("fence", "code_block"):
            yield from ("```", *node.content.rstrip("\n").split("\n"), "```")
        elif node.type == "blockquote":
            yield from (f"> {line}" for line in _blocks(node.children, lines))
        elif node.type == "html_block":
            yield from filter(None, [_without_comments(node.content)])
        elif node.type == "table":
            assert node.map is not None, "a block knows its lines"
            yield from (line.strip() for line in lines[node.map[0] : node.map[1]])


def _item(item: Node, parent: Node, lines: Sequence[str]) -> Iterator[str]:
    mark = f"{item.info}. " if parent.type == "ordered_list" else "- "
    for number, line in enumerate(_blocks(item.children, lines)):
        yield (" " * len(mark) if number else mark) + line
