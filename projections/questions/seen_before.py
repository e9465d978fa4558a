"""What a run had seen and been told before it acted, and what ran it then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any

from projections.observations import RUNTIME_FIELDS
from projections.questions.base import KEY, AnswerColumn, Asked, Question, Row
from projections.questions.effect_keys import effect_keys
from projections.questions.runtimes import in_force


class SeenBeforeEffect(Question):
    """What was seen before an effect: observations, messages, and the versions of what ran the agent."""

    name = "seen-before-effect"
    group = "Before an act"
    about = (
        "What a run had recorded of the outside, and of what was said, before it intended an effect, and the "
        "model, prompt and tool versions in force then."
    )
    cannot = (
        "What the model was shown of it, and what a run before this one in its lineage had seen; of messages "
        "and large values it has the digest, not the content."
    )
    parameters = (KEY,)
    columns = (
        AnswerColumn(
            "effect_position",
            "Position of the intent; each attempt has one, and each asking for an approval.",
        ),
        AnswerColumn("run", "The run that acted, and that recorded what follows."),
        AnswerColumn("position", "Position in the run where it was recorded."),
        AnswerColumn("at", "When it was recorded."),
        AnswerColumn(
            "kind",
            "`observation`, `message`, `summary` (in the place of all messages up to one), `tool` (the act's "
            "own), or a field of the runtime in force: `model`, `prompt`, `tool_schema`, ….",
        ),
        AnswerColumn(
            "name",
            "The tool; of a message its role; of the runtime how it was named: `opened`, `adopted`, ….",
        ),
        AnswerColumn("key", "Key of the observation, id of the message."),
        AnswerColumn("value", "What was seen, as JSON; of the runtime the name or digest in force."),
        AnswerColumn("digest", "Digest of the content where the record holds no more."),
        AnswerColumn("observed_at", "When it was seen, where somebody said so."),
        AnswerColumn("invalidated", "Position before the intent at which it was said not to be relied on."),
        AnswerColumn("model", "The model that answered, where a model was asked."),
        AnswerColumn("prompt_digest", "Prompt that model was asked with."),
        AnswerColumn("tool_schema", "Digest of the tools' schema, as the intent or the model call names it."),
    )
    example = "key=3f9a1c"
    uses = ("effects", "observations")

    def rows(self, asked: Asked) -> Iterable[Row]:
        (key,) = effect_keys(asked)
        intents = asked.select(
            """
            SELECT i.run, i.position, i.at, i.tool, i.tool_schema FROM {effects.intents} AS i
            WHERE i.key = :key ORDER BY i.gid
            """,
            key=key,
        )
        for run, position, at, tool, schema in intents:
            found = [
                *asked.select(_OBSERVATIONS, run=run, before=position),
                *asked.select(_MESSAGES, run=run, before=position),
                *_versions(asked, run, position),
                (position, at, "tool", tool, *[None] * 7, schema),
            ]
            for row in sorted(found, key=itemgetter(0)):
                yield (position, run, *row)


_OBSERVATIONS = """
    SELECT o.position, o.at, 'observation', o.tool, o.key, o.value, o.value_digest, o.observed_at,
        (SELECT MIN(v.position) FROM {observations.invalidations} AS v
            WHERE v.run = :run AND v.key = o.key AND v.position > o.position AND v.position < :before),
        r.model, r.prompt, r.tool_schema
    FROM {observations.observations} AS o
    LEFT JOIN {observations.runtimes} AS r ON r.run = :run AND r.position = o.position
    WHERE o.run = :run AND o.position < :before
    ORDER BY o.position
"""

_MESSAGES = """
    SELECT m.position, m.at, CASE WHEN m.stands_for IS NULL THEN 'message' ELSE 'summary' END, m.role, m.id,
        m.content, m.digest, NULL, NULL, NULL, NULL, NULL
    FROM {observations.messages} AS m
    WHERE m.run = :run AND m.position < :before
    ORDER BY m.position
"""


def _versions(asked: Asked, run: str, before: int) -> Iterator[Row]:
    """Tell each field of the runtime in force, with where it was last named."""
    named = in_force(asked, run, before)
    for field in RUNTIME_FIELDS:
        if field in named:
            one: Any = named[field]
            yield one.position, one.at, field, one.how, None, one.value, *[None] * 6
