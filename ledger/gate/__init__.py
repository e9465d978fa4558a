"""The resume gate: whether a stopped run may go on, and what clears each reason why not.

`judge` is a pure function of a contract and a `Question`; it is total, and reports all reasons.
"""

from ledger.gate.judging import judge
from ledger.gate.question import IDLE_SECONDS, LIVE_SECONDS, Question
from ledger.gate.reasons import KINDS, STRICTNESS, Kind, judgement, verdict_of
from ledger.run.decision import Judgement

__all__ = [
    "IDLE_SECONDS",
    "KINDS",
    "LIVE_SECONDS",
    "STRICTNESS",
    "Judgement",
    "Kind",
    "Question",
    "judge",
    "judgement",
    "verdict_of",
]
