"""Who writes, and which point of a source something comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StringConstraints

from ledger.values.base import Value
from ledger.values.ids import Id, Party, Principal


def _positional(*names: str) -> Callable[..., None]:
    """Build an `__init__` whose first fields may be given by place."""

    def init(self: Value, *given: Any, **fields: Any) -> None:
        if len(given) > len(names):
            raise TypeError(f"{type(self).__name__} takes {' and '.join(names)} by place, the rest by name")
        for name, value in zip(names, given, strict=False):
            if name in fields:
                raise TypeError(f"{type(self).__name__} got {name} twice")
            fields[name] = value
        Value.__init__(self, **fields)

    # Tells pydantic that making one from data needs no detour through here: it validates the fields itself,
    # so that a missing one is reported as such, with its path.
    init.__pydantic_base_init__ = True  # type: ignore[attr-defined]
    return init


class Actor(Value):
    """Who writes: `Actor("agent:refunds", session="s-1")`.

    What somebody *claims* (`by`, `asserted_by`) stands in the event; the actor is who wrote it.
    """

    authenticated_by: Id | None = None
    """How the id was proven; None: it was not."""
    id: Principal
    on_behalf_of: tuple[Principal, ...] = ()
    """For whom, nearest first."""
    role: Id | None = None
    session: Id | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            id: str,
            *,
            authenticated_by: str | None = None,
            on_behalf_of: tuple[str, ...] = (),
            role: str | None = None,
            session: str | None = None,
        ) -> None: ...

    else:
        __init__ = _positional("id")

    @property
    def kind(self) -> str:
        """One of human, agent, service."""
        return self.id.partition(":")[0]


class Source(Value):
    """A point in a source stream: `Source("policy", "refunds", revision="4")`."""

    item: Id | None = None
    """Which published constraint; None: the one with the id of the constraint."""
    kind: Annotated[str, StringConstraints(strict=True, pattern=r"^[a-z][a-z0-9_.-]*$", max_length=50)]
    name: Annotated[Id, Field(max_length=149)]
    revision: Id | None = None

    if TYPE_CHECKING:

        def __init__(
            self, kind: str, name: str, *, item: str | None = None, revision: str | None = None
        ) -> None: ...

    else:
        __init__ = _positional("kind", "name")

    @property
    def stream(self) -> str:
        """The id of the source stream, `kind:name`."""
        return f"{self.kind}:{self.name}"


SourceId = Party
"""The id of a source stream, `kind:name`, e.g. `policy:refunds`."""
