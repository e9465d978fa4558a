"""Effects that broke a rule: by the record of then, and by what is known now."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator

from ledger.run.rules import asks_approval, breaches
from projections.questions.approvals_asked import COUNTING
from projections.questions.base import PERIOD, SOME_RUN, AnswerColumn, Asked, Question, Row
from projections.questions.executions import Execution, executions
from projections.questions.imported import tell_of_imported
from projections.questions.rules_in_force import Bound, RulesOfRun, rules_of

_COLUMNS = (
    AnswerColumn("run", "The run."),
    AnswerColumn("key", "The effect."),
    AnswerColumn("tool", "Its tool."),
    AnswerColumn("effect_position", "Position of the start; of an imported effect: of its intent."),
    AnswerColumn("at", "When it was begun."),
    AnswerColumn("happened_at", "When it happened as the outside said, else when it was begun."),
    AnswerColumn("constraint", "The constraint, by its id in the run."),
    AnswerColumn("constraint_position", "Position of its acceptance."),
    AnswerColumn("source", "The source it was accepted from; empty: from none."),
    AnswerColumn("revision", "The revision it was accepted in."),
    AnswerColumn("asserted_by", "Who asserted it, as it was claimed."),
    AnswerColumn("verdict", "`broken`; `undecidable`: the effect does not say what the condition speaks of."),
    AnswerColumn("condition", "What would have had to be so."),
    AnswerColumn("value", "What was found instead; an argument is canonical JSON; empty: nothing was there."),
)
_CANNOT = (
    "what a constraint says in words only; rules that this run did not accept; whether an approval held for "
    "what was done on it, which `void-approvals` asks. An act is approved where its intent cites a request "
    "under its key that was approved before, by an answer that counts: what was imported cites one only if "
    "the import said so. Arguments that were left out because they are defaults are known where the gateway "
    "recorded them."
)


class _Broken(Question):
    """What both views share: effects that were begun, against rules that bound them."""

    group = "Rules"
    parameters = (SOME_RUN, *PERIOD)
    uses = ("approvals", "constraints", "effects")
    example = "since=2026-01-01T00:00:00Z before=2026-04-01T00:00:00Z"

    def rows(self, asked: Asked) -> Iterable[Row]:
        begun = executions(asked)
        rules = rules_of(asked, (one.run for one in begun))
        held = 0
        for one in begun:
            bounds = list(self.bound(rules[one.run], one))
            held += bool(bounds)
            for bound, view in bounds:
                for broken in _broken(asked, one, bound):
                    yield (*_told(one, bound), *broken, view)
        asked.note(_looked_at(rules.values(), len(begun), held))
        tell_of_imported(asked, sum(not one.witnessed for one in begun), len(begun))

    @abstractmethod
    def bound(self, rules: RulesOfRun, one: Execution) -> Iterable[tuple[Bound, str]]:
        """Return the rules that bound an execution in this view, by position, and the name of the view."""


class Violations(_Broken):
    """Effects that broke a rule that was in force when they ran."""

    name = "violations"
    about = (
        "Effects that broke a rule that the run had accepted and not withdrawn when they were intended, "
        "within the valid time it names: what the gateway holds claims to."
    )
    cannot = f"What was asserted before it was accepted, which `violations-corrected` asks; {_CANNOT}"
    columns = (*_COLUMNS, AnswerColumn("view", "`recorded`."))

    def bound(self, rules: RulesOfRun, one: Execution) -> Iterable[tuple[Bound, str]]:
        for bound in _in_order(rules.recorded(one.intent, one.intended_at)):
            yield bound, "recorded"


class ViolationsCorrected(_Broken):
    """Effects that broke a rule by what is known now."""

    name = "violations-corrected"
    about = (
        "Effects that broke a rule by what is known now: by the time from which it was valid or asserted, "
        "even if it was accepted later, and until it ended."
    )
    cannot = f"What else was backdated or will be; {_CANNOT}"
    columns = (
        *_COLUMNS,
        AnswerColumn(
            "view", "`both`: by the record of then as well; `corrected`: by what is known now only."
        ),
    )

    def bound(self, rules: RulesOfRun, one: Execution) -> Iterable[tuple[Bound, str]]:
        recorded = {bound.acceptance.position for bound in rules.recorded(one.intent, one.intended_at)}
        for bound in _in_order(rules.corrected(one.happened)):
            yield bound, "both" if bound.acceptance.position in recorded else "corrected"


def _looked_at(rules: Iterable[RulesOfRun], effects: int, held: int) -> str:
    """Say how much was held against what: that nothing was broken says little where nothing was checked."""
    if not effects:
        return "no effect was begun in what is asked about: nothing was checked"
    constraints = [accepted for run in rules for accepted in run.accepted.values()]
    ruled = sum(any(one.rule is not None for one in accepted) for accepted in constraints)
    return (
        "constraints of these runs that state a rule a machine can check: "
        f"{ruled:,} of {len(constraints):,}; "
        f"effects that were held against one or more: {held:,} of {effects:,}"
    )


def _in_order(bound: Iterable[Bound]) -> list[Bound]:
    return sorted(bound, key=lambda one: one.acceptance.position)


def _broken(asked: Asked, one: Execution, bound: Bound) -> Iterator[Row]:
    """Return verdict, condition and value of everything that an execution broke of a rule."""
    for breach in breaches(bound.rule, one.tool, one.args, one.resource, asked.tenant):
        yield "undecidable" if breach.undecidable else "broken", breach.condition, breach.value
    if asks_approval(bound.rule, one.tool, one.args) and not _is_approved(asked, one):
        yield "broken", "a person approves it before it starts", None


def _told(one: Execution, bound: Bound) -> Row:
    by = bound.acceptance
    effect = (one.run, one.key, one.tool, one.position, one.at, one.happened)
    return (*effect, by.id, by.position, by.source, by.revision, by.asserted_by)


# The last request of the id that is cited, if it is about this act.
_APPROVED = f"""
    SELECT a.position FROM {{approvals.requests}} AS r
    JOIN {{approvals.answers}} AS a ON a.run = r.run AND a.position = ({COUNTING})
    WHERE r.run = :run AND r.id = :approval AND r.key = :key AND r.position = (
            SELECT MAX(l.position) FROM {{approvals.requests}} AS l
            WHERE l.run = :run AND l.id = :approval AND l.position < :intent
        )
        AND a.answer = 'approved' AND a.position < :intent
"""


def _is_approved(asked: Asked, one: Execution) -> bool:
    cited = {"run": one.run, "key": one.key, "intent": one.intent, "approval": one.approval}
    return one.approval is not None and bool(asked.select(_APPROVED, **cited))
