"""The classes that stand in the schema of a graph's state."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.pregel import Pregel
from langgraph.pregel._utils import find_subgraph_pregel
from pydantic import BaseModel
from typing_extensions import is_typeddict

from ledger.adapters.langgraph.kinds import is_derivable

Graph = StateGraph[Any, Any, Any, Any] | Pregel[Any, Any, Any, Any]
"""What is compiled to a graph, or is one."""


def is_graph(given: Any) -> bool:
    """Tell whether it is what is compiled to a graph, or a graph."""
    return isinstance(given, StateGraph | Pregel)


def classes_in(schema: Any) -> Iterator[type]:
    """Yield the classes in a schema of which it is known how their values become data, each once.

    Args:
        schema: a typed dictionary, a model, a dataclass, or whatever else may annotate a field; or a graph,
            which stands for the schemas that it and the graphs in it have.
    """
    seen: set[Any] = set()
    left = [schema]
    while left:
        one = left.pop()
        try:
            if one in seen:
                continue
            seen.add(one)
        except TypeError:  # what cannot be hashed is a value, e.g. among those of a literal
            continue
        if is_graph(one):
            left += _in_graph(one)
            continue
        left += get_args(one)
        if isinstance(one, type):
            left += _fields(one)
            if is_derivable(one):
                yield one


def _in_graph(graph: Graph) -> list[Any]:
    """List the schemas of a graph: of its state and of what its nodes take; and the graphs in it."""
    if isinstance(graph, StateGraph):
        branches = [one.input_schema for some in graph.branches.values() for one in some.values()]
        nodes = [node.input_schema for node in graph.nodes.values()]
        within = [find_subgraph_pregel(node.runnable) for node in graph.nodes.values()]  # type: ignore[arg-type]
        return [*graph.schemas, *nodes, *branches, *_carried(graph.channels), *within]
    built = [graph.builder] if isinstance(graph, CompiledStateGraph) else []
    return [*built, *_carried(graph.channels), *(one for _, one in graph.get_subgraphs())]


def _carried(channels: dict[str, Any]) -> list[Any]:
    return [getattr(one, name, None) for one in channels.values() for name in ("ValueType", "UpdateType")]


def _fields(cls: type) -> list[Any]:
    if issubclass(cls, BaseModel):
        return [field.annotation for field in cls.model_fields.values()]
    if not (is_typeddict(cls) or dataclasses.is_dataclass(cls) or hasattr(cls, "_fields")):
        return []
    try:
        return list(get_type_hints(cls, include_extras=True).values())
    except (NameError, TypeError):
        # They name what is not there, or only for a type checker.
        return [one for one in getattr(cls, "__annotations__", {}).values() if not isinstance(one, str)]
