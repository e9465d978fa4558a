"""What people answered about calls of tools, as a call hears it and has it recorded."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from ledger.adapters.langgraph import interrupts
from ledger.adapters.langgraph.calls import Answered, Call, Find, Load, May, See, Step
from ledger.adapters.langgraph.earlier import Known
from ledger.adapters.langgraph.running import entered_with
from ledger.adapters.threads.naming import named_in
from ledger.application.refusals import refusal_error
from ledger.errors import ApprovalNotFound, EffectNotFound, InvalidInput, LedgerError, NotOpen, RunIsClosed
from ledger.run.approvals import key_of
from ledger.run.contract import Contract
from ledger.run.decision import Refusal
from ledger.run.permission import Permission


def check_denied(call: Call, options: dict[str, Any]) -> Generator[Step, Any, None]:
    """Refuse what a person denied for another message, where nobody has spoken to the model since.

    Raises:
        ApprovalDenied: as said.
    """
    contract: Contract = yield See()
    entered = entered_with(call.config)
    earlier = None if entered is None else entered.earlier
    if not any(one.answered is not None for one in contract.approvals) and earlier is None:
        return
    for step in call.asked.earlier:
        permission: Permission = yield May({**options, "occurrence": None, "step": step})
        for one in permission.objections:
            if one.rule == "approval_denied":
                raise refusal_error(Refusal(one.rule, one.message, one.position, one.evidence))


def taken(call: Call, options: dict[str, Any]) -> Generator[Step, Any, dict[str, Any]]:
    """Take an answer to an approval away before any code of the task may take it for its own.

    A no is recorded at once: whatever has changed since it was asked, the act is not done. Returned is how
    the act is named: where the no is to what another message asked for, as it was named there.

    Raises:
        InvalidInput: it is no answer, and what was asked waits for one.
        ApprovalDenied: it is a no to what is asked nowhere here.
    """
    place = interrupts.place(call.config)
    if place is None:
        return options
    kept: CheckpointTuple | None = yield Load(place)
    try:
        with interrupts.turn(call.config):
            interrupts.take(call.config, kept)
            answer = interrupts.denied(call.config, kept)
    except InvalidInput:
        # It may be meant for a no, whether or not the act needs a person by now. Answered is answered.
        if interrupts.is_awaited((yield See()), call.config, kept):
            raise
        asked = interrupts.key_asked(call.config, kept)
        if asked is not None and not (yield from _is_known(asked)):
            raise  # it was asked elsewhere, and nobody has answered it here
        return options
    key = None if answer is None else (yield from _record(answer))
    if key is None or call.looks:
        return options
    known: Known = yield Find(key)
    first = {"step": known.history.step, "occurrence": known.history.occurrence}
    if first["step"] == call.asked.step:
        return options
    permission: Permission = yield May(first)
    return first if _is_about(permission, key) else options


def heard(config: RunnableConfig) -> Generator[Step, Any, bool]:
    """Record what a person answered through the graph; tell whether there was anything.

    Raises:
        InvalidInput: it is no answer to what was asked.
        ApprovalDenied: it is a no to what is asked nowhere here.
    """
    place = interrupts.place(config)
    if place is None:
        return False
    kept: CheckpointTuple | None = yield Load(place)
    with interrupts.turn(config):
        answer = interrupts.heard(config, kept)
    if answer is None:
        return False
    yield from _record(answer)
    return True


def _is_known(key: str) -> Generator[Step, Any, bool]:
    try:
        yield Find(key)
    except EffectNotFound:
        return False
    return True


def _is_about(permission: Permission, key: str) -> bool:
    """Tell whether an act is that of a key, here or in a run of the thread before."""
    return permission.key == key or any(
        one.rule == "approval_denied" and one.evidence.get("key") == key for one in permission.objections
    )


def _record(answer: interrupts.Answer) -> Generator[Step, Any, str | None]:
    """Record an answer, and return the key of the act that it is about; None: nothing waits for it.

    A no to what a run asked that has ended by now is recorded there, where the runs after it find it.

    Raises:
        ApprovalDenied: it is a no to what nobody here waits for: to what another thread asked, of which this
            one is a copy, or to what was approved before. The call is not done all the same.
    """
    contract: Contract = yield See()
    approval = interrupts.waiting_for(contract, answer)
    if approval is not None:
        with suppress(ApprovalNotFound):  # another call of the task has heard it too, and was done since
            yield Answered(answer._replace(approval=approval.id))
        return approval.key
    if answer.approved:
        return None
    key = key_of(answer.approval)
    if key is None or named_in(answer.run) != named_in(contract.run):
        raise _denied(answer, key)
    try:
        if answer.run != contract.run:
            with suppress(ApprovalNotFound, RunIsClosed):
                yield Answered(answer)
        # Of the thread's name another ledger may have one, from which this was imported.
        yield Find(key)
    except (EffectNotFound, NotOpen):
        raise _denied(answer, key) from None
    return None if answer.run == contract.run else key


def _denied(answer: interrupts.Answer, key: str | None) -> LedgerError:
    why = "" if answer.reason is None else f": {answer.reason}"
    return refusal_error(
        Refusal(
            "approval_denied",
            f"{answer.by} denied it as the graph was resumed, to what {answer.run!r} had asked{why}"[:1000],
            None,
            {"approval": answer.approval, "by": answer.by, "key": key or ""},
        )
    )
