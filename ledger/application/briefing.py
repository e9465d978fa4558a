"""Reading what a takeover brief is built from: the contract, the logs of the lineage, and its effects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from ledger.application.edge import Edge
from ledger.application.looking import all_under_each, renewed_until
from ledger.application.reading import records_of
from ledger.application.rows import decoded
from ledger.application.shared import Shared
from ledger.codec import effect_digest
from ledger.record import Record
from ledger.run.brief import Brief, Told, build
from ledger.run.contract import Contract
from ledger.run.descent import Descent, descent_of, goals_of
from ledger.run.known import EffectHistory
from ledger.run.looking import histories
from ledger.values import utc

_AT_ONCE = 200


class Briefing(ABC):
    """Brief whoever takes a run over."""

    _edge: Edge
    _shared: Shared

    @abstractmethod
    def contract(self, run: str, at: int | datetime | None = None) -> Contract:
        """Return the contract of a run."""

    def brief(self, run: str, at: int | datetime | None = None) -> Brief:
        """Say what somebody must know who takes a run over, complete on its own.

        `.to_markdown()` writes it for people and models, `.model_dump(mode="json")` for programs. The whole
        log of the run is read, and those of all runs of its lineage; nothing is written.

        Args:
            run: id of the run.
            at: as it stood at a position, or at a time: what only time changes is then judged by the time of
                that position, or by that time; else by now.

        Raises:
            RunNotFound: no such run, or it was opened after that time.
            InvalidInput: the run never had that position, or the time has no zone.
            ChainBroken: a record of the run or of its lineage is not what was written.
        """
        contract = self.contract(run, at)
        tools = self._shared.workshop.known.values()
        probes = frozenset(tool.name for tool in tools if tool.probe is not None)
        if at is None:
            now = self._edge.now()
            told = _told(self._edge, contract, None)._replace(lease_now=self._edge.lease_now(now))
            leases = _renewed(self._edge, contract, told)
            return build(contract, told._replace(leases=leases, probes=probes), now)
        now = utc(at) if isinstance(at, datetime) else contract.at
        (last,) = self._edge.store.read(self._edge.tenant, run, after=contract.position - 1, limit=1)
        return build(contract, _told(self._edge, contract, last.gid)._replace(probes=probes), now)


def _told(edge: Edge, contract: Contract, end: int | None) -> Told:
    """Read what a brief holds beside the contract, up to a place in the global order."""
    descents = dict(_lineage(edge, contract, end))
    keys = dict.fromkeys(effect.key for effect in contract.effects)
    for descent in descents.values():
        keys.update(dict.fromkeys(descent.keys))
    own = descents.get(contract.run)
    return Told(
        goals=goals_of(descents, contract.run),
        lineage=tuple(
            sorted((one.kin for one in descents.values()), key=lambda kin: (kin.opened_at, kin.run))
        ),
        dropped=() if own is None else own.dropped,
        effects={known.key: known for known in sorted(_effects(edge, contract, keys, end), key=_place)},
    )


def _place(known: EffectHistory) -> tuple[datetime, str, int]:
    return known.intended_at, known.intended_in, known.intended_position


def _lineage(edge: Edge, contract: Contract, end: int | None) -> Iterator[tuple[str, Descent]]:
    """Read the logs of all runs of a lineage that lead to one another, each once."""
    ahead, seen = [contract.run], {contract.run}
    while ahead:
        run = ahead.pop(0)
        upto = contract.position if run == contract.run else None
        descent = descent_of(_until(records_of(edge, run, upto=upto), end))
        # What was imported may name runs that are not here, or are of other lineages.
        if descent is None or descent.root != contract.root:
            continue
        yield run, descent
        ahead += [one for one in descent.beside if one not in seen]
        seen.update(descent.beside)


def _until(records: Iterable[Record], end: int | None) -> Iterator[Record]:
    for record in records:
        if end is not None and (record.global_position or 0) > end:
            return
        yield record


def _effects(edge: Edge, contract: Contract, keys: Iterable[str], end: int | None) -> Iterator[EffectHistory]:
    """Fold what is recorded under some keys, as of the position of the contract."""
    left = iter(keys)
    while some := list(islice(left, _AT_ONCE)):
        digests = [effect_digest(key) for key in some]
        rows = all_under_each(edge, digests)
        records = [
            decoded(row)
            for row in rows
            if (end is None or row.gid <= end)
            and not (row.stream == contract.run and row.position > contract.position)
        ]
        yield from histories(some, records).values()


def _renewed(edge: Edge, contract: Contract, told: Told) -> dict[str, datetime]:
    """Read until when the leases of what is executing were renewed."""
    assert told.lease_now is not None
    found: dict[str, datetime] = {}
    for effect in contract.effects:
        until = renewed_until(edge, told.effects.get(effect.key), told.lease_now)
        if until is not None:
            found[effect.key] = until
    return found
