"""Where configuration is read: once, from the environment and the command line, into one frozen value.

INTENT_LEDGER_URL, INTENT_LEDGER_TENANT and INTENT_LEDGER_ACTOR set what `--ledger`, `--tenant` and `--actor`
override. Nothing else in the product reads the environment, but for what a command line names as the place
of a secret, and eventsourcing's factory, whose applications know their ledger by theirs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from ledger.canonical import invalid
from ledger.values import Actor, Id, Principal, explain, no_such

PREFIX = "INTENT_LEDGER_"


class Settings(BaseSettings):
    """How to reach a ledger, and who writes to it."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", validate_default=False, use_attribute_docstrings=True
    )

    actor: Principal | None = None
    """Who writes, as `kind:name`; None: `service:<login>@<host>`."""
    tenant: Id = "default"
    """Whose runs and sources to see."""
    url: str = Field(default="./ledger.db", min_length=1)
    """A file path (SQLite), or `postgresql://…`."""

    @property
    def writer(self) -> Actor | None:
        """The actor to open a ledger with; nothing proves who it is."""
        return None if self.actor is None else Actor(self.actor)


OPTIONS = {"actor": "--actor", "tenant": "--tenant", "url": "--ledger"}
"""The command-line option of each setting."""


def read_settings(**given: Any) -> Settings:
    """Read the settings: what is given (and not None) counts before the environment, that before defaults.

    Raises:
        InvalidInput: a value is malformed, or a variable `INTENT_LEDGER_…` is none of ours, which is most
            likely a misspelt one.
    """
    _refuse_unknown(os.environ)
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        told = explain(error)
        name = told.path.partition(".")[0]
        raise invalid(f"{OPTIONS.get(name, name)} or {PREFIX}{name.upper()}", told.reason) from None


def secret_in(variable: str) -> str | None:
    """Read a secret that somebody keeps in an environment variable that they name; None: it is not set."""
    return os.environ.get(variable)


def _refuse_unknown(environment: Mapping[str, str]) -> None:
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    for variable in environment:
        if variable.upper().startswith(PREFIX) and variable.upper() not in known:
            name = variable.upper().removeprefix(PREFIX)
            told = no_such("setting", name, map(str.upper, Settings.model_fields), prefix=PREFIX)
            raise invalid(variable, told)
