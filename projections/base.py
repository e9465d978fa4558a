"""What a projection is: a name, a version, the events it wants, tables, and a handler from record to rows.

    class Goals(Projection):
        name = "goals"
        version = 1
        wants = frozenset({RunOpened, GoalRevised})
        tables = (Table("goals", (Column("run"), Column("goal")), key=("run",)),)

        def handle(self, record: Record, rows: Rows) -> None:
            event = record.event
            goal = event.goal if isinstance(event, RunOpened) else event.text
            rows.put("goals", {"run": record.run, "goal": goal}, record)

Rows are a function of the records, in their order: a handler reads no clock, draws no random number, and asks
nobody but the rows it has put. Then the same rows come out whatever the size of pages, and however
often it is begun anew. What only time changes is left to who reads the rows.

The shape of tables never changes within a version: what is to be kept otherwise is a new version, which is
built beside the old one. A handler has nothing to act on the outside with, so that to build it again does
nothing again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, Protocol

from ledger.events import Event
from ledger.record import Record
from ledger.stores.read_model_checks import check_model
from ledger.stores.read_models import Column, Model, Table
from projections.rows import Rows

__all__ = ["Column", "Handler", "Projection", "Rows", "Table"]


class Handler(Protocol):
    """What handles the records of one stretch of work, in order."""

    def handle(self, record: Record, rows: Rows) -> None:
        """Put what a record changes; whatever this raises stops the projection at the record."""

    def finish(self, rows: Rows) -> None:
        """Put what was kept back until the end of the page."""


class Projection(ABC):
    """A read model: what it keeps, and how it comes from records.

    An instance may be shared by runners. One that keeps something between records keeps it in the handler
    that `begin` returns.
    """

    name: ClassVar[str]
    """Lower-case letters, digits and `_`; its tables are named after it."""
    version: ClassVar[int]
    """It rises with every change of tables or of what stands in them."""
    wants: ClassVar[frozenset[type[Event]] | None] = None
    """Events it is given; None: all of them, of runs and sources."""
    tables: ClassVar[tuple[Table, ...]]
    by_run: ClassVar[bool] = False
    """Whether each row comes from records of one stream alone, and no other stream touches it. Then streams
    can be handled side by side, and one can be set aside without the others."""
    on_poison: ClassVar[Literal["stop", "park"]] = "stop"
    """What happens at a record that cannot be handled. `stop`: the projection stands there. `park`: this
    record and all that follow in its stream are set aside, the others go on; only where `by_run`."""

    @abstractmethod
    def handle(self, record: Record, rows: Rows) -> None:
        """Put what a record changes; whatever this raises stops the projection at the record."""

    def finish(self, rows: Rows) -> None:  # noqa: B027 - most keep nothing back
        """Put what was kept back until the end of the page."""

    def begin(self) -> Handler:
        """Return what handles records from here on; what an earlier one had put may never have been kept."""
        return self

    @property
    def about(self) -> str:
        """What it keeps, in a sentence: the first line of its class's docstring."""
        return (type(self).__doc__ or "").strip().partition("\n")[0]

    @property
    def model(self) -> Model:
        """What it keeps, as the store knows it.

        Raises:
            InvalidInput: the declaration makes no tables.
        """
        model = Model(self.name, self.version, self.tables)
        check_model(model)
        return model

    def wants_event(self, event: Event) -> bool:
        """Tell whether it is given an event."""
        return self.wants is None or type(event) in self.wants

    def wants_name(self, name: str) -> bool:
        """Tell whether it is given events of a name, also of one that this program does not know."""
        return self.wants is None or any(kind.name == name for kind in self.wants)
