"""What the read models of facts have to hold, worked out anew from the bytes of the records.

It is written to be plain and not quick, and shares nothing with the projections: no event is decoded, and
every row is spelled out from the fields that the record has. Cells that are empty are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ledger.stores.base import StoredRow

Cells = dict[str, Any]
Said = Iterator[tuple[str, Cells]]
"""Rows, each with the name of its table, without the columns that every row has."""


class Told(NamedTuple):
    """A record, as its bytes tell it."""

    gid: int
    hash: bytes
    run: str
    position: int
    at: str
    name: str
    actor: Cells
    data: Cells
    whole: Cells


def told(row: StoredRow) -> Told:
    """Read the bytes of a record."""
    whole = json.loads(row.record)
    return Told(
        row.gid, row.hash, row.stream, row.position, whole["at"], whole["name"], whole["actor"],
        whole["data"], whole,
    )  # fmt: skip


def plain_rows(projection: str, one: Told) -> Iterator[tuple[str, Cells]]:
    """Yield the rows of a projection that come from a record, by table."""
    for table, cells in MODELS[projection](one):
        place = {"run": one.run, "position": one.position, "at": one.at, "gid": one.gid}
        yield table, present({**place, **cells})


def present(cells: Cells) -> Cells:
    """Leave out what is empty, and write the rest as every database keeps it."""
    return {name: _cell(cell) for name, cell in cells.items() if cell is not None}


def _cell(cell: Any) -> Any:
    if isinstance(cell, bool):
        return int(cell)
    return cell.replace("\0", "\u2400") if isinstance(cell, str) else cell


def as_json(value: Any) -> str | None:
    """Write what is not empty as canonical JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False) if value else None


def as_amounts(amounts: Cells | None) -> str | None:
    """Write amounts as canonical JSON, also those of nothing."""
    return "{}" if amounts == {} else as_json(amounts)


def _pick(data: Cells, *names: str) -> Cells:
    return {name: data.get(name) for name in names}


def _terms(one: Told) -> Cells:
    terms = one.whole.get("terms", {})
    return {"terms_position": terms.get("position"), "terms_digest": terms.get("digest")}


# --- what happened -----------------------------------------------------------------------------------


def _timeline(one: Told) -> Said:
    actor, data = one.actor, one.data
    named = "id" if "id" in data else "key"
    yield (
        "events",
        {
            "name": one.name,
            "id": one.whole["id"],
            "thing": f"{one.name.split('.')[0]}:{data[named]}" if named in data else None,
            "by": next(
                (data[by] for by in ("by", "accepted_by", "granted_by", "reported_by") if by in data), None
            ),
            "actor": actor["id"],
            **_pick(actor, "session", "authenticated_by", "role"),
            "on_behalf_of": as_json(actor["on_behalf_of"]),
            **_pick(one.whole, "causation", "correlation"),
            **_terms(one),
            "hash": one.hash,
        },
    )
    for subject in sorted(set(one.whole.get("about", ()))):
        yield "subjects", {"subject": subject, "how": "about"}
    for how in ("owed_to", "to", "owner", "principal"):
        if how in data:
            yield "subjects", {"subject": data[how], "how": how}


def _lives(one: Told) -> Said:
    data = one.data
    match one.name:
        case "run.opened":
            parent = data.get("parent", {})
            kin = {"other_run": parent.get("run"), "other_position": parent.get("position")}
            yield "steps", {"what": "opened", "by": data.get("owner"), "cause": parent.get("relation"), **kin}
        case "run.suspended":
            yield "steps", {"what": "suspended", **_pick(data, "by", "cause", "reason")}
        case "run.resumed":
            fields = ("gap_seconds", "incarnation", "take_over", "prompt_digest")
            yield "steps", {"what": "resumed", "verdict": "continue", **_pick(data, *fields)}
        case "run.resume_refused":
            yield "steps", {"what": "resume_refused", "verdict": data["verdict"]}
            for number, reason in enumerate(data["reasons"], 1):
                words = _pick(reason, "kind", "what", "since", "who", "cleared_by")
                yield "reasons", {"n": number, "ref_position": reason.get("position"), **words}
        case "run.forked":
            kin = {
                "other_run": data["origin"], "other_position": data["at"], "other_hash": data["hash"]
            }  # fmt: skip
            yield "steps", {"what": "forked", **_pick(data, "by", "reason"), **kin}
        case "run.restarted":
            names = {"other_run": "", "other_position": "_position", "other_hash": "_hash"}
            kin = {column: data[f"predecessor{field}"] for column, field in names.items()}
            yield "steps", {"what": "restarted", **_pick(data, "by", "reason"), **kin}
        case "run.closed":
            said = {**_pick(data, "by", "reason", "outcome"), "other_run": data.get("successor")}
            yield "steps", {"what": "closed", **said}


def _reviews(one: Told) -> Said:
    if one.name == "review.signed":
        said = _pick(one.data, "head", "meaning", "by", "note")
        yield "reviews", {**said, "head_hash": one.data["hash"]}


# --- what was meant ----------------------------------------------------------------------------------


def _goals(one: Told) -> Said:
    data, what = one.data, one.name.split(".")[1]
    by = {**_pick(data, "by", "reason"), "actor": one.actor["id"]}
    if one.name in ("run.opened", "goal.revised"):
        text = data["goal"] if what == "opened" else data["text"]
        yield "goals", {**by, "what": what, "text": text, "rests_on": as_json(data["rests_on"])}
    elif one.name.startswith("plan."):
        steps = [
            {field: said for field, said in step.items() if said != []} for step in data["steps"]
        ]  # fmt: skip
        yield "plans", {**by, "what": what, "steps": as_json(steps)}


def _constraints(one: Told) -> Said:
    if not one.name.startswith("constraint."):
        return
    data, actor = one.data, {"actor": one.actor["id"]}
    source = data.get("source", {})
    named = f"{source['kind']}:{source['name']}" if source else None
    match one.name:
        case "constraint.accepted":
            own = _pick(data, "id", "text", "asserted_by", "asserted_at", "accepted_by", "change")
            times = _pick(data, "supersedes", "valid_from", "valid_until")
            origin: Cells = {"relied": 0}
            if source:
                relied = {
                    **_pick(data, "source_position", "published"),
                    "relied": data.get("source_position", 0),
                }
                item = source.get("item", data["id"])
                origin = {"source": named, "item": item, "revision": source.get("revision"), **relied}
            rule = {"rule": as_json(data.get("rule")), "hash": one.hash}
            yield "acceptances", {**own, **times, **origin, **rule, **actor}
        case "constraint.withdrawn":
            yield "withdrawals", {**_pick(data, "id", "by", "reason"), **actor}
        case "constraint.revision_acknowledged":
            read = {"source": named, "revision": source.get("revision")}
            yield "acknowledgements", {**_pick(data, "source_position", "by", "reason"), **read, **actor}


def _sources(one: Told) -> Said:
    data = one.data
    own = {"source": one.run.removeprefix("$source:"), "actor": one.actor["id"]}
    match one.name:
        case "source.opened":
            yield "opened", {**own, "owners": as_json(data["owners"])}
        case "source.revised":
            own |= _pick(data, "revision", "by", "reason")
            yield "revisions", own
            for what in ("added", "reworded"):
                for item in data[what]:
                    words = {"item": item["id"], "text": item["text"], "rule": as_json(item.get("rule"))}
                    yield "items", {**own, "what": what, **words}
            for item in data["withdrawn"]:
                yield "items", {**own, "what": "withdrawn", "item": item}
        case "source.constraint_withdrawn":
            said = {**_pick(data, "by", "reason"), "item": data["id"]}
            yield "items", {**own, "what": "withdrawn_here", **said}


def _assumptions(one: Told) -> Said:
    data = one.data
    if one.name == "assumption.made":
        yield "assumptions", _pick(data, "id", "text", "by")
    elif one.name == "assumption.refuted":
        yield "refutations", _pick(data, "id", "evidence", "by", "occurred_at")
    rests: list[tuple[str, list[str]]] = []
    match one.name:
        case "run.opened" | "goal.revised":
            rests = [("goal", data["rests_on"])]
        case "plan.committed" | "plan.revised":
            rests = [(f"plan:{step['name']}", step["rests_on"]) for step in data["steps"]]
        case "assumption.made":
            rests = [(f"assumption:{data['id']}", data["rests_on"])]
        case "observation.recorded" | "effect.intended":
            rests = [(f"{one.name.split('.')[0]}:{data['key']}", data["rests_on"])]
        case "cursor.moved":
            rests = [("cursor", data["needs"])]
    number = 0
    for what, refs in rests:
        for place, ref in enumerate(refs):
            if ref not in refs[:place]:
                number += 1
                yield "rests", {"n": number, "what": what, "on_ref": ref}


# --- what is owed and allowed ------------------------------------------------------------------------


def _obligations(one: Told) -> Said:
    data, what = one.data, one.name.split(".")[1]
    match one.name:
        case "obligation.opened":
            yield "obligations", _pick(data, "id", "text", "owed_to", "due", "because", "by")
        case "obligation.discharged":
            ended = {**_pick(data, "id", "by", "evidence"), "refs": as_json(data["refs"])}
            yield "ends", {"what": what, **ended}
        case "obligation.waived":
            yield "ends", {"what": what, **_pick(data, "id", "by", "reason")}
        case "obligation.transferred":
            yield "transfers", {**_pick(data, "id", "by", "reason"), "to_party": data["to"]}
        case "run.closed":
            for id in sorted(set(data["obligations"])):
                yield "left_open", {"id": id, **_pick(data, "outcome", "successor")}


def _authority(one: Told) -> Said:
    data, what = one.data, one.name.split(".")[1]
    match one.name:
        case "authority.granted":
            origin = data.get("carved_from", {})
            carved = {f"carved_{field}": said for field, said in origin.items()}
            said = _pick(data, "id", "principal", "session", "expires_at", "granted_by", "on_resume")
            lists = {"scopes": as_json(data["scopes"]), "budget": as_amounts(data.get("budget"))}
            yield "grants", {**said, **lists, **carved}
        case "authority.renewed":
            fields = ("id", "by", "reason", "expires_at", "session")
            yield (
                "changes",
                {"what": what, **_pick(data, *fields), "budget": as_amounts(data.get("add_budget"))},
            )
        case "authority.revoked":
            yield "changes", {"what": what, **_pick(data, "id", "by", "reason")}
        case "authority.carved" | "authority.returned":
            moved = {"budget": as_amounts(data.get("budget")), "other_run": data["run"]}
            yield "changes", {"what": what, **_pick(data, "id", "by"), **moved}


def _approvals(one: Told) -> Said:
    if one.name == "approval.requested":
        fields = ("id", "key", "question", "expires_at", "tool_schema", "runtime_digest")
        yield "requests", {**_pick(one.data, *fields), "requested_by": _decides(one), **_terms(one)}
    elif one.name == "approval.answered":
        who, by = _decides(one), one.data["by"]
        person = by.split(":")[0] == "human" and who.split(":")[0] != "agent"
        passed_on = who.split(":")[0] == "service"
        decided = {"is_person": person, "decided_by": None if passed_on else who}
        yield "answers", {**_pick(one.data, "id", "answer", "by", "reason", "occurred_at"), **decided}


def _decides(one: Told) -> str:
    """Name the first that is no service, of who wrote and for whom they did; else who wrote."""
    chain = [one.actor["id"], *one.actor["on_behalf_of"]]
    return str([*(who for who in chain if who.split(":")[0] != "service"), chain[0]][0])


# --- what was done and seen --------------------------------------------------------------------------

_INTENT = (
    "key", "key_scheme", "act", "tool", "step", "args", "args_in_full", "given", "occurrence", "approval",
    "recovery", "resource", "tool_schema", "repeat_reason", "undone_by", "witnessed", "max_attempts",
)  # fmt: skip
_STEP = (
    "key", "attempt", "found", "method", "by", "evidence", "because", "reported", "external_ref", "worker",
    "lease_until", "occurred_at", "undone_by", "reason",
)  # fmt: skip


def _effects(one: Told) -> Said:
    data, (subject, what) = one.data, one.name.split(".", 1)
    if subject != "effect":
        return
    if what == "intended":
        fields = ("authority", "reserved", "source_positions")
        lists = {field: as_json(data.get(field)) for field in fields}
        yield "intents", {**_pick(data, *_INTENT), **lists, **_terms(one)}
    elif what == "refused":
        evidence = data.get("evidence") or {}
        own = {"refused_by": data.get("position"), "evidence": as_json(data.get("evidence"))}
        if data["rule"] == "constraint_violated" or (
            "source" in evidence and data["rule"] == "contract_changed"
        ):
            own["constraint_id"] = evidence.get("id")
            own |= _pick(evidence, "source", "revision", "asserted_by")
        elif data["rule"] == "approval_denied":
            own |= {"approval": evidence.get("approval"), "denied_by": evidence.get("by")}
        yield "refusals", {**_pick(data, "tool", "step", "key", "act", "rule", "args"), **own, **_terms(one)}
    else:
        said = {"what": what, **_pick(data, *_STEP)}
        if "reported_by" in data:
            said["by"] = data["reported_by"]
        result = data.get("result", {})
        said |= {"result": result.get("json_text"), "result_digest": result.get("digest")}
        yield "steps", {**said, "cost": as_json(data.get("cost")), "error": as_json(data.get("error"))}


def _observations(one: Told) -> Said:
    data = one.data
    match one.name:
        case "observation.recorded":
            fields = (
                "key", "tool", "step", "occurrence", "args", "args_digest", "observed_at", "fresh_for",
                "witnessed",
            )  # fmt: skip
            value, cost = data["value"], {"cost": as_json(data.get("cost"))}
            seen = {
                "value": value.get("json_text"),
                "value_digest": value.get("digest"),
                "value_type": value.get("type"),
            }
            yield "observations", {**_pick(data, *fields), **seen, **cost}
        case "observation.invalidated":
            yield "invalidations", _pick(data, "key", "by", "reason")
        case "message.recorded":
            yield "messages", {**_pick(data, "id", "role", "tokens"), **_content(data["content"])}
        case "message.summarised":
            stands = {"id": data["through"], "stands_for": data["count"]}
            yield "messages", {**stands, **_content(data["content"])}
    how = {
        "run.opened": "opened", "run.resumed": "resumed", "runtime.adopted": "adopted",
        "observation.recorded": "observed",
    }.get(one.name)  # fmt: skip
    if how is not None and "runtime" in data:
        yield "runtimes", {"how": how, **data["runtime"]}
        for field, value in data["runtime"].items():
            yield "versions", {"how": how, "field": field, "value": value}


def _content(content: Cells) -> Cells:
    return {"content": content.get("json_text"), **_pick(content, "digest", "size")}


MODELS: dict[str, Callable[[Told], Said]] = {
    "timeline": _timeline,
    "effects": _effects,
    "authority": _authority,
    "approvals": _approvals,
    "obligations": _obligations,
    "lives": _lives,
    "reviews": _reviews,
    "constraints": _constraints,
    "sources": _sources,
    "goals": _goals,
    "assumptions": _assumptions,
    "observations": _observations,
}
