"""What is declared under which name, held against a graph's tools: a slip of the pen protects none."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, get_type_hints

from ledger import Tool
from ledger.canonical import invalid
from ledger.gateway.tools import Declared

log = logging.getLogger("ledger")

OPTIONS = frozenset(get_type_hints(Declared)) | {"state"}
"""What may be declared of a tool of a graph."""


def by_name(declared: Any) -> dict[str, Any]:
    """Return declarations by the names of their tools.

    Raises:
        InvalidInput: they are neither by name, nor tools of the ledger.
    """
    if isinstance(declared, Mapping):
        for name in declared:
            if not isinstance(name, str) or not name:
                raise invalid("tools", f"declare tools by their names, which are texts, not {name!r:.50}")
        return dict(declared)
    if isinstance(declared, str | Tool) or not isinstance(declared, Iterable):
        raise invalid(
            "tools", f'declare tools by their names, {{"pay": "at_most_once"}}, not {declared!r:.50}'
        )
    found: dict[str, Any] = {}
    for one in declared:
        if not isinstance(one, Tool):
            raise invalid(
                "tools",
                f"only tools of the ledger stand in a list, not {one!r:.50}: declare by name, "
                '{"pay": "at_most_once"}',
            )
        if found.setdefault(one.name, one) is not one:
            raise invalid(f"tools.{one.name}", "two tools of this name are declared")
    return found


def check_options(name: str, said: Any) -> None:
    """Check what is declared of a tool.

    Raises:
        InvalidInput: it is none of what may be declared; `path` names it.
    """
    if isinstance(said, str):
        return
    if not isinstance(said, Mapping):
        raise invalid(f"tools.{name}", f'declare a recovery, or {{"recovery": …}}, not {said!r:.50}')
    for option in said:
        if option not in OPTIONS:
            near = get_close_matches(str(option), OPTIONS, 1)
            hint = f": is {near[0]} meant?" if near else f"; there are {', '.join(sorted(OPTIONS))}"
            raise invalid(f"tools.{name}.{option}", f"nothing of that name can be declared{hint}")


class Names:
    """The names under which something is declared. Threads may share it."""

    def __init__(self, declared: Collection[str], known: Collection[str]) -> None:
        """Take the names of what is declared for the graph, and of what its ledger knows anyway."""
        self._declared = frozenset(declared)
        self._known = self._declared | frozenset(known)
        self._seen: set[str] = set()
        self._mutex = threading.Lock()

    def check(self, tools: Iterable[str]) -> None:
        """Hold them against the tools of a graph; of which nothing is declared is told once, in the log.

        Raises:
            InvalidInput: the graph has no tool of a name, but one that is called much like it, of which
                nothing is declared; `path` names the declaration.
        """
        names = frozenset(tools)
        unsaid = names - self._known
        for name in sorted(self._declared - names):
            near = get_close_matches(name, unsaid, 1)
            if near:
                raise invalid(
                    f"tools.{name}",
                    f"the graph has no tool of this name: is {near[0]!r} meant, of which nothing is said?",
                )
        for name in sorted(unsaid):
            self.note(name)

    def note(self, tool: str) -> None:
        """Tell once that nothing is declared of a tool, if that is so."""
        with self._mutex:
            if tool in self._known or tool in self._seen:
                return
            self._seen.add(tool)
        log.warning(
            "nothing is declared of the tool %r: its acts are done at most once, and nobody can be asked "
            "whether they happened; declare what it is, None if it changes nothing outside",
            tool,
        )
