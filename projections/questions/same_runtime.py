"""Where else the same model, prompt, tools, configuration or revision of a policy was used."""

from __future__ import annotations

from collections.abc import Iterable

from projections.observations import RUNTIME_FIELDS
from projections.questions.base import PERIOD, AnswerColumn, Asked, Known, Parameter, Question, Row, refused

_DIGESTS = tuple(field for field in RUNTIME_FIELDS if field != "model")


class SameRuntime(Question):
    """Where else the same model, the same version of what it ran with, or the same policy was used."""

    name = "same-runtime"
    group = "People and subjects"
    about = (
        "Every place of every run where the same model, the same version of prompt, tools, configuration or "
        "context policy, or the same revision of a source was used."
    )
    cannot = (
        "Where a model was used and nobody said so; a run that inherits constraints shows them as accepted "
        "again."
    )
    parameters = (
        Parameter(
            "model",
            "The model by its name. One of model, digest, or source and revision is needed.",
            known=Known("observations.versions.value", "version"),
        ),
        Parameter(
            "digest",
            "A name or digest of prompt, tools (tool_schema), config, context_policy, sampling or runtime.",
            known=Known("observations.versions.value", "version"),
        ),
        Parameter(
            "source",
            "A source as `kind:name`, together with its revision.",
            "reference",
            known=Known("constraints.acceptances.source", "acceptance from the source"),
        ),
        Parameter("revision", "The revision of the source."),
        *PERIOD,
    )
    columns = (
        AnswerColumn("run", "The run."),
        AnswerColumn("position", "Position in the run of what names it."),
        AnswerColumn("at", "When that was recorded."),
        AnswerColumn(
            "how",
            "The run was `opened` or `resumed` with it, somebody `adopted` it, a model call `observed` it; a "
            "constraint was `accepted` from the revision, or the revision `acknowledged`.",
        ),
        AnswerColumn("field", "Field of the runtime, e.g. `model` or `prompt`; `revision` of a source."),
        AnswerColumn("value", "The name or digest that is the same."),
        AnswerColumn("subject", "The tool that asked the model; the constraint that was accepted."),
    )
    example = "model=atlas-4"
    uses = ("observations", "constraints")

    def rows(self, asked: Asked) -> Iterable[Row]:
        given = asked.given
        ways = [name for name in ("model", "digest", "source") if given[name] is not None]
        if len(ways) != 1 or (given["revision"] is None) != (given["source"] is None):
            raise refused("model", "or digest= or source= with revision= is needed, and one of them only")
        if given["source"] is not None:
            return _of_revision(asked)
        value, fields = (given["model"], ("model",)) if ways == ["model"] else (given["digest"], _DIGESTS)
        return asked.select(
            f"""
            SELECT f.run, f.position, f.at, f.how, f.field, f.value, o.tool
            FROM {{observations.versions}} AS f
            LEFT JOIN {{observations.observations}} AS o ON o.run = f.run AND o.position = f.position
            WHERE f.value = :value AND f.field IN :fields AND {_within(asked)}
            ORDER BY f.at, f.run, f.position, f.field
            """,
            **given,
            value=value,
            fields=fields,
        )


def _of_revision(asked: Asked) -> list[Row]:
    # Put in order afterwards, and its time not compared as it is: SQLite would walk through the acceptances
    # of all sources by time.
    found = asked.select(
        f"""
        SELECT f.run, f.position, f.at, 'accepted', 'revision', f.revision, f.id
        FROM {{constraints.acceptances}} AS f
        WHERE f.source = :source AND f.revision = :revision AND {_within(asked, "f.at || ''")}
        UNION ALL
        SELECT f.run, f.position, f.at, 'acknowledged', 'revision', f.revision, NULL
        FROM {{constraints.acknowledgements}} AS f
        WHERE f.source = :source AND f.revision = :revision AND {_within(asked)}
        """,
        **asked.given,
    )
    return sorted(found, key=lambda row: (row[2], row[0], row[1]))


def _within(asked: Asked, at: str = "f.at") -> str:
    return asked.where(since=f"{at} >= :since", before=f"{at} < :before")
