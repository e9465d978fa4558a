"""Asking: bring the read models of a question up to date, then answer it as of one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

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
    least = _enough(edge, needed, target) if catch_up else target if isinstance(as_of, int) else 0
    if least is None:
        _catch_up(ledger, needed, progress)
        least = target
    judged = utc(now) if now is not None else until or edge.now()

    def step(look: Look) -> Answer:
        models, cursors = _builds(look, needed)
        _check(edge, models, cursors, least)
        place = min(cursor.reached.position for cursor in cursors)
        if isinstance(as_of, int):
            place = as_of
        reads = _Reads(edge, look, models, place, until)
        one = Asked(values, judged, reads.select, reads.record, reads.records)
        for model, cursor in zip(models, cursors, strict=True):
            _tell_of_parked(one, cursor, look.parked(model), run, place)
        rows = [tuple(row) for row in asked.rows(one)]
        events = min(cursor.reached.events for cursor in cursors)
        notes = tuple(one.notes)
        return Answer(asked.name, values, place, until, judged, asked.columns, rows, notes, events)

    return edge.store.read_models().look(edge.tenant, step)


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


def _enough(edge: Edge, needed: list[Projection], target: int) -> int | None:
    """Return how far all have come, where that is all there is up to a place; None: some are to be run."""

    def step(look: Look) -> list[Cursor] | None:
        try:
            models, cursors = _builds(look, needed)
        except ProjectionBehind:
            return None
        for model, cursor in zip(models, cursors, strict=True):
            is_due = any(stream.again for stream in look.parked(model))
            if is_due or cursor.reached.stop is not None or cursor.shape != model.shape:
                return None
        return cursors

    found = edge.store.read_models().look(edge.tenant, step)
    if found is None or not all(is_seen(edge, cursor.reached) for cursor in found):
        return None
    lowest = min((cursor.reached.position for cursor in found), default=target)
    if lowest >= target:
        return target
    # Maybe only other tenants have written since.
    more = edge.store.tail(after=lowest, limit=1, tenant=edge.tenant)
    return lowest if not more or more[0].gid > target else None


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


def _builds(look: Look, needed: list[Projection]) -> tuple[list[Model], list[Cursor]]:
    """Find of each projection the build that answers, and where it stands."""
    all_served, all_cursors = look.served(), look.cursors()
    models: list[Model] = []
    cursors: list[Cursor] = []
    for model in (one.model for one in needed):
        served = find_served(all_served, model)
        build = model._replace(slot=slot_of(model, served, all_cursors))
        cursor = find_cursor(all_cursors, build)
        other = served is not None and served.build.version != model.version
        if cursor is None or cursor.is_going or (other and not cursor.reached.built):
            instead = f"version {served.build.version} is served" if served and other else ""
            raise _behind(build, 0, instead)
        models.append(build)
        cursors.append(cursor)
    return models, cursors


def _check(edge: Edge, models: list[Model], cursors: list[Cursor], target: int) -> None:
    for model, cursor in zip(models, cursors, strict=True):
        check_mark(edge, cursor)
        if cursor.reached.position < target:
            raise stop_error(cursor) or _behind(model, cursor.reached.position)


_MOST_NAMED = 5
"""How many streams a note names."""


def _tell_of_parked(one: Asked, cursor: Cursor, parked: list[Parked], run: Cell, place: int) -> None:
    """Note which streams the rows say nothing of, or refuse to answer about one of them."""
    missing = [stream for stream in parked if stream.gid <= place]
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
