"""A handle on a source stream: publish what a source says, withdraw what it no longer says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ledger import commands as c
from ledger.application.runs import build, several
from ledger.application.stream import Context, Stated, Stream
from ledger.run.sources import SourceState
from ledger.values import Published


class SourceHandle:
    """A source of constraints, as one actor writes to it.

    What is published or withdrawn here takes effect for every run at once: from its commit on no acceptance
    that relied on the old state succeeds.
    """

    def __init__(self, stream: Stream[SourceState], source: str, context: Context) -> None:
        self._stream = stream
        self._context = context
        self.id = source

    @property
    def state(self) -> SourceState:
        """What the source says now, read from the store: `.items .revision .withdrawn .owners .position`."""
        self._stream.catch_up()
        return self._stream.state

    def open(self, *, owners: Iterable[str] = ()) -> Stated:
        """Name who owns the source; from then on only owners publish and withdraw.

        Raises:
            IdInUse: the source was opened with other owners.
        """
        return self._stream.do(build(c.OpenSource, owners=several("owners", owners)), self._context)

    def publish(
        self,
        revision: str,
        constraints: Mapping[str, str] | Iterable[Published],
        *,
        withdraw: Iterable[str] = (),
        reason: str | None = None,
        by: str | None = None,
    ) -> Stated:
        """Publish a revision: all that the source says now, as texts by id or as `Published`.

        What it said before and does not say now is withdrawn by that; `withdraw` confirms it by naming it.

        Raises:
            ContractChanged: something is left out that `withdraw` does not name; `evidence` lists it.
            IdInUse: this revision was published with other content.
            AuthorityExceeded: who publishes is not an owner; for an authenticated actor that is the actor.
        """
        if isinstance(constraints, Mapping):
            listed: tuple[object, ...] = tuple({"id": id, "text": text} for id, text in constraints.items())
        else:
            listed = several("constraints", constraints)
        command = build(
            c.PublishRevision,
            revision=revision,
            constraints=listed,
            withdraw=several("withdraw", withdraw),
            reason=reason,
            by=by,
        )
        return self._stream.do(command, self._context)

    def withdraw(self, id: str, *, reason: str, by: str) -> Stated:
        """Withdraw one constraint: one event, which every run that relies on it will meet.

        Raises:
            NotOpen: the source does not publish this id.
            AuthorityExceeded: `by` is not an owner.
        """
        return self._stream.do(build(c.WithdrawAtSource, id=id, reason=reason, by=by), self._context)
