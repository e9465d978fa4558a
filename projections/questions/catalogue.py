"""Every question, by name."""

from __future__ import annotations

from ledger.canonical import invalid
from projections.questions.base import Question
from projections.questions.writers import Writers

_ALL: tuple[Question, ...] = (Writers(),)

QUESTIONS: dict[str, Question] = {one.name: one for one in _ALL}
"""In the order in which they are listed."""


def question_named(name: str) -> Question:
    """Return a question by its name.

    Raises:
        InvalidInput: there is none of that name; `reason` lists those there are.
    """
    found = QUESTIONS.get(name)
    if found is None:
        raise invalid("question", f"there is no question {name!r:.60}; there are: {', '.join(QUESTIONS)}")
    return found
