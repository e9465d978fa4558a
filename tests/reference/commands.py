"""The page of commands: what each comes to, what refuses it, and what it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ledger import commands as c
from ledger import errors
from ledger.application.runs import Run
from ledger.application.sources import SourceHandle
from ledger.run.decide import RULES, may_refuse, may_yield
from ledger.run.sources import SOURCE_RULES
from tests.reference.fields import Field, fields, inputs
from tests.reference.signatures import methods_of
from tests.reference.words import first, page, table

# What bars a command by its kind alone stands once, above the table.
BARS = ("not_for_agents", "run_not_found", "superseded", "run_is_closed", "run_is_held", "not_supported")
ERRORS = {
    **errors.RULES,
    **errors.EFFECT_ERRORS,
    errors.RunNotFound.code: errors.RunNotFound,
    errors.StateMoved.code: errors.StateMoved,
    errors.Superseded.code: errors.Superseded,
}


def commands_page() -> str:
    """Write the table of commands, the events they come to and what refuses them."""
    return page(
        "Commands",
        """\
A command is a request or a report. A *request* is decided and may be refused. A *remedy* is a request that is
admitted on a suspended or held run too, since it may lead out. A *report* says what already happened; it is
admitted on suspended, held and closed runs and from handles of an older incarnation. The rules stand in
`ledger/run/decide.py`; whatever way in is used, they are the same.

A repeat yields no event: whoever says the same again about what is open is told where it stands. Every
command also takes `about`, opaque references to the subjects it speaks of.

Most have a method of their own on the handle of a [run or source](library.md); `run.do` takes any of a run:

    from ledger.commands import CommitPlan

    run.do(CommitPlan(steps=[{"name": "refund", "tool": "payments.refund"}], about=["customer:17"]))""",
        "## What bars a command before its own rule",
        table(("Command", "is refused as"), map(_bars, _kinds())),
        "Requests that are not remedies may also reach a limit of the run; then the run is suspended and the "
        "request refused as `RunIsHeld`. In the table that is the event `run.suspended`.",
        "## Every command",
        table(
            ("Command", "Says", "Kind", "Agents", "Events", "Its own refusals"),
            map(_command, c.COMMAND_CLASSES),
        ),
        "*Agents*: whether an agent may use it, itself or through a service that acts for it. *Later*: this "
        "release knows the command and its record and refuses to perform it, as `NotSupported`.",
        "## The refusals",
        table(
            ("Error", "Code", "Meaning"), ((f"`{k.__name__}`", f"`{k.code}`", first(k)) for k in _refusals())
        ),
        "Each carries `rule` (the code), `position` of the event it rests on, and `evidence`. `RunNotFound` "
        "and `Superseded` are not `Refused`: the one is a `NotFound`, the other is `Fenced`.",
        "## What each takes",
        """\
All fields are given by name. The kinds stand under [Types](events.md#types). What has no words of its own
means the same everywhere: `id` is the name by which others speak of it, `by` who somebody says it was (beside
the actor, who writes), `reason` why, `rests_on` what it would not hold without, and `occurred_at` when it
happened outside.""",
        *(_taken(kind) for kind in c.COMMAND_CLASSES),
    )


def _taken(kind: type[c.Command]) -> str:
    methods = ", ".join(f"`{method}`" for method in _methods(kind))
    ways = f"Said with {methods}." if methods else _without_method(kind)
    parts = (f"### `{kind.__name__}`", f"{first(kind)} {ways}", *inputs(_own_fields(kind)))
    return "\n\n".join(parts)


def _methods(kind: type[c.Command]) -> list[str]:
    # Both faces of the ledger open a run through one function, which builds the command for them.
    return ["Ledger.open_run"] if kind is c.OpenRun else methods_of(kind, (Run, SourceHandle))


def _without_method(kind: type[c.Command]) -> str:
    return "Said with `Run.do`." if kind in RULES else "*This release refuses to perform it.*"


def _own_fields(kind: type[c.Command]) -> Iterator[Field]:
    """List the fields of a command; one without words means what it means in the event it comes to."""
    events = may_yield(kind) if kind in RULES or kind in SOURCE_RULES else ()
    stored = {(field.name, field.said): field.words for event in events for field in fields(event)}
    for field in fields(kind):
        if field.name not in c.Command.model_fields:
            yield field._replace(words=field.words or stored.get((field.name, field.said), ""))


def _kinds() -> list[tuple[str, type[c.Command]]]:
    return [
        ("a request", c.MoveCursor),
        ("a remedy", c.CommitPlan),
        ("a report", c.RecordObservation),
        ("opening a run", c.OpenRun),
        ("one that speaks to a source", c.OpenSource),
    ]


def _bars(kind: tuple[str, type[c.Command]]) -> tuple[str, ...]:
    codes = [code for code in may_refuse(kind[1]) if code in BARS and code != "not_for_agents"]
    return kind[0], _codes(codes) or "–"


def _command(kind: type[c.Command]) -> tuple[str, ...]:
    known = kind in RULES or kind in SOURCE_RULES
    own = (RULES.get(kind) or SOURCE_RULES[kind]).refusals if known else ()
    return (
        f"`{kind.name}` `{kind.__name__}`",
        first(kind),
        "report" if kind.report else "remedy" if kind.remedy else "request",
        _agents(kind),
        ", ".join(f"`{event.name}`" for event in may_yield(kind)) if known else "*later*",
        _codes(own) or "–",
    )


def _agents(kind: type[c.Command]) -> str:
    when = kind.not_for_agents
    if when is None:
        return "yes"
    return (
        "no" if not when else "not with " + ", ".join(f"`{name}={value!s}`" for name, value in when.items())
    )


def _codes(codes: Iterable[str]) -> str:
    return ", ".join(f"`{ERRORS[code].__name__}`" for code in codes)


def _refusals() -> list[type[errors.LedgerError]]:
    met = {code for kind in c.COMMAND_CLASSES for code in may_refuse(kind)}
    return [kind for code, kind in ERRORS.items() if code in met]
