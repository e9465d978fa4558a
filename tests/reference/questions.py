"""The page of questions: what each answers and cannot tell, what it takes, and what its columns mean."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from projections.questions.base import Parameter, Question
from projections.questions.catalogue import QUESTIONS
from tests.reference.words import oneline, page, table

INTRODUCTION = """\
How they are asked stands under [ask questions](../how-to/ask.md). Every question can be asked as of an
earlier global position or time, and then says what the ledger said then.

Where a row has `run` and `position`, they name the record that it comes from. Times are UTC with
microseconds, `2026-01-31T09:15:00.000000Z`; yes and no are 1 and 0, lists and objects are JSON text, hashes
and digests are hexadecimal. A reference is written `kind:name`. A parameter that is *needed* has to be
given; of the others those that are given must all match."""


def questions_page() -> str:
    """Write every question."""
    return page("Questions", *_parts())


def _parts() -> Iterator[str]:
    yield INTRODUCTION
    for group, questions in groupby(QUESTIONS.values(), lambda one: one.group):
        yield f"## {group}"
        for question in questions:
            yield from _question(question)


def _question(question: Question) -> Iterator[str]:
    yield f"### `{question.name}`"
    yield oneline(question.about)
    yield f"*It cannot tell:* {_lowered(oneline(question.cannot))}"
    if question.parameters:
        yield table(("Parameter", "Meaning"), map(_parameter, question.parameters))
    yield table(
        ("Column", "Meaning"), ((f"`{column.name}`", oneline(column.about)) for column in question.columns)
    )
    yield f"    intent-ledger ask {question.name} {question.example}".rstrip()


def _parameter(parameter: Parameter) -> tuple[str, str]:
    kind = "" if parameter.kind == "text" else f" ({parameter.kind})"
    needed = "; needed" if parameter.required else ""
    choices = f" One of {', '.join(f'`{one}`' for one in parameter.choices)}." if parameter.choices else ""
    return f"`{parameter.name}`{kind}{needed}", oneline(f"{parameter.about}{choices}")


def _lowered(sentence: str) -> str:
    """Begin a sentence in lower case, unless its first word is written in capitals."""
    first = sentence.partition(" ")[0]
    return sentence if first.isupper() and len(first) > 1 else sentence[0].lower() + sentence[1:]
