"""Documents of rules: what of a Markdown text becomes constraints.

Each list item that stands at the top level of the document is one constraint, with everything nested in it.
What is an item is decided by CommonMark, so that lines in code fences, quotes and comments are none. Its id
is the slug of the heading above it and a short digest of its text; it changes whenever the text does.

One thing is read differently. Prompts use tags on lines of their own (`<policy>` … `</policy>`) to mark
parts, and CommonMark would take such a line, with all that follows up to a blank line, for HTML, and a
closing one for the end of the item above. Here a line that holds one tag and nothing else is a boundary and
no more.

Source: CommonMark 0.31.2, chapters 4.6 (HTML blocks) and 5.2 (list items).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.common.html_blocks import block_names
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from ledger.canonical import invalid
from ledger.errors import InvalidInput
from ledger.values import Published

KIND = "document"
"""Kind of the source streams that documents publish to."""

_SLUG_CHARACTERS = 60
_SHORT_DIGITS = 12
_TAB_STOP = 4


@dataclass(frozen=True, slots=True)
class Document:
    """A text of rules, and what it rules."""

    constraints: tuple[Published, ...]
    """In the order of the text; one that stands twice under the same heading is listed once."""
    revision: str
    """SHA-256 of the text in UTF-8, as 64 hexadecimal digits."""
    title: str | None
    """The first heading that has words."""

    @property
    def name(self) -> str:
        """Slug of the title and the first 12 digits of the revision: another text is another document."""
        return f"{slug(self.title or '') or 'system'}-{self.revision[:_SHORT_DIGITS]}"

    @property
    def source(self) -> str:
        """The id of the source stream it publishes to."""
        return f"{KIND}:{self.name}"


# The same prompt stands at the head of thousands of transcripts.
@lru_cache(maxsize=16)
def read_document(text: str) -> Document:
    """Read the constraints out of a Markdown text.

    Raises:
        InvalidInput: an item is longer than a constraint can be, or the text nests too deeply to be read.
    """
    lines = re.split(r"\r\n?|\n", text)
    try:
        tokens = _BLOCKS.parse(text)
    except RecursionError:
        raise invalid("document", "its quotes or lists nest too deeply") from None
    title: str | None = None
    found: dict[str, Published] = {}
    for heading, place in _items(tokens):
        if place is None:
            title = title or heading
            continue
        words = _item_text(lines[place[0] : place[1]])
        if not words:
            continue
        published = _published(slug(heading or "") or "item", words, found, place[0] + 1)
        found.setdefault(published.id, published)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Document(constraints=tuple(found.values()), revision=digest, title=title)


def slug(heading: str) -> str:
    """Make a short name of a heading: lower case, letters and digits of any script, joined by hyphens."""
    words = re.sub(r"[\W_]+", "-", heading.lower()).strip("-")
    return words[:_SLUG_CHARACTERS].rstrip("-")


def _published(prefix: str, text: str, taken: dict[str, Published], line: int) -> Published:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    id = f"{prefix}-{digest[:_SHORT_DIGITS]}"
    if id in taken and taken[id].text != text:
        # Twelve digits can be made to meet on purpose; all of them cannot.
        id = f"{prefix}-{digest}"
    try:
        return Published(id=id, text=text)
    except InvalidInput as error:
        raise invalid("document", f"the list item at its line {line}: {error.reason}") from None


# --- what is where -----------------------------------------------------------------------------


def _items(tokens: Sequence[Token]) -> Iterator[tuple[str | None, tuple[int, int] | None]]:
    """Yield each heading and no place, and each top-level list item as the heading above it and its lines."""
    heading: str | None = None
    listed = False
    for index, token in enumerate(tokens):
        if token.level == 0:
            listed = token.type in ("bullet_list_open", "ordered_list_open")
            if token.type == "heading_open":
                heading = _plain(tokens[index + 1].content)
                yield heading, None
        elif token.level == 1 and listed and token.type == "list_item_open":
            assert token.map is not None, "a list item knows its lines"
            yield heading, (token.map[0], token.map[1])


def _plain(inline: str) -> str:
    """Leave the marks of emphasis, code and links out of a heading."""
    children = _INLINE.parseInline(inline)[0].children or ()
    return "".join(" " if child.type.endswith("break") else child.content for child in children).strip()


def _item_text(lines: Sequence[str]) -> str:
    """Write an item without its marker and without the indentation that makes it an item.

    Line ends become LF, as CommonMark knows no difference between them; blank lines at the end go.
    """
    marker = re.match(r" {0,3}(?:[-+*]|\d{1,9}[.)])", lines[0])
    assert marker is not None, "a list item begins with its marker"
    bare = " " * marker.end() + lines[0][marker.end() :]
    room = _columns(bare) - marker.end()
    # Four columns and more behind the marker are code that is indented inside the item.
    offset = marker.end() + (room if bare.strip(" \t") and room <= _TAB_STOP else 1)
    return "\n".join(_dedented(line, offset) for line in (bare, *lines[1:])).strip("\n").rstrip()


def _columns(line: str) -> int:
    """Count the columns of white space that a line begins with."""
    column = 0
    for character in line:
        if character == "\t":
            column += _TAB_STOP - column % _TAB_STOP
        elif character == " ":
            column += 1
        else:
            break
    return column


def _dedented(line: str, columns: int) -> str:
    """Take away up to so many columns of white space; what is left of a tab becomes spaces."""
    column = 0
    for index, character in enumerate(line):
        if column >= columns or character not in " \t":
            return " " * (column - columns) + line[index:]
        column += _TAB_STOP - column % _TAB_STOP if character == "\t" else 1
    return ""


# --- the parser --------------------------------------------------------------------------------

_TAG = re.compile(r"</?([A-Za-z][\w:.-]*)(?:\s[^<>]*)?/?>[ \t]*")
_HTML = frozenset({*block_names, "pre", "script", "style", "textarea"})


def _tag_line(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Recognise a line that holds one tag, unless HTML knows the tag as a block of its own."""
    if state.sCount[start] - state.blkIndent >= _TAB_STOP:
        return False
    line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    tag = _TAG.fullmatch(line)
    if tag is None or tag[1].lower() in _HTML:
        return False
    if not silent:
        state.line = start + 1
        token = state.push("html_block", "", 0)
        token.map = [start, state.line]
        token.content = line
    return True


def _block_parser() -> MarkdownIt:
    # Where its bound on nesting is reached the parser takes the rest of the text for part of what it is in;
    # without a bound it runs out of stack, which can be told.
    parser = MarkdownIt("commonmark", {"maxNesting": 10_000}).disable(["inline", "text_join"])
    parser.block.ruler.before(
        "html_block", "tag_line", _tag_line, {"alt": ["paragraph", "reference", "blockquote"]}
    )
    return parser


_BLOCKS = _block_parser()
_INLINE = MarkdownIt("commonmark")
