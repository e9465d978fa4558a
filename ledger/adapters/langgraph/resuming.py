"""The gate before a graph goes on: asked where a thread is entered, and before its graph does anything.

Why so: docs/decisions/0069-the-gate-is-asked-where-a-thread-is-entered.md
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ledger import Actor, Ledger, Resumption, Run, Runtime
from ledger.adapters.langgraph.asking_anew import CODE, ask_anew, asks_anew
from ledger.adapters.langgraph.command_lines import command_line
from ledger.adapters.langgraph.configs import configurable, is_loop, is_root_loop
from ledger.adapters.langgraph.earlier import earlier_of
from ledger.adapters.langgraph.resting import saves_at_exit
from ledger.adapters.langgraph.running import ENTERED, Entered, entered_with
from ledger.adapters.threads import Entry, Threads, run_name
from ledger.adapters.threads.naming import plain_goal
from ledger.application.ledger import edge_of
from ledger.application.resuming import Patience
from ledger.canonical import invalid
from ledger.errors import RunIsClosed, RunIsHeld, RunNotFound
from ledger.gate import IDLE_SECONDS, LIVE_SECONDS
from ledger.run.contract import Contract
from ledger.run.decision import is_agent

KEPT = 1024
"""Threads of which it is known that this saver works on them."""
STRICT = "__pregel_strict_resume"
"""Makes LangGraph refuse answers to interrupts that nobody waits for; else it passes over them."""
ONCE_MORE = re.compile(r"\|\d+")
"""What LangGraph puts behind the namespace of a graph that one task calls again, and so of no other."""
PAUSE = 0.2
"""Seconds between two looks at a lease."""
UNFINISHED = frozenset(("__interrupt__", "__error__"))
"""What a node leaves that did not end: it asked somebody, or failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """How the gate is asked when a thread is entered again; see `Ledger.resume`."""

    runtime: Runtime | None = None
    """The fingerprint of the graph: versions that the gate compares, e.g. `Runtime(prompt="refunds-7")`."""
    idle_seconds: int | Literal["by_goal"] | None = "by_goal"
    """How long a thread may lie still until somebody has to confirm its goal; None: for ever. `by_goal`: a
    day where a goal was given, and for ever where the goal is the sentence that names the thread."""
    live_seconds: int = LIVE_SECONDS
    """How long after its last sign of life a thread is left alone that another actor or session works on."""
    asks_outside: bool = True
    """First ask the probes of tools about acts of which nobody knows, and send again what is deduped."""
    wait_seconds: float = 0.0
    """How long to wait where nothing but acts stand in the way that a worker may be executing, as after a
    crash: until their leases end. 0: not at all."""

    def __post_init__(self) -> None:
        if self.runtime is not None and not isinstance(self.runtime, Runtime):
            raise invalid("runtime", f"give a Runtime, e.g. Runtime(prompt=…), not {self.runtime!r:.50}")
        if not isinstance(self.asks_outside, bool):
            raise invalid("asks_outside", f"give True or False, not {self.asks_outside!r:.50}")
        idle = IDLE_SECONDS if self.idle_seconds == "by_goal" else self.idle_seconds
        Patience(idle, self.live_seconds)  # it checks them
        seconds = self.wait_seconds
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 86_400:
            raise invalid("wait_seconds", f"give seconds from 0 on, less than a day, not {seconds!r:.50}")

    @property
    def is_milder(self) -> bool:
        """Tell whether it asks less than there is to ask unless somebody decides otherwise."""
        idle = IDLE_SECONDS if self.idle_seconds == "by_goal" else self.idle_seconds
        return self.live_seconds < LIVE_SECONDS or idle is None or idle > IDLE_SECONDS


GateChoice = Gate | Literal["off"] | None
"""None: as `Gate()` has it."""


def opening_of(gate: GateChoice) -> dict[str, Any]:
    """Return what the runs of threads are opened with, so that it shows how the gate is asked about them."""
    if gate == "off":
        return {"labels": {"gate": "off"}}
    return {"runtime": gate.runtime if isinstance(gate, Gate) else None}


class ThreadIsHeld(RunIsHeld):
    """The gate does not let a thread go on, and its graph did nothing: clear what `reasons` name.

    `verdict` is the strictest; each of the reasons has its `kind`, `what` is the matter, and the event that
    it is `cleared_by`, as plain values.
    """

    verdict: str
    reasons: list[dict[str, Any]]


class Gatekeeper:
    """Enters threads for the loops of graphs. Programs' threads may share it."""

    def __init__(self, ledger: Ledger, threads: Threads, gate: GateChoice, custodian: Actor) -> None:
        """Take how the gate is asked; a milder one is by the decision of the `custodian`.

        Raises:
            InvalidInput: it is no gate, or would be milder by the decision of an agent.
        """
        if gate is not None and gate != "off" and not isinstance(gate, Gate):
            raise invalid("gate", f'give a Gate, or "off", not {gate!r:.50}')
        if isinstance(gate, Gate) and gate.is_milder and is_agent(custodian):
            raise invalid(
                "gate",
                f"live_seconds below {LIVE_SECONDS}, and idle_seconds above {IDLE_SECONDS:,} or None, are "
                "for people and services to decide, and this saver writes as an agent: say who did, with "
                'custodian=Actor("service:…") or Actor("human:…")',
            )
        self._custodian = custodian
        self._ledger = ledger
        self._threads = threads
        self._gate = Gate() if gate is None else gate
        self._mine: OrderedDict[str, Run] = OrderedDict()
        self._mutex = threading.Lock()

    @staticmethod
    def is_entering(config: Any) -> bool:
        """Tell whether a graph that begins to run reads where its thread stands; it enters it once."""
        said, known = configurable(config), entered_with(config)
        around = said.get(ENTERED)
        if not isinstance(around, Entered):
            return is_root_loop(config)
        if known is None or known is around or around.ended:  # a node calls a graph with its own config
            return known is None and is_loop(config)
        # What a node calls on another thread once more enters it once more; a graph inside of that does not.
        behind = str(said.get("checkpoint_ns") or "").removeprefix(known.line)
        return known.ended if not behind else ONCE_MORE.fullmatch(behind) is not None

    def enter(self, config: Any) -> Entered:
        """Enter a thread for the loop whose config this is, and leave there what it goes on with.

        Raises:
            ThreadIsHeld: the gate does not let the thread go on.
            RunIsClosed: a person had it succeeded by a run that is none of this thread.
        """
        said = config["configurable"]
        thread = str(said["thread_id"])
        entered = self._enter(thread, saves_at_exit(config))
        entered.line = str(said.get("checkpoint_ns") or "")
        around = said.get(ENTERED)
        if isinstance(around, Entered):
            around.others[thread, entered.line] = entered
        else:
            said[ENTERED], said[STRICT] = entered, True
        return entered

    def wrote(self, thread: str, channels: Iterable[str]) -> None:
        """Note what a node of a thread left: one that asks somebody, or failed, has not ended."""
        if not UNFINISHED.isdisjoint(channels):
            with self._mutex:
                self._mine.pop(thread, None)

    def restart(self, thread: str, *, reason: str, by: str, goal: str | None = None, actor: Actor) -> Run:
        """Have a thread succeeded by its next run, where its graph begins anew; see `Ledger.restart`.

        It is for people and services: what the run may still do and owes goes over, its states do not.

        Args:
            thread: the thread.
            reason: why it cannot go on as it is.
            by: who decided it.
            goal: another goal; None: the same.
            actor: who writes; no agent.

        Where its run was restarted under a name that is none of the thread, the run that answers for it now
        is succeeded.

        Raises:
            RunNotFound: the thread was never begun.
            RunIsClosed: its run has ended.
            NotForAgents: an agent asks.
        """
        entry = self._threads.current(thread)
        if entry is None:
            run = run_name(thread, 1)
            raise RunNotFound(f"thread {thread!r} was never begun: there is no run {run!r}", run=run)
        self._ledger.restart(
            self._heir(entry).id,
            as_=run_name(thread, entry.generation + 1),
            reason=reason,
            by=by,
            goal=goal,
            actor=actor,
        )
        successor = self._threads.current(thread)
        assert successor is not None
        return successor.run

    def _heir(self, entry: Entry) -> Run:
        """Return the run that answers for what the last run of a thread did and owes."""
        run, known = entry.run, {entry.run.id}
        while (closed := run.contract.closed) is not None and closed.successor not in (None, *known):
            run = self._ledger.run(closed.successor or "", actor=self._threads.actor)
            known.add(run.id)
        return run

    # --- entering ---------------------------------------------------------------------------------

    def _enter(self, thread: str, silent: bool) -> Entered:
        entry = self._threads.current(thread)
        if entry is None:
            return self._begun(self._threads.open(thread))
        contract = entry.run.contract
        if contract.closed is not None:
            _check_successor(self._ledger, entry, contract)
            return self._begun(self._threads.open(thread))
        if self._gate == "off" or _is_untouched(contract):
            return self._begun(self._present(entry, contract))
        # Who says nothing before it stops says now that it is at work.
        if not (silent and contract.alive.rests) and self._goes_on_here(entry, contract):
            return self._entered(entry)
        return self._resumed(entry)

    def _goes_on_here(self, entry: Entry, contract: Contract) -> bool:
        """Tell whether it is the next turn of what this saver did last, and nothing stands in the way."""
        with self._mutex:
            mine = self._mine.get(entry.thread)
        if mine is not entry.run or entry.run.incarnation != contract.incarnation:
            return False
        if contract.stopped is not None:
            return False
        return bool(self._ask(entry, dry_run=True))

    def _resumed(self, entry: Entry) -> Entered:
        gate = self._gate
        assert isinstance(gate, Gate)
        at_work = self._at_work(entry, gate.wait_seconds)
        if at_work is not None:
            raise held(self._ledger, entry, at_work)
        if gate.asks_outside and entry.run.contract.effects:
            for _ in self._ledger.reconcile(entry.run.id, actor=self._threads.actor):
                pass  # each answer is recorded as it comes
        contract = entry.run.contract
        if contract.approvals:
            asked = self._ask(entry, dry_run=True)
            if asks_anew(asked):
                run, now = self._present(entry, contract).run, edge_of(self._ledger).now()
                ask_anew(self._ledger, run, asked, now)
        decision = self._ask(entry)
        if decision.run is None:
            raise held(self._ledger, entry, decision)
        return self._begun(self._threads.resumed(entry, decision.run), decision.message)

    def _at_work(self, entry: Entry, seconds: float) -> Resumption[Run] | None:
        """Wait for acts that a worker may be executing, and for nothing else; None: none is in the way.

        Who may be at work is not held for it: what is returned is not recorded.
        """
        deadline = time.monotonic() + seconds
        while entry.run.contract.effects:
            asked = self._ask(entry, dry_run=True)
            if {one.kind for one in asked.reasons} != {"effect_executing"}:
                break
            if time.monotonic() >= deadline:
                return asked
            time.sleep(min(PAUSE, max(0.0, deadline - time.monotonic())))
        return None

    def _ask(self, entry: Entry, *, dry_run: bool = False) -> Resumption[Run]:
        gate = self._gate
        assert isinstance(gate, Gate)
        idle = gate.idle_seconds
        if idle == "by_goal":
            idle = None if entry.run.contract.goal.text == plain_goal(entry.thread) else IDLE_SECONDS
        return self._ledger.resume(
            entry.run.id,
            actor=self._threads.actor,
            runtime=gate.runtime,
            idle_seconds=idle,
            live_seconds=gate.live_seconds,
            allowed_by=self._custodian if gate.is_milder else CODE,
            dry_run=dry_run,
        )

    def _present(self, entry: Entry, contract: Contract) -> Entry:
        """Return a run with a handle on its present incarnation."""
        if entry.run.incarnation == contract.incarnation:
            return entry
        return self._threads.resumed(entry, self._ledger.run(entry.run.id, actor=self._threads.actor))

    def _begun(self, entry: Entry, message: str | None = None) -> Entered:
        with self._mutex:
            self._mine[entry.thread] = entry.run
            self._mine.move_to_end(entry.thread)
            while len(self._mine) > KEPT:
                self._mine.popitem(last=False)
        return self._entered(entry, message)

    def _entered(self, entry: Entry, message: str | None = None) -> Entered:
        return Entered(entry, earlier_of(self._ledger, self._threads, entry), message)


def held(ledger: Ledger, entry: Entry, decision: Resumption[Run]) -> ThreadIsHeld:
    """Build the error that tells why a thread does not go on, and what clears each reason."""
    verdict = decision.verdict.value
    reasons = [one.model_dump(mode="json", exclude_none=True) for one in decision.reasons]
    told = "; ".join(f"{one.kind}: {one.what} (cleared by {one.cleared_by})" for one in decision.reasons)
    way = ": it begins anew with saver.restart(thread_id, reason=…, by=…)" if verdict == "restart" else ""
    ask = command_line(ledger, "resume", "--dry-run", about=entry.run.id)
    return ThreadIsHeld(
        f"the gate does not let thread {entry.thread!r} go on, {verdict}{way}. {told}. For the commands that "
        f"clear each: {ask}",
        rule="run_is_held",
        position=decision.position,
        evidence={"reasons": reasons, "run": entry.run.id, "thread": entry.thread, "verdict": verdict},
        verdict=verdict,
        reasons=reasons,
    )


def _is_untouched(contract: Contract) -> bool:
    """Tell whether no graph has worked on a run: who prepared it may have said to it what they like."""
    return (
        (contract.saved is None or contract.alive.begun)
        and not contract.effects
        and contract.tally.effects == 0
        and contract.incarnation == 1
        and contract.stopped is None
        and contract.fork_of is None
    )


def _check_successor(ledger: Ledger, entry: Entry, contract: Contract) -> None:
    closed = contract.closed
    assert closed is not None
    successor, following = closed.successor, run_name(entry.thread, entry.generation + 1)
    if successor is not None and successor != following:
        who = ("--reason", "TEXT", "--by", "human:NAME")
        restart = command_line(ledger, "restart", "--as", following, *who, about=successor)
        raise RunIsClosed(
            f"{entry.run.id!r} is succeeded by {successor!r}, which is no run of thread {entry.thread!r}. To "
            "begin the thread anew with what that run may still do and owes: saver.restart(thread_id, "
            f"reason=…, by=…), or {restart}",
            rule="run_is_closed",
            position=closed.position,
            evidence={"run": entry.run.id, "successor": successor},
        )
