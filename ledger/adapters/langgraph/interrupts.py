"""Acts that wait for a person, as interrupts of the graph, which asks and through which they may answer.

The ledger's record decides, whatever a graph is resumed with: what a person answered there counts, and what
they answer through the graph is recorded there first. An answer belongs to the act that was asked about, by
the id of the interrupt that asked, never by the order in which questions come: LangGraph hands the answers of
a task to its `interrupt()` calls in their order, so those to approvals are none of them: these have ids of
their own, by which no such call finds an answer.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import anyio
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from ledger.adapters.langgraph.running import Entered, configurable, entered_with
from ledger.canonical import invalid
from ledger.errors import ApprovalRequired
from ledger.run.approvals import asked_about, key_of
from ledger.run.contract import Approval, Contract, by_id
from ledger.values import write_time

SCRATCHPAD = "__pregel_scratchpad"
TASK = "__pregel_task_id"
INTERRUPT = "__interrupt__"
NAMESPACE = "checkpoint_ns"
NOBODY = "00000000-0000-0000-0000-000000000000"
"""The task of which LangGraph says that it wrote what a graph was called with."""
RESUME = "__resume__"
RESUMED = "__pregel_resume_map"
KIND = "approval"
"""What the value of such an interrupt says of itself, as `type`."""


class Answer(NamedTuple):
    """What a person answered, as the graph was resumed with it."""

    approval: str
    approved: bool
    by: str
    reason: str | None
    run: str
    """Which asked."""


@dataclass(slots=True)
class _Beside:
    """Calls that run beside one another."""

    at_work: int = 0
    ended: anyio.Event | None = None


class Turn:
    """What the calls of a task share: they listen one after another, for `with`, and wait for one another.

    A call that is made within another waits for those beside it only: the other waits for it.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._beside: dict[object, _Beside] = {}

    def __enter__(self) -> None:
        self._mutex.acquire()

    def __exit__(self, *raised: object) -> None:
        self._mutex.release()

    def begin(self, within: object) -> None:
        """Say that a call has begun, in an event loop; `within` is the call that makes it, or None."""
        self._beside.setdefault(within, _Beside()).at_work += 1

    def end(self, within: object) -> None:
        """Say that it has ended."""
        beside = self._beside[within]
        beside.at_work -= 1
        if beside.at_work == 0:
            del self._beside[within]
            if beside.ended is not None:
                beside.ended.set()

    async def others(self, within: object) -> None:
        """Wait until those beside it have ended: what one of them raises would leave them at work."""
        beside = self._beside.get(within)
        if beside is not None:
            beside.ended = beside.ended or anyio.Event()
            await beside.ended.wait()


_turns: WeakValueDictionary[int, Turn] = WeakValueDictionary()
_turns_mutex = threading.Lock()


def turn(config: RunnableConfig) -> Turn:
    """Return what the calls of this task share, as long as it runs."""
    running = id(configurable(config).get(SCRATCHPAD))
    with _turns_mutex:
        found = _turns.get(running)
        if found is None:
            found = _turns[running] = Turn()
        return found


def question(
    contract: Contract, waits: ApprovalRequired, tool: str, args: Mapping[str, Any]
) -> dict[str, Any]:
    """Say what is asked, as the value of an interrupt: data that a client can show to a person."""
    approval = by_id(contract.approvals, waits.id)
    expires_at = None if approval is None else approval.expires_at
    return {
        "type": KIND,
        "approval": waits.id,
        "args": dict(args),
        "constraints": list(waits.evidence.get("constraints", ())),
        "expires_at": None if expires_at is None else write_time(expires_at),
        "goal": contract.goal.text,
        "key": waits.key,
        "question": str(waits) if approval is None or approval.question is None else approval.question,
        "run": contract.run,
        "tool": tool,
    }


def waiting_for(contract: Contract, answer: Answer) -> Approval | None:
    """Return what waits for an answer; None: nothing does.

    A yes is to what was asked, and to nothing else. A no is to the act: where that was asked about anew
    meanwhile, it is one to the later question too.
    """
    approval, key = by_id(contract.approvals, answer.approval), key_of(answer.approval)
    if approval is None and key is not None and not answer.approved:
        approval = asked_about(contract, key)
    return None if approval is None or approval.answered is not None else approval


def place(config: RunnableConfig) -> RunnableConfig | None:
    """Say where the interrupts of this task are kept: beside the checkpoint that it works on."""
    said = configurable(config)
    namespace = str(said.get(NAMESPACE) or "").rpartition("|")[0]
    checkpoint = (said.get("checkpoint_map") or {}).get(namespace)
    if checkpoint is None:
        return None
    where = {"thread_id": said["thread_id"], NAMESPACE: namespace, "checkpoint_id": checkpoint}
    return {"configurable": where}


def is_told(config: RunnableConfig) -> bool:
    """Tell whether a task was resumed with anything that may answer an approval."""
    return bool(configurable(config).get(RESUMED)) or _plainly(config) is not None


def take(config: RunnableConfig, kept: CheckpointTuple | None) -> None:
    """Take a plain answer to an approval away from what else may interrupt in this task, and keep it.

    Args:
        config: of the task.
        kept: the checkpoint that it works on, with what was written beside it.
    """
    said, told, entered = configurable(config), _plainly(config), entered_with(config)
    asked = None if told is None else _asked_last(said, kept)
    if asked is None or entered is None:
        return
    said[SCRATCHPAD].get_null_resume(True)
    if told is not entered.stale or told is entered.resumed:
        entered.told[asked.id] = told


def heard(config: RunnableConfig, kept: CheckpointTuple | None) -> Answer | None:
    """Return what this invocation answers to what the task asked last; None: nothing, or it asked no person.

    Args:
        config: of the task.
        kept: the checkpoint that it works on, with what was written beside it.

    Raises:
        InvalidInput: it is no answer to what was asked.
    """
    said, entered = configurable(config), entered_with(config)
    asked = _asked_last(said, kept)
    if asked is None:
        return None
    take(config, kept)
    plain = {} if entered is None else entered.told
    by_id = said.get(RESUMED) or {}
    if asked.id in by_id:
        return answer_to(asked, by_id[asked.id])
    return answer_to(asked, plain[asked.id]) if asked.id in plain else None


def is_awaited(contract: Contract, config: RunnableConfig, kept: CheckpointTuple | None) -> bool:
    """Tell whether what the task asked last waits for an answer, that it was asked about anew included."""
    asked = _asked_last(configurable(config), kept)
    if asked is None:
        return False
    if asked.value.get("run") != contract.run:
        return True
    waits = by_id(contract.approvals, asked.value["approval"])
    key = key_of(asked.value["approval"])
    if waits is None and key is not None:
        waits = asked_about(contract, key)
    return waits is not None and waits.answered is None


def key_asked(config: RunnableConfig, kept: CheckpointTuple | None) -> str | None:
    """Return the key of the act that the task asked about last."""
    asked = _asked_last(configurable(config), kept)
    return None if asked is None else key_of(asked.value["approval"])


def denied(config: RunnableConfig, kept: CheckpointTuple | None) -> Answer | None:
    """Return the no that this invocation answers to what the task asked last; None: it says none.

    Args:
        config: of the task.
        kept: the checkpoint that it works on, with what was written beside it.

    Raises:
        InvalidInput: it is no answer to what was asked. Whether or not one is needed by now: it may be meant
            for a no.
    """
    answer = heard(config, kept)
    return None if answer is None or answer.approved else answer


def left(entered: Entered, kept: CheckpointTuple, loop: Any) -> CheckpointTuple:
    """Return a checkpoint that a graph goes on from, without a plain answer to what was asked before.

    LangGraph leaves such an answer beside the checkpoint, and would take it for that to the next question.

    Args:
        entered: what the loop entered with.
        kept: the checkpoint.
        loop: whose input may be another answer, and be like the one before; None: it is not known.
    """
    writes = kept.pending_writes or []
    stale = [one for one in writes if one[0] == NOBODY and one[1] == RESUME]
    if not stale:
        return kept
    entered.stale = stale[0][2]
    entered.resumed = getattr(getattr(loop, "input", None), "resume", None)
    if not (isinstance(entered.stale, Mapping) and {"approve", "by"} <= entered.stale.keys()):
        return kept  # it may have been lost on its way to the program's own question
    return kept._replace(pending_writes=[one for one in writes if one not in stale])


def _plainly(config: RunnableConfig) -> Any:
    """Return the answer that this task's graph was resumed with, where it names no interrupt; None: none."""
    pad = configurable(config).get(SCRATCHPAD)
    return None if pad is None else pad.get_null_resume(False)


def _asked_last(said: Mapping[str, Any], kept: CheckpointTuple | None) -> Interrupt | None:
    writes = () if kept is None else kept.pending_writes or ()
    asked = [
        one
        for task, channel, value in writes
        if (task, channel) == (said.get(TASK), INTERRUPT)
        for one in value
    ]
    last = asked[-1] if asked else None
    value = None if last is None else last.value
    return last if isinstance(value, Mapping) and value.get("type") == KIND else None


def ask(value: Mapping[str, Any]) -> None:
    """Interrupt the graph with a question.

    Raises:
        GraphInterrupt: always.
    """
    raise GraphInterrupt((Interrupt(value=dict(value), id=interrupt_id(value["approval"])),))


def answer_to(asked: Interrupt, told: Any) -> Answer:
    """Read what the graph was resumed with as the answer to an interrupt.

    Raises:
        InvalidInput: it is none, or names another approval.
    """
    wanted = asked.value["approval"]
    if not isinstance(told, Mapping) or not isinstance(told.get("approve"), bool):
        raise invalid(
            "resume",
            f'an approval is answered with {{"approve": True or False, "by": "human:…"}}, not {told!r:.80}',
        )
    unknown = sorted(set(told) - {"approve", "approval", "by", "reason"})
    if unknown:
        raise invalid(
            f"resume.{unknown[0]}", "an answer has approve, by, reason and approval, and nothing else"
        )
    named = told.get("approval", wanted)
    if named != wanted:
        raise invalid("resume.approval", f"the interrupt {asked.id} asked about {wanted}, not {named!r:.150}")
    by, reason = told.get("by"), told.get("reason")
    if not isinstance(by, str) or not by.startswith("human:"):
        raise invalid("resume.by", f'name the person who decided, as "human:kim", not {by!r:.80}')
    if reason is not None and not isinstance(reason, str):
        raise invalid("resume.reason", f"give a text, not {reason!r:.80}")
    return Answer(wanted, told["approve"], by, reason, asked.value["run"])


def interrupt_id(approval: str) -> str:
    """Return the id of the interrupt that asks for an approval: no task has a namespace like that."""
    return Interrupt.from_ns(None, f"{KIND}|{approval}").id
