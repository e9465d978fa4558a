"""Rules tried on recorded calls: what would have been refused, or would have waited for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Literal, NamedTuple

from ledger.run.rule_faults import Fault
from ledger.run.rule_words import condition_words, is_enforced
from ledger.run.rules import applies, asks_approval, breaches, is_pointer, names_tool
from ledger.values import Operator, Predicate, Rule

Came = Literal["asked", "refused"]


NO_WAITING = "a person approves it, which nothing that only reads waits for"


class Call(NamedTuple):
    """A call as it was recorded."""

    run: str
    position: int
    tool: str
    args: str
    """Canonical JSON, with the defaults of the tool where they are known."""
    resource: str | None = None
    tenant: str | None = None
    only_reads: bool = False
    """It changed nothing: only rules that name the tool bind it, and it waits for nobody."""


class Hit(NamedTuple):
    """A call that would not have gone through."""

    rule: str
    """Id of the constraint."""
    call: Call
    came: Came
    """`refused`, or `asked`: a person would have been asked first."""
    conditions: tuple[str, ...]
    """What would have had to be so; of what is asked: that a person approves it."""


class Counts(NamedTuple):
    """What became of all calls under one rule."""

    spoken_of: int
    """Calls that it speaks of."""
    refused: int
    asked: int
    """Calls that a person would have had to approve, and that it does not refuse."""
    untold: int
    """Calls of which `when` cannot be told, and which it speaks of for that."""


class Trial:
    """Rules by the ids of their constraints, and what they would have done to calls."""

    def __init__(self, rules: Sequence[tuple[str, Rule]]) -> None:
        self._rules = tuple(rules)
        self._tools: Counter[str] = Counter()
        self._spoken: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._asked: Counter[str] = Counter()
        self._untold: Counter[str] = Counter()
        self._there: Counter[tuple[str, str]] = Counter()
        self.came: Counter[Came] = Counter()
        """How many calls some rule would have refused; or, refused by none, would have had approved."""

    @property
    def calls(self) -> int:
        """How many calls were tried."""
        return self._tools.total()

    def counts(self, id: str) -> Counts:
        """Say what became of the calls under one rule."""
        return Counts(self._spoken[id], self._refused[id], self._asked[id], self._untold[id])

    def hear(self, call: Call) -> tuple[Hit, ...]:
        """Try a call; return what would have stopped it, in the order of the rules."""
        self._tools[call.tool] += 1
        hits = tuple(hit for id, rule in self._rules if (hit := self._try(id, rule, call)) is not None)
        if hits:
            self.came["refused" if any(hit.came == "refused" for hit in hits) else "asked"] += 1
        return hits

    def _try(self, id: str, rule: Rule, call: Call) -> Hit | None:
        if not rule.tools or call.tool in rule.tools:
            for path in _paths(rule):
                self._there[id, path] += _is_there(path, call.args)
        if not applies(rule, call.tool, call.args) or (call.only_reads and not names_tool(rule, call.tool)):
            return None
        if call.tool not in rule.deny and not _asks_more(rule):
            return None
        self._spoken[id] += 1
        if call.tool not in rule.deny and rule.when and not _meets(rule.when, call.args):
            self._untold[id] += 1
        broken = breaches(rule, call.tool, call.args, call.resource, call.tenant)
        if broken:
            self._refused[id] += 1
            return Hit(id, call, "refused", tuple(one.condition for one in broken))
        if asks_approval(rule, call.tool, call.args):
            if call.only_reads:
                self._refused[id] += 1
                return Hit(id, call, "refused", (NO_WAITING,))
            self._asked[id] += 1
            return Hit(id, call, "asked", ("a person approves it",))
        return None

    def faults(self, id: str) -> Iterator[Fault]:
        """List what the calls show to be wrong with a rule; nothing where there was no call."""
        rule = dict(self._rules)[id]
        if not self._tools:
            return
        for name in dict.fromkeys((*rule.tools, *rule.deny, *(rule.allow or ()))):
            if name not in self._tools:
                yield self._unknown_tool(name)
        of = sum(self._tools[name] for name in rule.tools) if rule.tools else self.calls
        for path in _paths(rule):
            if of and is_pointer(path) and not self._there[id, path]:
                yield Fault(
                    "warning",
                    "unknown_path",
                    f"none of {of:,} recorded calls that it is for has an argument {path}",
                    "compare it with the log of a run; what lies deeper begins at the top: /order/amount",
                )
        if self._untold[id]:
            yield Fault(
                "warning",
                "cannot_be_told",
                f"of {self._untold[id]:,} recorded calls it cannot be told whether they meet `when`, "
                "so it binds them",
                f"look at {' and '.join(map(condition_words, rule.when))}: an argument is missing, or is of "
                "another kind than the value",
            )

    def _unknown_tool(self, name: str) -> Fault:
        near = get_close_matches(name, sorted(self._tools), 1)
        seen = ", ".join(sorted(self._tools)[:20])
        hint = f"did you mean {near[0]}?" if near else f"tools that were: {seen}"
        return Fault("warning", "unknown_tool", f"no recorded call is of a tool {name!r}", hint)


@lru_cache
def _asks_more(rule: Rule) -> bool:
    """Tell whether a rule asks anything of the tools that it does not deny."""
    return is_enforced(rule.with_fields({"deny": ()}))


@lru_cache
def _paths(rule: Rule) -> tuple[str, ...]:
    """List the places that a rule expects something at."""
    some = (*rule.require, *rule.when)
    return tuple(dict.fromkeys(one.path for one in some if one.path and one.operator is not Operator.ABSENT))


def _is_there(path: str, args: str) -> bool:
    return _meets((Predicate(operator=Operator.PRESENT, path=path),), args)


def _meets(conditions: tuple[Predicate, ...], args: str) -> bool:
    return not breaches(Rule(require=conditions), "any", args)
