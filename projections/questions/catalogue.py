"""Every question, by name."""

from __future__ import annotations

from ledger.errors import InvalidInput
from projections.questions.affected import AffectedRuns
from projections.questions.approvals_approvers import Approvers
from projections.questions.approvals_executed import ApprovedAgainstExecuted
from projections.questions.approvals_void import VoidApprovals
from projections.questions.authority_of_effect import AuthorityOfEffect
from projections.questions.base import Question
from projections.questions.basis import BasisOfDecision
from projections.questions.before_acceptance import BeforeAcceptance
from projections.questions.changed_since_review import ChangedSinceReview
from projections.questions.constraint_history import ConstraintHistory
from projections.questions.constraints_in_force import ConstraintsAtEffect
from projections.questions.effect_listing import EffectListing
from projections.questions.goal_history import GoalHistory
from projections.questions.interventions import Interventions
from projections.questions.obligations import Obligations
from projections.questions.open_outcomes import OpenOutcomes
from projections.questions.refused_calls import RefusedCalls
from projections.questions.relaxations import EffectsAfterChange, Relaxations
from projections.questions.resumes import Resumes
from projections.questions.reviews import ReviewsOfRuns
from projections.questions.said_on import SaidOn
from projections.questions.same_runtime import SameRuntime
from projections.questions.sample import SampleOfEffects
from projections.questions.seen_before import SeenBeforeEffect
from projections.questions.subjects import AboutSubject
from projections.questions.terms_at_effect import TermsAtEffect
from projections.questions.timeline import TimelineOfRun
from projections.questions.violations import Violations, ViolationsCorrected
from projections.questions.writers import Writers

_ALL: tuple[Question, ...] = (
    ConstraintsAtEffect(),
    TermsAtEffect(),
    AuthorityOfEffect(),
    SeenBeforeEffect(),
    BasisOfDecision(),
    ConstraintHistory(),
    Relaxations(),
    EffectsAfterChange(),
    BeforeAcceptance(),
    Violations(),
    ViolationsCorrected(),
    RefusedCalls(),
    AffectedRuns(),
    SaidOn(),
    ChangedSinceReview(),
    TimelineOfRun(),
    Resumes(),
    ReviewsOfRuns(),
    Obligations(),
    GoalHistory(),
    ApprovedAgainstExecuted(),
    Approvers(),
    VoidApprovals(),
    OpenOutcomes(),
    EffectListing(),
    SampleOfEffects(),
    AboutSubject(),
    Writers(),
    Interventions(),
    SameRuntime(),
)

QUESTIONS: dict[str, Question] = {one.name: one for one in _ALL}
"""In the order in which they are listed."""


def question_named(name: str) -> Question:
    """Return a question by its name.

    Raises:
        InvalidInput: there is none of that name; `reason` lists those there are.
    """
    found = QUESTIONS.get(name)
    if found is None:
        words = f"there is no question {name!r:.60}; there are: {', '.join(QUESTIONS)}"
        raise InvalidInput(words, path="question", reason=words)
    return found
