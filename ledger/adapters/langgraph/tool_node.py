"""Tool calls of a graph as acts of its run: each goes through the gateway, and is done once.

    calls = LedgerToolCalls(saver, {"pay": {"recovery": "queryable", "probe": find_payment}})
    node = calls.node([pay, look_up])

An act is named by the node's path, the message that asks for it, the tool and its arguments. So a node that
runs again finds what it did; a model that is asked again, and asks for the same in another message, is told
that it was done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Literal

from anyio import to_thread
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolNode

from ledger import Actor, AsyncRun, Ledger, Run
from ledger.adapters.langgraph import answering, interrupts
from ledger.adapters.langgraph.calls import (
    Call,
    Find,
    Load,
    May,
    Perform,
    See,
    Step,
    Steps,
    awaited,
    driven,
    is_only_awaited,
    same,
    watching,
    with_arguments,
)
from ledger.adapters.langgraph.declared import Calling, Declarations, GraphTools, arguments, calling
from ledger.adapters.langgraph.earlier import Known, known_of
from ledger.adapters.langgraph.refusals import STOPS, TOLD, told
from ledger.adapters.langgraph.results import Outcome, message, recorded, returned
from ledger.adapters.langgraph.running import (
    Saver,
    aledger_run,
    check_goes_on,
    entered_with,
    ledger_run,
)
from ledger.adapters.langgraph.steps import requested
from ledger.canonical import invalid
from ledger.errors import (
    ApprovalDenied,
    ApprovalRequired,
    EffectError,
    LedgerError,
    PossibleRepeat,
)
from ledger.run.contract import Contract
from ledger.run.known import is_only_intended

ANSWERS = Actor("service:langgraph")
"""Who writes what people answer through a graph, which is none of those who ask."""

Repeats = Callable[[ToolCallRequest], str | None]
"""Says why a call is to be done although the same was done before; None: it is not."""


class LedgerToolCalls:
    """Sends the tool calls of a graph through the gateway: what `ToolNode` takes as its wrappers.

    Refusals are told to the model as the answer to its call, which may do something else then; what needs
    somebody else stops the graph: `OutcomeUnknown`, `EffectInFlight`, `LeaseLost`, `Superseded`, `RunIsHeld`.
    What waits for a person interrupts it.
    """

    def __init__(
        self,
        saver: Saver,
        tools: Declarations = (),
        *,
        repeats: Repeats | None = None,
        refusals: Literal["tell", "raise"] = "tell",
        answers_as: Actor = ANSWERS,
    ) -> None:
        """Declare the tools of a graph.

        Args:
            saver: the `LedgerSaver` that the graph is compiled with.
            tools: what is declared of each, by its name: a `Tool`, its recovery, or what `ledger.tool` takes.
                What the ledger has registered need not be declared again. Of the rest nothing is known: each
                such act is done at most once. None: it is no act, and is called as ever.
            repeats: says why a call is done although the same act was done before; it must not go by what a
                model says.
            refusals: `raise` stops the graph at refusals too.
            answers_as: who writes what people answer through the graph.

        Raises:
            InvalidInput: declarations contradict each other; `path` says which.
        """
        if not isinstance(getattr(saver, "ledger", None), Ledger) or not hasattr(saver, "faces"):
            raise invalid(
                "saver",
                f"give the LedgerSaver that the graph is compiled with, not {type(saver).__name__}: acts are "
                "kept beside the checkpoints",
            )
        if refusals not in ("tell", "raise"):
            raise invalid("refusals", f"one of tell and raise, not {refusals!r:.50}")
        self._saver = saver
        self._tools = GraphTools(saver.ledger, tools)
        self._repeats = repeats
        self._tells = refusals == "tell"
        self._answers_as = answers_as

    def node(self, tools: Iterable[BaseTool | Callable[..., Any]], **options: Any) -> ToolNode:
        """Return a `ToolNode` whose calls go through the gateway; `options` are its own.

        Raises:
            InvalidInput: `handle_tool_errors` is given: what a tool raises says whether it happened. Or the
                acts of a tool need approval that is given state of the graph, and nothing is declared of it.
        """
        if "handle_tool_errors" in options:
            raise invalid("handle_tool_errors", "what a tool raises is recorded, and then told or raised")
        node = ToolNode(
            list(tools),
            wrap_tool_call=self.wrap_tool_call,
            awrap_tool_call=self.awrap_tool_call,
            handle_tool_errors=False,
            **options,
        )
        self.check_names(node.tools_by_name)
        for tool in node.tools_by_name.values():
            self._tools.of(tool)
        return node

    def check_names(self, tools: Iterable[str]) -> None:
        """Hold the names under which something is declared against those of a graph's tools.

        Raises:
            InvalidInput: one is misspelt: no tool has it, and one of which nothing is declared is called much
                like it.
        """
        self._tools.names.check(tools)

    # --- the two drivers --------------------------------------------------------------------------

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Outcome]
    ) -> Outcome:
        """Perform a call in the caller's thread."""
        call = self._call(request)
        if isinstance(call, ToolMessage):
            return call
        if call is None or is_only_awaited(request.tool):
            check_goes_on(request.runtime.config)
            return handler(request)

        def body(args: dict[str, Any]) -> Any:
            with watching(call):
                return recorded(
                    handler(with_arguments(request, call.own(args))), request.tool_call, call.codec
                )

        run = ledger_run(call.config)
        token = calling.set(Calling(call.tool.name, body))
        try:
            return driven(self._steps(call), partial(self._do, run, call))
        finally:
            calling.reset(token)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Outcome]]
    ) -> Outcome:
        """Perform a call in an event loop."""
        call = self._call(request)
        if isinstance(call, ToolMessage):
            return call
        if call is None:
            check_goes_on(request.runtime.config)
            return await handler(request)

        async def body(args: dict[str, Any]) -> Any:
            with watching(call):
                return recorded(
                    await handler(with_arguments(request, call.own(args))), request.tool_call, call.codec
                )

        turn = interrupts.turn(call.config)
        within = calling.get(None)
        turn.begin(within)
        token = calling.set(Calling(call.tool.name, body))
        raised: Exception | None = None
        try:
            run = await aledger_run(call.config)
            return await awaited(self._steps(call), partial(self._ado, run, call))
        except Exception as error:  # noqa: BLE001  it is raised once the others have ended
            raised = error
        finally:
            calling.reset(token)
            turn.end(within)
        await turn.others(within)
        raise raised

    def _do(self, run: Run, call: Call, step: Step) -> Any:
        saver = self._saver
        if isinstance(step, Perform):
            return run.perform(call.tool, call.args, **step.options)
        if isinstance(step, Load):
            return saver.get_tuple(step.place)
        if isinstance(step, See):
            return run.contract
        if isinstance(step, May):
            return run.may(call.tool, call.args, **step.options)
        if isinstance(step, Find):
            return known_of(saver.ledger, step.key)
        said = saver.ledger.approve if step.answer.approved else saver.ledger.deny
        return said(
            step.answer.approval, by=step.answer.by, reason=step.answer.reason, actor=self._answers_as
        )

    async def _ado(self, run: AsyncRun, call: Call, step: Step) -> Any:
        face = self._saver.faces.here()
        if isinstance(step, Perform):
            return await run.perform(call.tool, call.args, **step.options)
        if isinstance(step, Load):
            return await self._saver.aget_tuple(step.place)
        if isinstance(step, See):
            return await run.contract
        if isinstance(step, May):
            return await run.may(call.tool, call.args, **step.options)
        if isinstance(step, Find):
            return await to_thread.run_sync(known_of, self._saver.ledger, step.key)
        said = face.approve if step.answer.approved else face.deny
        return await said(
            step.answer.approval, by=step.answer.by, reason=step.answer.reason, actor=self._answers_as
        )

    # --- the protocol -----------------------------------------------------------------------------

    def _call(self, request: ToolCallRequest) -> Call | ToolMessage | None:
        """Take a call apart; a message where its arguments are none, None where it is no act."""
        tool = request.tool
        act = None if tool is None else self._tools.of(tool)
        if tool is None or act is None:
            return None
        call = request.tool_call
        try:
            args = arguments(tool, call["args"])
        except ValueError as error:
            return message(call, f"Not called, its arguments do not fit: {error}", failed=True)
        repeat = None if self._repeats is None else self._repeats(request)
        beside = self._tools.beside(tool)
        more = beside.of(request.runtime.state, args)
        asked = requested(request, partial(same, tool, act))
        if asked is None:
            return message(
                call, "Not called: another call of the message is the same, with the same id", failed=True
            )
        return Call(request, act, {**args, **more}, asked, repeat, beside, frozenset(more))

    def _steps(self, call: Call) -> Steps:
        """Perform a call, ask who has to be asked, and tell what it came to."""
        options, listened, waiting = call.options(), False, False
        check_goes_on(call.config, call.act)
        entered = entered_with(call.config)
        said_no = None if entered is None else entered.denied.get(call.act[1:])
        if said_no is not None:
            return self._refused(call, said_no)
        if interrupts.is_told(call.config):
            try:
                options = yield from answering.taken(call, options)
            except ApprovalDenied as error:
                if entered is not None:  # no record says it to the next call of it
                    entered.denied[call.act[1:]] = error
                return self._refused(call, error)
        while True:
            try:
                if not call.looks and call.asked.earlier:
                    yield from answering.check_denied(call, options)
                kept = yield Perform(options)
                self._note(call, None)
                return returned(kept, call.request.tool_call, call.codec)
            except ApprovalRequired as waits:
                if call.beside.is_open:
                    raise call.beside.unsaid() from waits
                if not listened:
                    listened = True
                    if (yield from answering.heard(call.config)):
                        continue
                contract: Contract = yield See()
                interrupts.ask(interrupts.question(contract, waits, call.tool.name, call.args))
            except PossibleRepeat as error:
                known: Known = yield Find(error.evidence["key"])
                first = known.history
                if "repeat" not in options and call.asked.is_sibling(first):
                    options = options | {"repeat": True, "reason": call.asked.reason}
                    continue
                if is_only_intended(first) and not waiting:
                    # Nothing was done. What waits for a person is what is asked for once more.
                    waiting, options = True, {"step": first.step, "occurrence": first.occurrence}
                    continue
                return self._refused(call, error, known)
            except LedgerError as error:
                if (
                    call.bubbled is not None
                    and isinstance(error, EffectError)
                    and error.code == "effect_failed"
                ):
                    raise call.bubbled from error
                return self._refused(call, error)

    def _refused(self, call: Call, error: LedgerError, first: Known | None = None) -> ToolMessage:
        said = told(error, first, call.codec) if self._tells and isinstance(error, TOLD) else None
        self._note(call, error)
        if said is None:
            raise error
        return message(call.request.tool_call, said, failed=True)

    def _note(self, call: Call, error: LedgerError | None) -> None:
        """Note how a call ended: what stops the graph stops what follows in this invocation too."""
        entered = entered_with(call.config)
        if entered is not None:
            entered.stopped.pop(call.act, None)
            if isinstance(error, STOPS):
                entered.stopped[call.act] = error
