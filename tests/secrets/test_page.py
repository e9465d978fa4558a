"""The page on secrets: its program prints what it says, and it lists all that is known for a secret."""

from __future__ import annotations

import re

import pytest

from ledger.secrets import DEFAULT_NAMES, DEFAULT_SHAPES, Secrets
from tests.conftest import ROOT
from tests.test_readme import blocks

PAGE = (ROOT / "docs/how-to/secrets.md").read_text("utf-8")


def test_its_program_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (program,), (printed,) = blocks(PAGE, "python"), blocks(PAGE, "text")
    exec(compile(program, "page.py", "exec", dont_inherit=True), {"__name__": "page"})
    assert capsys.readouterr().out == printed


def test_it_lists_every_shape_and_every_name() -> None:
    rules = re.findall(r"^\| (`[a-z`, -]+`) \|", PAGE, re.MULTILINE)
    assert {rule for row in rules for rule in re.findall(r"`([a-z-]+)`", row)} == {
        one.name for one in DEFAULT_SHAPES
    }
    named = PAGE.partition("**Names** of fields")[2].partition("**Names in words.**")[0]
    assert set(re.findall(r"`([a-z0-9_]+)`", named)) >= DEFAULT_NAMES


def test_what_it_says_of_words_is_so() -> None:
    for said in (
        *("the password: see vault", "secret: /run/secrets/db", "it is hunter2", "pin=4821"),
        *("token: TOKEN_V2_PROD", "password: SHA256", "password: ABC-12345", "password: INC0012345"),
    ):
        assert said in PAGE
        assert Secrets().redact_words(said) is said
    for name in ("openai_api_key=", "GITHUB_TOKEN=", "PGPASSWORD="):
        assert f"`{name}`" in PAGE
        assert Secrets().redact_words(f"{name}8f14e45f") == f"{name}[redacted:name]"
    assert Secrets().redact_words("password=hunter2") == "password=[redacted:name]"
