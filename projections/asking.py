"""Asking: bring the read models of a question up to date, then answer it as of one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from ledger.application.edge import Edge
from ledger.application.ledger import Ledger, edge_of
from ledger.application.reading import verified
from ledger.application.rows import decoded
from ledger.errors import InvalidInput, RunNotFound, StoreUnavailable
from ledger.record import Record
from ledger.stores.builds import Parked
from ledger.stores.read_models import Cell, Cursor, Look, Model, Tables
from ledger.stores.wakeup import Wakeup
from ledger.values.times import utc, write_time
from projections.base import Projection
from projections.built_in import BUILT_IN
from projections.cursors import ahead, named, parked_error, stop_error
from projections.errors import ProjectionBehind, ProjectionError
from projections.given import check_period, tell_of_unknown, values_of
from projections.history import counted, is_lost
from projections.questions.base import Answer, Asked, Question
from projections.questions.catalogue import question_named
from projections.runner import Progress, Runner
from projections.serving import find_cursor, find_served, slot_of

_SHOWN_SECONDS = 2.0
"""How long what is stored and not shown yet is waited for."""
_POLL_SECONDS = 0.02


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
        catch_up: run the projections it needs first, unless others do, until all that is stored now is
            handled (but for what is not shown within two seconds, since somebody keeps a transaction open);
            False: answer from what is handled, as of that place.
        progress: told how far they are meanwhile.
        given: the question's parameters by name; times as datetime.

    Raises:
        RunNotFound: the parameter `run` names none.
        InvalidInput: there is no such question, a parameter is missing, unknown or malformed, or `as_of` lies
            behind the end of the ledger, or has not come by its clock.
        ProjectionStopped: a record before that place cannot be handled, or the run in question was set aside.
        ProjectionBehind: what is needed was not handled that far, or this program's version was never built.
        ProjectionAhead: the read models come from another ledger, or from one that was restored.
    """
    asked = question_named(question) if isinstance(question, str) else question
    edge = edge_of(ledger)
    end = _shown(edge) if catch_up else edge.store.end()
    moment = _moment(edge, end, as_of, now)
    values = values_of(asked, given, moment.clock)
    check_period(values)
    needed = [BUILT_IN[name] for name in asked.uses]
    run = values.get("run")
    if isinstance(run, str) and not edge.store.read(edge.tenant, run, limit=1):
        raise RunNotFound(f"no run {run!r:.60} was opened", run=run)

    def answer(look: Look, least: int | None) -> Answer | None:
        """Answer where all have come far enough; without `least`, where nothing at all is left for them."""
        found = _builds(look, needed, raises=least is not None)
        if found is None or (least is None and not _is_enough(look, found, moment.target)):
            return None
        reached = _checked(look, found, least or 0)
        place = as_of if isinstance(as_of, int) else reached
        reads = _Reads(edge.tenant, look, [one.model for one in found], place, moment.until)
        one = Asked(values, edge.tenant, moment.judged, reads.select, reads.record, reads.records)
        left_out = dict.fromkeys(name for build in found for name in _tell_of_parked(one, build, run, place))
        rows = [tuple(row) for row in asked.rows(one)]
        if not rows:
            tell_of_unknown(one, asked.parameters)
        if as_of is not None:
            _tell_of_beginning(look, one, place, moment)
        _tell_of_clock(one, moment)
        if not catch_up and place < moment.target:
            _tell_of_waiting(look, one, found)
        events = min(build.cursor.reached.events for build in found)
        notes = tuple(one.notes)
        about = asked.name, values, place, moment.until, moment.judged, asked.columns
        return Answer(*about, rows, notes, events, tuple(left_out))

    models = edge.store.read_models()
    if catch_up:
        # Most often there is nothing to catch up with, and one look is enough.
        found = models.look(edge.tenant, lambda look: answer(look, None))
        if found is not None:
            return found
        _catch_up(ledger, needed, progress)
    least = moment.target if catch_up or isinstance(as_of, int) else 0
    found = models.look(edge.tenant, lambda look: answer(look, least))
    assert found is not None, "what is not there is told"
    return found


class _Moment(NamedTuple):
    """What is asked about, and when."""

    target: int
    """Global position up to which all has to be handled."""
    until: datetime | None
    judged: datetime
    """What only time changes is judged by it."""
    clock: datetime
    """The time it is, by the clock of the ledger."""


class _Found(NamedTuple):
    """A build that answers."""

    model: Model
    cursor: Cursor
    """As far as it counts in this ledger."""
    parked: list[Parked]
    is_whole: bool
    """Whether all of it counts; else another log was restored under it."""


class _Reads:
    """What a question may read, as of one moment."""

    def __init__(
        self, tenant: str, look: Look, models: list[Model], upto: int, until: datetime | None
    ) -> None:
        self._tenant = tenant
        self._look = look
        self._upto = upto
        self._until = None if until is None else write_time(until)
        self._tables: Tables = {
            f"{model.projection}.{table.name}": (model, table) for model in models for table in model.tables
        }

    def select(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        return self._look.select(query, self._tables, values, upto=self._upto, until=self._until)

    def record(self, run: str, position: int) -> Record:
        return decoded(self._look.read(run, after=position - 1, limit=1)[0])

    def records(self, run: str) -> Iterator[Record]:
        for record in verified(self._look.read, self._tenant, run):
            later = self._until is not None and write_time(record.at) > self._until
            if later or (record.global_position or 0) > self._upto:
                return
            yield record


def _shown(edge: Edge) -> int:
    """Return up to where records are shown, once what is stored now is among them or was waited for.

    Who has just written something expects to be answered with it, and whoever wrote at the same time is done
    in a moment. Where somebody keeps a transaction open for longer, the answer says as of when it is.
    """
    stored = edge.store.end(newest=True)
    Wakeup(_POLL_SECONDS).wait(lambda: edge.store.end() >= stored, _SHOWN_SECONDS)
    return edge.store.end()


def _moment(edge: Edge, target: int, as_of: int | datetime | None, now: datetime | None) -> _Moment:
    """Check which moment is asked about: it must have come. `target` is where the ledger ends."""
    clock, until = edge.now(), None
    wrong = None
    if isinstance(as_of, datetime):
        until = utc(as_of)
        if until > clock:
            wrong = f"{write_time(until)} has not come, by the clock of the ledger it is {write_time(clock)}"
    elif as_of is not None:
        if as_of > target:
            wrong = f"global position {as_of} is not reached, the ledger ends at the global position {target}"
        target = as_of
    if wrong is not None:
        raise InvalidInput(f"what is asked about has to be there: {wrong}", path="as_of", reason=wrong)
    return _Moment(target, until, utc(now) if now is not None else until or clock, clock)


def _tell_of_beginning(look: Look, one: Asked, place: int, moment: _Moment) -> None:
    """Note that a moment lies before all that the tenant has recorded."""
    first = look.tail(limit=1)
    early = not first or first[0].gid > place
    if early or (moment.until is not None and decoded(first[0]).at > moment.until):
        one.note("nothing had been recorded by then")


def _tell_of_clock(one: Asked, moment: _Moment) -> None:
    if moment.judged > moment.clock:
        clock = write_time(moment.clock)
        one.note(f"judged by a time that has not come: by the clock of the ledger it is {clock}")


def _tell_of_waiting(look: Look, one: Asked, found: list[_Found]) -> None:
    """Note what the answer does not know of yet, and what keeps it from knowing."""
    for build in found:
        cursor = build.cursor
        waiting = look.behind(cursor.reached.gid).events
        stopped = stop_error(cursor)
        if waiting:
            why = "" if stopped is None else f"; {stopped}"
            last = "the last event" if waiting == 1 else f"the last {waiting:,} events"
            one.note(f"the projection {cursor.projection} has not handled {last}{why}")


def _is_enough(look: Look, found: list[_Found], target: int) -> bool:
    """Tell whether nothing is left to be handled up to a place, by any of them."""
    for model, cursor, parked, is_whole in found:
        if any(stream.again for stream in parked) or cursor.reached.stop is not None:
            return False
        if cursor.shape != model.shape or not is_whole:
            return False
    lowest = min((one.cursor.reached.position for one in found), default=target)
    if lowest >= target:
        return True
    # Maybe only other tenants have written since.
    more = look.tail(after=lowest, limit=1)
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
            instead = f"{served.build} is served" if served and other else ""
            raise _behind(build, 0, instead)
        now = counted(look, cursor)
        found.append(_Found(build, now, look.parked(build), is_whole=now is cursor))
    return found


def _checked(look: Look, found: list[_Found], least: int) -> int:
    """Return how far all have come, which has to be up to some place, in this ledger."""
    for model, cursor, _, _ in found:
        if is_lost(look, cursor):
            raise ahead(cursor)
        if cursor.reached.position < least:
            raise stop_error(cursor) or _behind(model, cursor.reached.position)
    return min(one.cursor.reached.position for one in found)


_MOST_NAMED = 5
"""How many streams a note names."""


def _tell_of_parked(one: Asked, build: _Found, run: Cell, place: int) -> list[str]:
    """Note which streams the rows say nothing of, and return them, or refuse to answer about one of them."""
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
    return [stream.run for stream in missing]


def _behind(model: Model, position: int, instead: str = "") -> ProjectionBehind:
    run = f"run it (intent-ledger project run {model.projection} --until-current)"
    far = f"has handled the ledger up to the global position {position} only: {run}"
    return ProjectionBehind(
        f"{named(model)} {f'was not built, {instead}: {run}' if instead else far}",
        projection=model.projection,
        version=model.version,
        gid=position,
    )
