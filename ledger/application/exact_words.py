"""Secrets in words that count by the letter: none of them can be left out, so what holds one is refused.

What stands in records already may be said again: it tells them nothing new, and a program that was started
again says what it said before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ledger import commands as c
from ledger.application.redacting import EXACT
from ledger.application.statements import Context
from ledger.canonical import invalid, load_text
from ledger.errors import InvalidInput
from ledger.run.contract import Contract, by_id
from ledger.run.sources import SourceState
from ledger.secrets import Found, Secrets
from ledger.values import Published, Value, untag_secrets


def no_secret_in_exact_words(secrets: Secrets, command: c.Command) -> None:
    """Make sure that a command has no secret where its exact words count, and none of them can be left out.

    Raises:
        InvalidInput: it has; `path` names the field, and nothing shows any of the secret.
    """
    for name in EXACT.get(type(command), ()):
        given = getattr(command, name)
        found = None if given is None else next(_found(secrets, name, given), None)
        if found is not None:
            raise in_exact_words(found)


def in_exact_words(found: Found) -> InvalidInput:
    """Build what is raised for a secret in words of which none can be left out."""
    reason = (
        f"it holds a secret ({found.rule}), stands in records for ever, and counts by its exact "
        "words, so that none can be left out: say it by a name, as of the variable or vault that has it"
        + (", or give SecretRef('NAME') in its place" if found.path.startswith("args") else "")
    )
    return invalid(found.path, reason)


def new_secrets(
    secrets: Secrets, constraints: Iterable[Published], said: SourceState | None = None
) -> Mapping[str, Found]:
    """Find the constraints that hold a secret and are not what their source said before, by id."""
    found = {}
    for one in constraints:
        secret = _in_words(secrets, one, f"constraints.{one.id}.")
        item = None if said is None or secret is None else said.item(one.id)
        if secret is not None and (item is None or item.published != one):
            found[one.id] = secret
    return found


def accepting(secrets: Secrets, command: c.AcceptConstraint, context: Context, now: Contract) -> Context:
    """Return what surrounds an acceptance: a secret in its words is one that stands in records already.

    That is what is in force under its id, or what its source says, which is asked when it is decided.

    Raises:
        InvalidInput: it holds a secret that is new; the source is asked later, and raises the same.
    """
    found = _in_words(secrets, command, "")
    old = by_id(now.constraints, command.id)
    if found is None or (old is not None and (old.text, old.rule) == (command.text, command.rule)):
        return context
    pointer, read = command.source, context.sources
    if pointer is None or read is None:
        raise in_exact_words(found)

    def read_and_compared(source: str, _fresh: bool) -> Mapping[str, SourceState]:
        state = read(source, True)
        item = state[source].item(pointer.item or command.id)
        if item is None or item.text != command.text or command.rule not in (None, item.rule):
            raise in_exact_words(found)
        return state

    return replace(context, sources=read_and_compared)


def _in_words(secrets: Secrets, said: Published | c.AcceptConstraint, path: str) -> Found | None:
    rule = None if said.rule is None else said.rule.model_dump(mode="json")
    return secrets.find(said.text, f"{path}text") or secrets.find(rule, f"{path}rule")


def _found(secrets: Secrets, name: str, given: Any) -> Iterator[Found]:
    if name == "constraints":
        yield from new_secrets(secrets, given).values()
        return
    places = {name: given}
    if isinstance(given, Mapping):  # labels: what they are called is their name alone
        places = {f"{name}.{label}": said for label, said in given.items()}
    elif name in ("args", "args_in_full"):
        places = {name: untag_secrets(load_text(given))}
    elif isinstance(given, Value):
        places = {name: given.model_dump(mode="json")}
    for path, said in places.items():
        found = secrets.find(said, path)
        if found is not None:
            yield found
