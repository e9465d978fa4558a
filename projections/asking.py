"""Asking: bring the read models of a question up to date, then answer it as of one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from ledger.application.edge import Edge
from ledger.application.ledger import Ledger, edge_of
from ledger.application.reading import records_of
from ledger.application.rows import decoded
from ledger.canonical import invalid
from ledger.errors import RunNotFound, StoreUnavailable
from ledger.record import Record
from ledger.stores.builds import Parked
from ledger.stores.read_models import Cell, Cursor, Look, Model, Tables
from ledger.values.times import utc, write_time
from projections.base import Projection
from projections.built_in import BUILT_IN
from projections.cursors import check_mark, is_seen, named, parked_error, stop_error
from projections.errors import ProjectionBehind, ProjectionError
from projections.questions.base import Answer, Asked, Parameter, Question
from projections.questions.catalogue import question_named
from projections.runner import Progress, Runner
from projections.serving import find_cursor, find_served, slot_of


def ask(
    ledger: Ledger,
    question: str | Question,
    /,
    *,
    as_of: int | datetime | None = None,
    now: datetime | None = None,
    catch_up: bool = True,
    progress: Callable[[Progress], None] | None = None,
    **given: Any,
) -> Answer:
    """Answer a question from read models, exactly, as of a stated place in the ledger.

    It is answered from the build of each projection that is served; where that is another version than this
    program's, from this program's if that was built. What a projection has set aside is named in a note.

    Args:
        ledger: the tenant's.
        question: a name of `ask --list`, or a question of your own.
        as_of: what the ledger said at a global position, or at a time (inclusive); None: what it says now.
        now: the time that what only time changes is judged by; None: `as_of` where that is a time, else the
            ledger's clock.
        catch_up: run the projections it needs first, unless others do, until all that is shown now is
            handled; False: answer from what is handled, as of that place.
        progress: told how far they are meanwhile.
        given: the question's parameters by name; times as datetime.

    Raises:
        RunNotFound: the parameter `run` names none.
        InvalidInput: there is no such question, a parameter is missing, unknown or malformed, or `as_of` lies
            behind the end of the ledger.
        ProjectionStopped: a record before that place cannot be handled, or the run in question was set aside.
        ProjectionBehind: what is needed was not handled that far, or this program's version was never built.
        ProjectionAhead: the read models come from another ledger, or from one that was restored.
    """
    asked = question_named(question) if isinstance(question, str) else question
    edge = edge_of(ledger)
    values = _values(asked.parameters, given)
    needed = [BUILT_IN[name] for name in asked.uses]
    target = edge.store.end()
    until = None
    if isinstance(as_of, datetime):
        until = utc(as_of)
    elif as_of is not None:
        if as_of > target:
            raise invalid("as_of", f"the ledger ends at the global position {target}")
        target = as_of
    run = values.get("run")
    if isinstance(run, str) and not edge.store.read(edge.tenant, run, limit=1):
        raise RunNotFound(f"no run {run!r:.60} was opened", run=run)

    def answer(look: Look, least: int | None) -> Answer | None:
        """Answer where all have come far enough; without `least`, where nothing at all is left for them."""
        found = _builds(look, needed, raises=least is not None)
        if found is None or (least is None and not _is_enough(edge, found, target)):
            return None
        place = _checked(edge, found, least or 0)
        if isinstance(as_of, int):
            place = as_of
        reads = _Reads(edge, look, [one.model for one in found], place, until)
        judged = utc(now) if now is not None else until or edge.now()
        one = Asked(values, judged, reads.select, reads.record, reads.records)
        for build in found:
            _tell_of_parked(one, build, run, place)
        rows = [tuple(row) for row in asked.rows(one)]
        events = min(build.cursor.reached.events for build in found)
        return Answer(asked.name, values, place, until, judged, asked.columns, rows, tuple(one.notes), events)

    models = edge.store.read_models()
    if catch_up:
        # Most often there is nothing to catch up with, and one look is enough.
        found = models.look(edge.tenant, lambda look: answer(look, None))
        if found is not None:
            return found
        _catch_up(ledger, needed, progress)
    least = target if catch_up or isinstance(as_of, int) else 0
    found = models.look(edge.tenant, lambda look: answer(look, least))
    assert found is not None, "what is not there is told"
    return found


class _Found(NamedTuple):
    """A build that answers."""

    model: Model
    cursor: Cursor
    parked: list[Parked]


class _Reads:
    """What a question may read, as of one moment."""

    def __init__(
        self, edge: Edge, look: Look, models: list[Model], upto: int, until: datetime | None
    ) -> None:
        self._edge = edge
        self._look = look
        self._upto = upto
        self._until = None if until is None else write_time(until)
        self._tables: Tables = {
            f"{model.projection}.{table.name}": (model, table) for model in models for table in model.tables
        }

    def select(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        return self._look.select(query, self._tables, values, upto=self._upto, until=self._until)

    def record(self, run: str, position: int) -> Record:
        row = self._edge.store.read(self._edge.tenant, run, after=position - 1, limit=1)[0]
        return decoded(row)

    def records(self, run: str) -> Iterator[Record]:
        for record in records_of(self._edge, run):
            later = self._until is not None and write_time(record.at) > self._until
            if later or (record.global_position or 0) > self._upto:
                return
            yield record


def _values(parameters: tuple[Parameter, ...], given: Mapping[str, Any]) -> dict[str, Cell]:
    known = {one.name for one in parameters}
    for name in given:
        if name not in known:
            there = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            raise invalid(name, f"the question has no such parameter; {there}")
    return {one.name: _value(one, given.get(one.name)) for one in parameters}


def _value(parameter: Parameter, value: Any) -> Cell:
    if value is None:
        if parameter.required:
            raise invalid(parameter.name, f"the question needs it: {parameter.about}")
        return None
    if parameter.kind == "time":
        if not isinstance(value, datetime):
            raise invalid(parameter.name, "a datetime with its zone is needed")
        try:
            return write_time(value)
        except ValueError as error:
            raise invalid(parameter.name, str(error)) from None
    wanted = int if parameter.kind == "integer" else str
    if type(value) is not wanted:
        raise invalid(parameter.name, f"{parameter.kind} is needed, not {value!r:.50}")
    return value


def _is_enough(edge: Edge, found: list[_Found], target: int) -> bool:
    """Tell whether nothing is left to be handled up to a place, by any of them."""
    for model, cursor, parked in found:
        if any(stream.again for stream in parked) or cursor.reached.stop is not None:
            return False
        if cursor.shape != model.shape or not is_seen(edge, cursor.reached):
            return False
    lowest = min((one.cursor.reached.position for one in found), default=target)
    if lowest >= target:
        return True
    # Maybe only other tenants have written since.
    more = edge.store.tail(after=lowest, limit=1, tenant=edge.tenant)
    return not more or more[0].gid > target


def _catch_up(ledger: Ledger, needed: list[Projection], progress: Callable[[Progress], None] | None) -> None:
    try:
        Runner(ledger, needed).run(until_current=True, progress=progress)
    except ProjectionError:
        # Told with how far it has come; behind the place that is asked about it is no matter.
        return
    except StoreUnavailable as error:
        # A login that may only read answers from what others have handled.
        if error.data.get("reason") != "no_privilege":
            raise


def _builds(look: Look, needed: list[Projection], *, raises: bool) -> list[_Found] | None:
    """Find of each projection the build that answers, and where it stands; one that is not there is told."""
    all_served, all_cursors = look.served(), look.cursors()
    found: list[_Found] = []
    for model in (one.model for one in needed):
        served = find_served(all_served, model)
        build = model._replace(slot=slot_of(model, served, all_cursors))
        cursor = find_cursor(all_cursors, build)
        other = served is not None and served.build.version != model.version
        if cursor is None or cursor.is_going or (other and not cursor.reached.built):
            if not raises:
                return None
            instead = f"version {served.build.version} is served" if served and other else ""
            raise _behind(build, 0, instead)
        found.append(_Found(build, cursor, look.parked(build)))
    return found


def _checked(edge: Edge, found: list[_Found], least: int) -> int:
    """Return how far all have come, which has to be up to some place, in this ledger."""
    for model, cursor, _ in found:
        check_mark(edge, cursor)
        if cursor.reached.position < least:
            raise stop_error(cursor) or _behind(model, cursor.reached.position)
    return min(one.cursor.reached.position for one in found)


_MOST_NAMED = 5
"""How many streams a note names."""


def _tell_of_parked(one: Asked, build: _Found, run: Cell, place: int) -> None:
    """Note which streams the rows say nothing of, or refuse to answer about one of them."""
    cursor = build.cursor
    missing = [stream for stream in build.parked if stream.gid <= place]
    for stream in missing:
        if stream.run == run:
            raise parked_error(cursor, stream)
    if missing:
        names = [f"{stream.run} from position {stream.position}" for stream in missing[:_MOST_NAMED]]
        more = f" and {len(missing) - _MOST_NAMED:,} more" if len(missing) > _MOST_NAMED else ""
        one.note(
            f"the projection {cursor.projection} has set aside {', '.join(names)}{more}, which cannot be "
            "handled: nothing of that is told here (intent-ledger project status)"
        )


def _behind(model: Model, position: int, instead: str = "") -> ProjectionBehind:
    run = f"run it (intent-ledger project run {model.projection} --until-current)"
    far = f"has handled the ledger up to the global position {position} only: {run}"
    return ProjectionBehind(
        f"{named(model)} {f'was not built, {instead}: {run}' if instead else far}",
        projection=model.projection,
        version=model.version,
        gid=position,
    )
