"""Shapes of tokens: prefixes and structures by which a secret is known wherever it stands in a text.

Every pattern takes time linear in its text, and its matches end where no other match could begin, so that a
text of which all matches were replaced has none. For the first, each repetition is bounded, or consumes what
it tried (`*+`), or can begin only once in a run of characters; for the second, a match ends before a
character that is no letter or digit, and begins behind one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ledger.canonical import invalid

MARKER = re.compile(r"\[redacted:[a-z0-9-]{1,40}\]")
"""What stands in the place of a secret: `[redacted:RULE]`."""

_PLACEHOLDER = (
    r"(?:[*•●…]+|\.{3}|[xX]{3,}|\$[A-Z_][A-Z0-9_]{0,80}|\$\{{1,2}[\w .]{1,80}\}{1,2}"
    r"|\{{1,2}[\w .-]{1,80}\}{1,2}|<[\w .-]{1,80}>)"
)
PLACEHOLDER = re.compile(_PLACEHOLDER, re.ASCII)
"""What people write where a secret is to stand: `${NAME}`, `$NAME`, `{name}`, `<name>`, `xxx`, `***`.

With a default in it, as in `${NAME:-hunter2}`, it is none.
"""


def marker(rule: str) -> str:
    """Return what stands in the place of a secret that was found by a rule."""
    return f"[redacted:{rule}]"


@dataclass(frozen=True, slots=True)
class Shape:
    r"""A shape of tokens: its name (`a-z0-9-`), a regular expression, and hints.

    Hints are parts of a token, one of which every match has. The expression is tried only on texts that have
    one of them; its classes (`\w`, `\s`) are ASCII. Where it has a group `secret`, only that is the secret.

    Raises:
        InvalidInput: the name is none, there are no hints, or the expression is none, matches an empty text,
            or matches what stands in the place of a secret.
    """

    name: str
    pattern: str
    hints: tuple[str, ...]
    _compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not MARKER.fullmatch(marker(self.name)):
            raise invalid("name", f"{self.name!r:.60} is not 1 to 40 of a-z, 0-9 and '-'")
        if type(self.hints) is not tuple or not self.hints or not all(self.hints):
            raise invalid("hints", "give a tuple of texts, one of which every such token has")
        try:
            compiled = re.compile(self.pattern, re.ASCII)
        except re.error as error:
            raise invalid("pattern", str(error)) from None
        if compiled.search("") or compiled.search(marker(self.name)):
            raise invalid("pattern", "it matches an empty text, or what stands in the place of a secret")
        object.__setattr__(self, "_compiled", compiled)

    def may_be_in(self, text: str) -> bool:
        """Tell quickly whether the text has one of the hints."""
        return any(hint in text for hint in self.hints)

    def is_in(self, text: str) -> bool:
        """Tell whether such a token is in the text."""
        return self._compiled.search(text) is not None

    def redacted(self, text: str) -> str:
        """Return the text with each such token replaced; an equal one where there is none."""
        return self._compiled.sub(self._instead, text)

    def _instead(self, match: re.Match[str]) -> str:
        if "secret" not in self._compiled.groupindex:
            return marker(self.name)
        whole, start = match[0], match.start()
        first, last = match.span("secret")
        return whole[: first - start] + marker(self.name) + whole[last - start :]


def _prefixed(name: str, prefix: str, rest: str, *hints: str) -> Shape:
    """Build the shape of a token that begins with a prefix of its issuer, behind no letter or digit."""
    return Shape(name, rf"(?<![A-Za-z0-9])(?:{prefix})(?![xX]{{3,}}(?![\w-])){rest}", hints)


_DIGIT = "(?=[A-Za-z_-]{0,80}[0-9])"
"""Random characters have a digit among them; words that happen to begin alike seldom do."""

# Private keys come first: what follows their dashes is a token only once they are replaced.
DEFAULT_SHAPES: tuple[Shape, ...] = (
    Shape(
        "private-key",
        r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[^-]*+(?:-(?!----)[^-]*+)*+-----END [A-Z0-9 ]{1,60}-----"
        # Where the end was cut off, the lines of base64 that are there.
        r"|(?:\s|\\[nr])*+[A-Za-z0-9+/=]{40,}[A-Za-z0-9+/=\s\\]*+)",
        ("-----BEGIN ",),
    ),
    _prefixed("stripe-key", "[sr]k_(?:live|test)_", r"[\w-]{10,}", "k_live_", "k_test_"),
    _prefixed("webhook-secret", "whsec_", r"[\w+/=-]{16,}", "whsec_"),
    _prefixed("aws-key-id", "AKIA|ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])", "AKIA", "ASIA"),
    _prefixed(
        "github-token",
        "gh[opsur]_|github_pat_",
        r"[\w-]{20,}(?:\.[\w-]{10,}){0,2}",
        *("ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_"),
    ),
    _prefixed("gitlab-token", "glpat-", r"[\w-]{16,}(?:\.[0-9a-z]{2,9}(?![\w-])){0,2}", "glpat-"),
    _prefixed("slack-token", "xox[abeoprs]-|xapp-", rf"{_DIGIT}[\w-]{{10,}}", "xox", "xapp-"),
    Shape(
        "slack-webhook",
        r"hooks\.slack\.com/services/(?P<secret>T\w{6,40}/B\w{6,40}/[\w-]{16,})",
        ("hooks.slack.com/services/",),
    ),
    _prefixed("google-key", "AIza", r"[\w-]{30,}", "AIza"),
    _prefixed("google-token", r"ya29\.|GOCSPX-", r"[\w-]{20,}", "ya29.", "GOCSPX-"),
    _prefixed("anthropic-key", "sk-ant-", rf"{_DIGIT}[\w-]{{16,}}", "sk-ant-"),
    _prefixed(
        "openai-key",
        "sk-",
        r"(?:(?:proj|svcacct|admin)-(?=[A-Za-z_-]{0,80}[0-9])[\w-]{20,}"
        r"|(?:or-v1-)?(?=[A-Za-z]{0,80}[0-9])[A-Za-z0-9]{20,}[\w-]*)",
        "sk-",
    ),
    _prefixed("huggingface-token", "hf_", r"[A-Za-z0-9]{30,}[\w-]*", "hf_"),
    _prefixed("npm-token", "npm_", r"[A-Za-z0-9]{30,}[\w-]*", "npm_"),
    _prefixed("pypi-token", "pypi-AgE", r"[\w-]{50,}", "pypi-AgE"),
    _prefixed("sendgrid-key", r"SG\.", r"[\w-]{16,}+\.[\w-]{16,}", "SG."),
    _prefixed("shopify-token", "shp(?:at|ca|pa|ss)_", r"[\w-]{20,}", "shp"),
    _prefixed("digitalocean-token", "do[opr]_v1_", r"[\w-]{32,}", "_v1_"),
    _prefixed("vault-token", r"hv[bs]\.", rf"{_DIGIT}[\w-]{{20,}}", "hvs.", "hvb."),
    Shape("telegram-token", r"(?<![A-Za-z0-9])[0-9]{8,10}:AA[\w-]{30,}", (":AA",)),
    Shape("jwt", r"eyJ(?<![\w-]eyJ)[\w-]{8,}+(?:\.[\w-]{8,}+){2,4}", ("eyJ",)),
    Shape(
        "bearer-token",
        r"(?<![A-Za-z0-9])[Bb]earer[ \t]{1,8}"
        # Words and numbers with hyphens between them name something.
        r"(?!(?:[a-z]{1,40}|[0-9]{1,4})(?:-(?:[a-z]{1,40}|[0-9]{1,4})){1,20}(?![\w.~+/=-]))"
        r"(?P<secret>(?=[A-Za-z._~+/=-]{0,60}[0-9])[\w.~+/=-]{16,}|[\w.~+/=-]{40,})",
        ("earer",),
    ),
    Shape(
        "basic-auth",
        # Base64 has a digit, or a capital after its first letter, where a word has none.
        r"uthorization: Basic (?![A-Za-z]?[a-z_-]{0,80}(?![\w+/=-]))(?P<secret>[\w+/=-]{8,})",
        ("uthorization: Basic ",),
    ),
    Shape("azure-key", r"AccountKey=(?P<secret>[\w+/=-]{40,})", ("AccountKey=",)),
    Shape(
        "url-key",
        r"[?&](?:api[_-]?key|access_token|auth_token|client_secret)="
        rf"(?P<secret>(?!\[redacted:|{_PLACEHOLDER}[).,;:!\]}}]{{0,3}}(?:[&\s#\"'<>]|\Z))[^&\s#\"'<>]{{8,}})",
        ("=",),
    ),
    Shape(
        "url-password",
        r"://[^\s/?#:@\"'<>\[\]]{0,200}:"
        rf"(?P<secret>(?!(?:{_PLACEHOLDER}|\[redacted:[a-z0-9-]{{1,40}}\])@)[^\s/?#\"'<>]{{1,256}})@",
        ("://",),
    ),
)
"""Shapes that have few look-alikes. Tokens without one are found by the names of their fields."""
