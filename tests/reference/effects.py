"""The page of effects: tools, what performing one takes and yields, what is known of it, and secrets."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise

import ledger
from ledger.application.acts import Options
from ledger.application.performing import Block
from ledger.application.settling import Reconciled, Unsettled
from ledger.gateway.answers import Happened, NotHappened, Outcome
from ledger.gateway.current import CurrentEffect
from ledger.gateway.tools import Declared, Retry, Tool
from ledger.run.history import EffectHistory
from ledger.run.known import Finding, Told
from ledger.secrets import Found, Secrets, Shape
from ledger.values import SecretRef
from tests.reference.fields import Field, facts, fields, inputs, plain, stated_kinds, with_words
from tests.reference.signatures import called, described
from tests.reference.words import oneline, page, table

INTRODUCTION = """\
How to use them stands under [act on the outside, once](../how-to/effects.md); `Run.perform`, `Run.effect` and
what a ledger knows of effects under [the library](library.md). In an event loop tools and probes may be
coroutine functions.

Fields in *italics* may be None or empty."""


def effects_page() -> str:
    """Write what programs declare, call and are told around effects."""
    return page("Effects", *_parts())


def _parts() -> Iterator[str]:
    yield INTRODUCTION
    yield "## Tools"
    yield called("tool", ledger.tool, "### `tool`")
    yield _options(Declared)
    yield _given(Retry)
    yield _with_members(Tool)
    yield "## Performing"
    yield _options(Options)
    yield _given(Outcome)
    yield "\n\n".join(("### `Block`", inspect.getdoc(Block) or "", *described(Block, "####")))
    yield called("current_effect", ledger.current_effect, "### `current_effect`")
    yield _attributes(CurrentEffect)
    yield "## What a probe answers"
    yield _given(Happened)
    yield _given(NotHappened)
    yield "## What is known"
    for kind in (EffectHistory, Told, Finding, Unsettled, Reconciled):
        yield _returned(kind)
    yield "## Secrets"
    yield _with_members(SecretRef)
    yield _returned(Secrets)
    yield _given(Shape)
    yield _returned(Found)


def _options(kind: type) -> str:
    """Write the keys of a dictionary of options."""
    body = _body(kind)
    kinds, words = dict(stated_kinds(body)), dict(with_words(body))
    rows = [(f"`{name}`", plain(said), words.get(name, "")) for name, said in kinds.items()]
    return "\n\n".join(
        (f"### `{kind.__name__}`", inspect.getdoc(kind) or "", table(("Option", "Kind", "Meaning"), rows))
    )


def _given(kind: type) -> str:
    return _described(kind, list(inputs(fields(kind))))


def _returned(kind: type) -> str:
    return _described(kind, list(facts(fields(kind), Field.may_be_none)))


def _with_members(kind: type) -> str:
    return _described(kind, [])


def _described(kind: type, tables: list[str]) -> str:
    words = inspect.getdoc(kind) or ""
    return "\n\n".join((f"### `{kind.__name__}`", words, *tables, *described(kind, "####")))


def _attributes(kind: type) -> str:
    """Write the attributes that a plain class sets when it is made, and its methods."""
    (init,) = (one for one in _body(kind) if isinstance(one, ast.FunctionDef) and one.name == "__init__")
    rows = [
        (f"`{target.attr}`", oneline(str(below.value.value)))
        for statement, below in pairwise(init.body)
        for target in _targets(statement)
        if isinstance(target, ast.Attribute)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
    ]
    return _described(kind, [table(("Attribute", "Meaning"), rows)])


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) else []


def _body(kind: type) -> list[ast.stmt]:
    (stated,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(stated, ast.ClassDef)
    return stated.body
