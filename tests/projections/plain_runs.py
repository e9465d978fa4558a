"""What the read model of runs has to hold: each run's contract, and its members one by one.

Contracts are those that `Ledger.contract` returns, position by position; how they are folded is tested
elsewhere. Members are told apart and compared as the JSON that they are written as.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from ledger import Ledger
from ledger.run.saving import save
from tests.projections.plain_facts import Cells, Told, as_amounts, as_json, present

OPEN = {
    "obligations": "obligations",
    "unsettled": "effects",
    "grants": "grants",
    "approvals": "approvals",
    "constraints": "constraints",
    "assumptions": "assumptions",
}
"""By table, the list of the contract whose members are its rows."""


class PlainRuns:
    """Contracts of a tenant; what was read once of a position is never anything else."""

    def __init__(self) -> None:
        self._contracts: dict[tuple[str, int], Cells] = {}

    def rows(self, ledger: Ledger, records: Iterable[Told]) -> list[tuple[str, Cells]]:
        """Return every row, by table, after some records."""
        runs: dict[str, list[Told]] = {}
        for one in records:
            if not one.run.startswith("$"):
                runs.setdefault(one.run, []).append(one)
        return [row for run, told in runs.items() for row in self._of_run(ledger, run, told)]

    def _of_run(self, ledger: Ledger, run: str, told: list[Told]) -> list[tuple[str, Cells]]:
        dumps = [self._contract(ledger, run, one.position) for one in told]
        rows = [("runs", {**_summary(dumps[-1]), "gid": told[-1].gid})]
        for table, field in OPEN.items():
            for member in dumps[-1][field]:
                id = "key" if table == "unsettled" else "id"
                # It is as it is since the first record after which it was never anything else.
                since = len(dumps) - 1
                while since and member in dumps[since - 1][field]:
                    since -= 1
                cells = {**_MEMBERS[table](member), "run": run, id: member[id], "gid": told[since].gid}
                rows.append((table, present(cells)))
        return rows

    def _contract(self, ledger: Ledger, run: str, position: int) -> Cells:
        found = self._contracts.get((run, position))
        if found is None:
            contract = ledger.contract(run, at=position)
            found = json.loads(contract.model_dump_json())
            # What the model calls by a property, and the bytes of a snapshot.
            found |= {"status": contract.status, "saved": save(contract)}
            self._contracts[run, position] = found
        return found


def _summary(contract: Cells) -> Cells:
    held = contract["held"] if contract["status"] == "held" else None
    suspended = contract["suspended"] if contract["closed"] is None else None
    fields = ("run", "position", "at", "opened_at", "status", "owner", "thread", "incarnation")
    return present(
        {
            **{field: contract[field] for field in fields},
            "alive_at": contract["alive"]["at"],
            "suspended_cause": suspended and suspended["cause"],
            "verdict": held and held["verdict"],
            "held_at": held and held["at"],
            "reasons": len(held["reasons"]) if held else 0,
            "labels": as_json(contract["labels"]),
            "goal": contract["goal"]["text"],
            "constraints": len(contract["constraints"]),
            "obligations": len(contract["obligations"]),
            "unsettled": len(contract["effects"]),
            "successor": contract["closed"] and contract["closed"]["successor"],
            "contract": contract["saved"],
        }
    )


def _pick(member: Cells, *names: str) -> Cells:
    return {name: member.get(name) for name in ("position", "at", *names)}


def _obligation(member: Cells) -> Cells:
    return _pick(member, "text", "owed_to", "due", "because", "by")


def _effect(member: Cells) -> Cells:
    fields = (
        "tool", "act", "step", "occurrence", "status", "attempt", "max_attempts", "recovery", "resource",
        "worker", "lease_until", "inherited_from", "witnessed",
    )  # fmt: skip
    lists = {"grants": as_json(member["authority"]), "reserved": as_amounts(member["reserved"])}
    return {**_pick(member, *fields), **lists}


def _grant(member: Cells) -> Cells:
    budget = member["budget"] or {}
    gone = [
        sum(Decimal((member[part] or {}).get(unit, 0)) for part in ("spent", "reserved")) >= Decimal(amount)
        for unit, amount in budget.items()
    ]
    return {
        **_pick(member, "principal", "session", "expires_at", "granted_by", "on_resume"),
        "scopes": as_json(member["scopes"]),
        **{part: as_amounts(member[part]) for part in ("budget", "spent", "reserved")},
        "used_up": int(bool(budget) and all(gone)),
        "renewed_position": member["renewed_at"],
    }


def _approval(member: Cells) -> Cells:
    answer: Cells = member["answered"] or {}
    terms: Cells = member["terms"] or {}
    return {
        **_pick(member, "key", "question", "requested_by", "expires_at", "tool_schema", "runtime_digest"),
        "terms_position": terms.get("position"),
        "terms_digest": terms.get("digest"),
        "answer": answer.get("answer"),
        "answered_by": answer.get("by"),
        "answered_at": answer.get("at"),
        "answered_position": answer.get("position"),
        "reason": answer.get("reason"),
    }


def _constraint(member: Cells) -> Cells:
    source: Cells = member["source"] or {}
    fields = (
        "text",
        "source_position",
        "published",
        "asserted_by",
        "accepted_by",
        "valid_from",
        "valid_until",
    )
    rule: Any = {field: said for field, said in (member["rule"] or {}).items() if said is not None}
    for part in {"require", "when"} & rule.keys():
        # A condition that needs no value has none.
        rule[part] = [
            {field: said for field, said in each.items() if said is not None} for each in rule[part]
        ]
    return {
        **_pick(member, *fields),
        "at": member["accepted_at"],
        "rule": as_json(rule),
        "source": f"{source['kind']}:{source['name']}" if source else None,
        "item": (source["item"] or member["id"]) if source else None,
        "revision": source.get("revision"),
    }


def _assumption(member: Cells) -> Cells:
    refuted: Cells = member["refuted"] or {}
    names = {"at": "refuted_at", "by": "refuted_by", "position": "refuted_position", "evidence": "evidence"}
    return {
        **_pick(member, "text", "by"),
        "rests_on": as_json(member["rests_on"]),
        **{column: refuted.get(field) for field, column in names.items()},
    }


_MEMBERS = {
    "obligations": _obligation,
    "unsettled": _effect,
    "grants": _grant,
    "approvals": _approval,
    "constraints": _constraint,
    "assumptions": _assumption,
}
