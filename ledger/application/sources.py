"""A handle on a source stream: publish what a source says, withdraw what it no longer says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from ledger import commands as c
from ledger.application.exact_words import in_exact_words, new_secrets
from ledger.application.mending import mended
from ledger.application.published import Constraints, published_of
from ledger.application.redacting import redacted, without_secrets
from ledger.application.sayings import build, several
from ledger.application.statements import Context, Stated
from ledger.application.turns import Turns
from ledger.run.sources import SourceState
from ledger.secrets import Secrets

R = TypeVar("R")


class SourceSayings(ABC, Generic[R]):
    """What can be said to a source. Each method answers `R`: `Stated`, or what `await` turns into it."""

    def __init__(self, source: str, context: Context, secrets: Secrets) -> None:
        self._context = context
        self._secrets = secrets
        self._source = source

    @property
    def id(self) -> str:
        """The id of the source, `kind:name`."""
        return self._source

    @abstractmethod
    def _do(self, command: c.Command) -> R:
        """Decide a command and append what it yields."""

    @abstractmethod
    def _do_known(self, command: c.PublishRevision) -> R:
        """Publish what holds a secret, where the source says it now."""

    def open(self, *, owners: Iterable[str] = ()) -> R:
        """Name who owns the source; from then on only owners publish and withdraw.

        Raises:
            IdInUse: the source was opened with other owners.
        """
        return self._do(build(c.OpenSource, owners=several("owners", owners)))

    def publish(
        self,
        revision: str,
        constraints: Constraints,
        *,
        withdraw: Iterable[str] = (),
        reason: str | None = None,
        by: str | None = None,
    ) -> R:
        """Publish a revision: all that the source says now, as texts by id, or as text and rule by id.

        `{"limit": {"text": "Ask above 100", "rule": {"tools": ["refund"], "needs_approval": True}}}`: a rule
        is as `Run.accept` takes it. A list of `Published`, or of such mappings with an `id`, says the same.

        What it said before and does not say now is withdrawn by that; `withdraw` confirms it by naming it.

        Raises:
            ContractChanged: something is left out that `withdraw` does not name; `evidence` lists it.
            IdInUse: this revision was published with other content.
            InvalidInput: a constraint holds a secret that the source does not say yet; its words count by the
                letter, so none is left out.
            AuthorityExceeded: who publishes is not an owner; for an authenticated actor that is the actor.
        """
        fields = {
            "revision": revision,
            "constraints": published_of(constraints),
            "withdraw": several("withdraw", withdraw),
            "reason": reason,
            "by": by,
        }
        command = build(c.PublishRevision, **redacted(c.PublishRevision, fields, self._without_secrets))
        assert isinstance(command, c.PublishRevision)
        return (
            self._do_known(command) if new_secrets(self._secrets, command.constraints) else self._do(command)
        )

    def withdraw(self, id: str, *, reason: str, by: str) -> R:
        """Withdraw one constraint: one event, which every run that relies on it will meet.

        A reason too long for a record is shortened and named by its digest.

        Raises:
            NotOpen: the source does not publish this id.
            AuthorityExceeded: `by` is not an owner.
        """
        fields = {"id": id, "reason": reason, "by": by}
        fit = mended(c.WithdrawAtSource, redacted(c.WithdrawAtSource, fields, self._without_secrets))
        return self._do(build(c.WithdrawAtSource, **fit.fields))

    def _check_known(self, command: c.PublishRevision, state: SourceState) -> None:
        for found in new_secrets(self._secrets, command.constraints, state).values():
            raise in_exact_words(found)

    def _without_secrets(self, content: Any, what: str) -> Any:
        return without_secrets(self._secrets, content, f"{what} of {self.id!r}")


class SourceHandle(SourceSayings[Stated]):
    """A source of constraints, as one actor writes to it.

    What is published or withdrawn here takes effect for every run at once: from its commit on no acceptance
    that relied on the old state succeeds.
    """

    def __init__(self, turns: Turns[SourceState], source: str, context: Context, secrets: Secrets) -> None:
        super().__init__(source, context, secrets)
        self._turns = turns

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._turns.stream!r}>"

    @property
    def state(self) -> SourceState:
        """What the source says now, read from the store: `.items .revision .withdrawn .owners .position`."""
        return self._turns.look()

    def _do(self, command: c.Command) -> Stated:
        return self._turns.do(command, self._context)

    def _do_known(self, command: c.PublishRevision) -> Stated:
        self._check_known(command, self.state)
        return self._do(command)
