"""The tools of a ledger, and what all acts of it share."""

from dataclasses import replace
from typing import Any

from ledger.application.edge import Edge, worker_name
from ledger.application.heartbeats import Heartbeats
from ledger.canonical import invalid
from ledger.gateway.tools import Declared, Function, Tool, declare
from ledger.secrets import Secrets
from ledger.stores import forks
from ledger.values import Recovery


def undeclared(**args: Any) -> None:
    """Stand for a tool of which nothing is declared here; it is never called."""


class Workshop:
    """The tools of a ledger, and what all acts of it share. Threads may share it."""

    def __init__(self, edge: Edge, secrets: Secrets | None = None) -> None:
        self.edge = edge
        self.secrets = Secrets() if secrets is None else secrets
        self.tools: dict[str, Tool] = {}
        """What was registered, by name."""
        self.heartbeats = Heartbeats(edge)
        self._name = worker_name()
        self._made: dict[str, tuple[tuple[Function, Declared], Tool]] = {}
        """The last tool that a call made under a name, and of what: most calls say what the last one did."""
        self._probed: dict[str, Tool] = {}
        """The last tool of a call, by name, that said how the outside is asked."""

    @property
    def worker(self) -> str:
        """Name who claims here: this ledger, in this process."""
        return f"{self._name}/{forks.generation()}"

    @property
    def known(self) -> dict[str, Tool]:
        """All tools that are known here, by name; where calls made several, the last that can be asked."""
        made = {name: tool for name, (_, tool) in self._made.items()} | self._probed
        asked = {name: tool for name, tool in self._probed.items() if name in self.tools}
        return made | {name: _with_probe(tool, asked.get(name)) for name, tool in self.tools.items()}

    def who_knows(self, name: str) -> Tool | None:
        """Return the tool by which the outside is asked, or sent again what it dedupes; None: none is known.

        It is sent again by what is registered alone, asked also by what a call said.
        """
        asked, registered = self.known.get(name), self.tools.get(name)
        if asked is None or registered is None or registered.recovery is not Recovery.IDEMPOTENT:
            return asked
        return registered if asked.probe is registered.probe else replace(registered, probe=asked.probe)

    def register(self, tool: Tool) -> Tool:
        """Keep a tool, so that it is found by its name; a later one of the same name takes its place."""
        self.tools[tool.name] = tool
        return tool

    def tool(
        self,
        tool: Tool | str | Function,
        function: Function | None,
        declared: Declared,
        *,
        keeps: bool = True,
    ) -> Tool:
        """Find or declare the tool of a call. What a call declares is of this call alone.

        Args:
            tool: as `function` and `declared`, what the call says.
            keeps: False: nothing is to be remembered of the call, since it only asks. Then a name is enough,
                also where nothing is declared here.

        Raises:
            InvalidInput: no tool of this name is known here, it is registered with another function,
                declarations contradict each other, or the call would do without a person what the tool that
                is registered has them approve.
        """
        if isinstance(tool, Tool):
            if function is not None:
                raise invalid("function", f"{tool.name!r} is a tool already and has its function")
            known = self._no_looser(tool)
        elif function is not None or not isinstance(tool, str):
            return self._declared_here(tool, function, declared, keeps=keeps)
        elif tool in self.tools:
            known = self.tools[tool]
        elif not keeps and tool in self._made:
            known = self._made[tool][1]
        elif not keeps and not self.tools:
            known = declare(undeclared, name=tool)
        else:
            names = ", ".join(sorted(self.tools)) or "none"
            raise invalid("tool", f"no tool {tool!r} is known here (known: {names}): give its function")
        found = self._no_looser(known.with_declared(**declared)) if declared else known
        if keeps and isinstance(tool, Tool):
            self.register(tool)
        return self._asked_by(found) if keeps and declared else found

    def _no_looser(self, tool: Tool) -> Tool:
        """Refuse what would do without a person what the tool that is registered has them approve."""
        registered = self.tools.get(tool.name)
        if registered is not None and registered.needs_approval and not tool.needs_approval:
            raise invalid(
                "needs_approval",
                f"{tool.name!r} is registered as one that a person has to approve, which no call changes: "
                "register another tool under this name, or call this one by its name",
            )
        return tool

    def _declared_here(
        self, tool: str | Function, function: Function | None, declared: Declared, *, keeps: bool
    ) -> Tool:
        """Make a tool of a function and what the call declares of it, anew where one of them is another."""
        body = tool if function is None else function
        if not callable(body):
            raise invalid("function", f"give a function, not {body!r:.50}")
        name = tool if isinstance(tool, str) else getattr(body, "__name__", None)
        said = body, declared
        made = self._made.get(name) if isinstance(name, str) else None
        if made is not None and made[0] == said and name not in self.tools:
            return made[1]
        if isinstance(body, Tool):
            found = replace(body, name=name or body.name)
            found = found.with_declared(**declared) if declared else found
        else:
            found = declare(body, name=name, **declared)
        registered = self.tools.get(found.name)
        if registered is None:
            if not keeps:
                return found
            self._made[found.name] = said, found
            return self._asked_by(found)
        if registered.function != found.function:
            raise invalid(
                "function",
                f"{found.name!r} is registered with another function: give its name alone, or the tool",
            )
        if not isinstance(body, Tool):
            found = registered.with_declared(**declared) if declared else registered
        self._no_looser(found)
        return self._asked_by(found) if keeps and found is not registered else found

    def _asked_by(self, tool: Tool) -> Tool:
        """Remember how the outside is asked about the acts of a tool that is known from a call."""
        if tool.probe is not None:
            self._probed[tool.name] = tool
        return tool


def _with_probe(registered: Tool, called: Tool | None) -> Tool:
    return registered if called is None or registered.probe is not None else called
