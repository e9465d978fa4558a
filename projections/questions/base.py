"""What a question is: a stable name, what it answers and what it cannot, parameters, columns, a query.

    class Goals(Question):
        name = "goals"
        about = "Every goal that a run had, with who set it, and why."
        cannot = "It knows what was said of a goal, and not whether an agent followed it."
        parameters = (RUN,)
        columns = (AnswerColumn("goal", "The goal in its own words."), ...)
        example = "run=refund-17"
        uses = ("goals",)

        def rows(self, asked: Asked) -> Iterable[Row]:
            query = "SELECT g.text FROM {goals.goals} AS g WHERE g.run = :run ORDER BY g.position"
            return asked.select(query, **asked.given)

Answers are exact: they are read as of one moment from read models that have handled everything up to a stated
place, and say which place that is. Asked as of an earlier place or time, a question says what the ledger said
then. What only time changes takes `now`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal, NamedTuple

from ledger.errors import InvalidInput
from ledger.record import Record
from ledger.stores.read_models import Cell

Kind = Literal["text", "reference", "time", "integer"]
Row = tuple[Cell, ...]
Group = Literal[
    "Before an act", "Rules", "Time", "Goals and obligations", "Approvals", "Effects", "People and subjects"
]


class Known(NamedTuple):
    """Where a value stands if anything at all has it, by an index: a slip of the pen finds nothing, too."""

    column: str
    """As `projection.table.column`."""
    words: str
    """What has it, as in `no {words} is recorded`; the value stands behind."""


class Parameter(NamedTuple):
    """What a question is asked about."""

    name: str
    about: str
    kind: Kind = "text"
    """A time is a moment with its zone; handed to the query as records write it. A reference is written
    `kind:name`."""
    required: bool = False
    choices: tuple[str, ...] = ()
    """All values that it may have; none: any."""
    known: Known | None = None
    past: bool = False
    """It is a time that must have come."""


class AnswerColumn(NamedTuple):
    """A column of an answer."""

    name: str
    about: str


class Answer(NamedTuple):
    """What a question was answered, and as of when."""

    question: str
    given: Mapping[str, Cell]
    as_of: int
    """Global position up to which everything was known, and nothing later."""
    until: datetime | None
    """Only what was recorded up to this time was looked at; None: all of it."""
    now: datetime
    """The time that what only time changes was judged by."""
    columns: tuple[AnswerColumn, ...]
    rows: list[Row]
    notes: tuple[str, ...] = ()
    """What this answer leaves open, beyond what the question never tells."""
    events: int = 0
    """How many events of the tenant the read models it was read from had handled by then."""
    left_out: tuple[str, ...] = ()
    """Runs that were set aside: from there on nothing of them is told; a note says so."""


def refused(parameter: str, words: str) -> InvalidInput:
    """Build the refusal of what a parameter was given."""
    return InvalidInput(f"{parameter}= {words}", path=parameter, reason=words)


@dataclass
class Asked:
    """A question on its way to an answer: what it was given, and what it may read."""

    given: Mapping[str, Cell]
    """By parameter; one that was not given is None."""
    tenant: str
    """Whose records are read."""
    now: datetime
    select: Callable[..., list[tuple[Any, ...]]]
    """Run a query with values by name; see `ledger.stores.read_model_queries`. All queries of a question see
    one moment."""
    record: Callable[[str, int], Record]
    """Read one record of the ledger by stream and position, verified."""
    records: Callable[[str], Iterator[Record]]
    """Read the records of a stream, verified, in order: those up to the moment that is asked about."""
    notes: list[str] = field(default_factory=list)

    def note(self, words: str) -> None:
        """Say what this answer leaves open."""
        if words not in self.notes:
            self.notes.append(words)

    def where(self, **conditions: str) -> str:
        """Write the conditions of those parameters that were given, joined by AND; `1 = 1` where none was.

        Args:
            conditions: by parameter, the condition that uses it, e.g. `run="i.run = :run"`.
        """
        asked = [condition for name, condition in conditions.items() if self.given[name] is not None]
        return " AND ".join(asked) or "1 = 1"


class Question(ABC):
    """A question that has a name."""

    name: ClassVar[str]
    """Lower-case words with hyphens; it never changes its meaning."""
    group: ClassVar[Group]
    """Under which heading it is listed."""
    about: ClassVar[str]
    """What it answers, in one sentence."""
    cannot: ClassVar[str]
    """What it cannot tell, in one sentence."""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    columns: ClassVar[tuple[AnswerColumn, ...]]
    example: ClassVar[str] = ""
    """Parameters of a sensible call, as the command line takes them: `run=refund-17`."""
    uses: ClassVar[tuple[str, ...]]
    """Projections it reads, by name."""

    @abstractmethod
    def rows(self, asked: Asked) -> Iterable[Row]:
        """Return the rows of the answer, in a stable order, each with the cells of `columns`."""


RUN = Parameter("run", "The run, by its id.", required=True)
SOME_RUN = Parameter("run", "Only this run.")
KEY = Parameter("key", "The effect, by its key or by the beginning of it that tells it apart.", required=True)
SINCE = Parameter("since", "From this time on.", kind="time")
BEFORE = Parameter("before", "Before this time.", kind="time")
PERIOD = (SINCE, BEFORE)
TOOL = Parameter("tool", "Only effects of this tool.", known=Known("effects.intents.tool", "effect of tool"))
FROM_SOURCE = Parameter(
    "source",
    "Only constraints of this source, `kind:name`.",
    "reference",
    known=Known("constraints.acceptances.source", "acceptance from the source"),
)
