"""The server, in the terms of the SDK: tools, resources and one prompt, for one desk."""

from __future__ import annotations

import io
import logging
from collections.abc import Awaitable
from importlib.metadata import version
from typing import Any, TypeVar

import anyio
import mcp_types as t
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from ledger.adapters.mcp import faults, reading, resources
from ledger.adapters.mcp.desk import Desk
from ledger.adapters.mcp.lines import Read, relay, standard_input
from ledger.adapters.mcp.reading import in_thread
from ledger.adapters.mcp.resources import JSON, OF_A_RUN, QUESTIONS, RUNS, TEMPLATES
from ledger.adapters.mcp.saying import Answer
from ledger.adapters.mcp.schemas import read_model
from ledger.adapters.mcp.tools import Tool, not_offered, tools
from ledger.application.listing import list_runs
from ledger.errors import LedgerError
from ledger.values import no_such

log = logging.getLogger("ledger")
T = TypeVar("T")

INSTRUCTIONS = """This server keeps a ledger of what your work means: goal, constraints, plan, promises, what
you take for granted, and what was done outside. Read `contract` (or the resource ledger://runs/RUN/contract)
before you act; its constraints bind you. Ask `may` before an act, and `run_resume` before you go on with a
run that was stopped. Say what changes with the other tools: nothing you say is removed again. You cannot
relax or withdraw a constraint, grant authority or answer an approval: tell a person. Acts are performed by
programs, not here."""

RESUME = t.Prompt(
    name="resume",
    title="Take over a run",
    description="What somebody must know who goes on with a run, as its brief tells it.",
    arguments=[t.PromptArgument(name="run", description="Id of the run.", required=True)],
)
_PAGE = 50
"""Runs whose resources are listed at once."""


def build_server(desk: Desk) -> Server[Any]:
    """Build the server that speaks for a desk."""
    counter = _Counter(desk)
    offered = tools()
    return Server(
        "intent-ledger",
        version=version("intent-ledger"),
        title="Intent Ledger",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda name: offered[name].takes if name in offered else None,
        on_list_tools=counter.list_tools,
        on_call_tool=counter.call_tool,
        on_list_resources=counter.list_resources,
        on_list_resource_templates=counter.list_templates,
        on_read_resource=counter.read_resource,
        on_list_prompts=counter.list_prompts,
        on_get_prompt=counter.get_prompt,
        on_completion=counter.complete,
    )


async def serve_stdio(desk: Desk) -> None:
    """Serve one client over standard input and output, until it closes them."""
    server = build_server(desk)
    # The SDK reads lines of any length, so that it is given none to read, and only writes.
    nothing = anyio.wrap_file(io.StringIO())
    with standard_input() as lines:
        async with stdio_server(stdin=nothing) as (unused, outgoing), anyio.create_task_group() as group:
            await unused.aclose()
            messages, readable = anyio.create_memory_object_stream[Read](0)
            group.start_soon(relay, lines, messages, outgoing)
            await server.run(readable, outgoing, server.create_initialization_options())


def as_listed(tool: Tool) -> t.Tool:
    """Describe a tool as the protocol does."""
    return t.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=tool.takes,
        output_schema=tool.answers,
        annotations=t.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads,
            destructive_hint=tool.ends,
            idempotent_hint=tool.is_repeatable,
            open_world_hint=False,
        ),
    )


class _Counter:
    """Takes what clients ask to the desk, and brings back what it comes to."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    # --- tools -----------------------------------------------------------------------------------

    async def list_tools(self, context: Any, asked: t.PaginatedRequestParams | None) -> t.ListToolsResult:
        return t.ListToolsResult(tools=[as_listed(one) for one in tools().values()])

    async def call_tool(self, context: Any, asked: t.CallToolRequestParams) -> t.CallToolResult:
        tool = tools().get(asked.name)
        if tool is None:
            raise _unknown_tool(asked.name)
        try:
            answer = await tool.call(self._desk, asked.arguments or {})
        except LedgerError as error:
            return _failed(faults.fault(error, self._desk.hidden))
        except Exception:
            # The client is told that it is ours to mend, and nothing of how it is built.
            log.exception("the tool %s failed", tool.name)
            return _failed(faults.DEFECT)
        return t.CallToolResult(content=[_text(answer.words)], structured_content=answer.document)

    # --- resources -------------------------------------------------------------------------------

    async def list_resources(
        self, context: Any, asked: t.PaginatedRequestParams | None
    ) -> t.ListResourcesResult:
        after = None if asked is None else asked.cursor
        listed: list[t.Resource] = []
        if after is None:
            listed = [
                t.Resource(uri=RUNS, name="runs", description="Which runs there are.", mime_type=JSON),
                t.Resource(
                    uri=QUESTIONS, name="questions", description="What can be asked by name.", mime_type=JSON
                ),
            ]
        page, _ = await self._told(in_thread(lambda: list_runs(self._desk.ledger, after=after, limit=_PAGE)))
        for run in page.runs:
            listed += (
                t.Resource(
                    uri=resources.address(run.run, what),
                    name=f"{run.run}: {what}",
                    description=words,
                    mime_type=JSON,
                )
                for what, words in OF_A_RUN.items()
            )
        return t.ListResourcesResult(resources=listed, next_cursor=page.next)

    async def list_templates(
        self, context: Any, asked: t.PaginatedRequestParams | None
    ) -> t.ListResourceTemplatesResult:
        return t.ListResourceTemplatesResult(
            resource_templates=[
                t.ResourceTemplate(
                    uri_template=template, name=what, description=OF_A_RUN[what], mime_type=JSON
                )
                for what, template in TEMPLATES.items()
            ]
        )

    async def read_resource(self, context: Any, asked: t.ReadResourceRequestParams) -> t.ReadResourceResult:
        found = await self._told(resources.read(self._desk, asked.uri))
        return t.ReadResourceResult(
            contents=[
                t.TextResourceContents(uri=asked.uri, mime_type=one.mime_type, text=one.text) for one in found
            ]
        )

    # --- prompts ---------------------------------------------------------------------------------

    async def list_prompts(self, context: Any, asked: t.PaginatedRequestParams | None) -> t.ListPromptsResult:
        return t.ListPromptsResult(prompts=[RESUME])

    async def get_prompt(self, context: Any, asked: t.GetPromptRequestParams) -> t.GetPromptResult:
        if asked.name != RESUME.name:
            raise MCPError(t.INVALID_PARAMS, f"prompt: {no_such('prompt', asked.name, [RESUME.name])}")
        answer = await self._told(self._brief(asked.arguments or {}))
        asks = (
            "Go on with the run that is told of below. First ask the gate: call run_resume. Go on only if "
            f"its verdict is continue, and keep to the contract.\n\n{answer.words}"
        )
        return t.GetPromptResult(
            description=RESUME.description, messages=[t.PromptMessage(role="user", content=_text(asks))]
        )

    async def _brief(self, given: dict[str, str]) -> Answer:
        asked = read_model(reading.RunArguments, given)
        return await reading.brief(self._desk, read_model(reading.OfRunArguments, {"run": asked.run}))

    async def complete(self, context: Any, asked: t.CompleteRequestParams) -> t.CompleteResult:
        """Complete the id of a run, in the prompt and in the addresses of resources."""
        values: list[str] = []
        if asked.argument.name == "run":
            prefix = asked.argument.value
            page, _ = await self._told(
                in_thread(lambda: list_runs(self._desk.ledger, prefix=prefix, limit=_PAGE))
            )
            values = [run.run for run in page.runs]
        return t.CompleteResult(completion=t.Completion(values=values))

    async def _told(self, answer: Awaitable[T]) -> T:
        """Tell an error as the protocol has it where no tool was called."""
        try:
            return await answer
        except LedgerError as error:
            said = faults.fault(error, self._desk.hidden)
            raise MCPError(t.INVALID_PARAMS, said["message"], said) from None
        except Exception:
            log.exception("a request failed")
            raise MCPError(t.INTERNAL_ERROR, str(faults.DEFECT["message"]), faults.DEFECT) from None


def _failed(said: dict[str, Any]) -> t.CallToolResult:
    return t.CallToolResult(content=[_text(faults.words(said))], structured_content=said, is_error=True)


def _text(words: str) -> t.TextContent:
    return t.TextContent(text=words)


def _unknown_tool(name: str) -> MCPError:
    reasons = {one.replace(".", "_"): (one, why) for one, why in not_offered().items()}
    if name in reasons:
        command, why = reasons[name]
        return MCPError(t.INVALID_PARAMS, f"{command} is no tool: {why}")
    return MCPError(t.INVALID_PARAMS, f"{name!r:.60}: {no_such('tool', name, tools())}")
