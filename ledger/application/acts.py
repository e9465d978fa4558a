"""What a run can be asked to do to the outside, written once for both faces of the ledger."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, Unpack

from ledger import commands as c
from ledger.application.acting import Doing
from ledger.application.apart import apart
from ledger.application.credentials import no_secret
from ledger.application.exact_words import accepting, no_secret_in_exact_words
from ledger.application.naming import Asked, asking, doing
from ledger.application.payloads import pack_report
from ledger.application.redacting import without_secrets
from ledger.application.sayings import RunSayings, several
from ledger.application.statements import Context
from ledger.application.workshop import Workshop
from ledger.canonical import invalid
from ledger.gateway.tools import Declared, Function, Tool
from ledger.run.contract import Contract
from ledger.run.history import EffectHistory
from ledger.stores.base import Blob
from ledger.values import Recovery, Runtime, no_such

R = TypeVar("R")


class Options(Declared, total=False):
    """How an act is named, and what is declared of its tool where it is no `Tool` yet."""

    step: str | None
    """The step of the plan, or of the program, that it belongs to: the same whenever that step runs again."""
    occurrence: str | None
    """What tells two acts apart that are alike and are meant to be two."""
    key: str | None
    """The caller's own name for the act, in the place of step, tool, occurrence and arguments."""
    repeat: bool
    """Do it although the same act was done under another step; give a `reason`. `undone_by` implies it."""
    reason: str | None
    undone_by: str | None
    """Key of the effect that undid the first act: acts before it count no more."""
    rests_on: Sequence[str]
    about: Sequence[str]
    runtime: Runtime | None
    """The model and its settings, where a model is asked."""
    wait_seconds: float
    """How long to wait for another worker that is executing it; 0: EffectInFlight at once."""


GRANTING = (c.GrantAuthority, c.NarrowAuthority, c.RenewAuthority)
"""Commands that say who may act, and so may be given what that is proven with."""


class RunActs(RunSayings[R]):
    """What can be said to a run and done through it."""

    def __init__(self, context: Context, workshop: Workshop) -> None:
        super().__init__(context)
        self._workshop = workshop

    def _now(self) -> datetime:
        return self._workshop.edge.now()

    def _look_for_secrets(self, command: c.Command) -> None:
        """Refuse a grant that says what proves who somebody is, e.g. a token as its session.

        So is a secret in words of which none can be left out: of labels, and of what names an act. Those of
        constraints are looked at by `_surrounded`, since what stands there already may be said again.

        Raises:
            InvalidInput: a field holds what is taken for a secret; `path` names the field.
        """
        if not isinstance(command, c.AcceptConstraint):
            no_secret_in_exact_words(self._workshop.secrets, command)
        if isinstance(command, GRANTING):
            # A unit of a budget may be called what a secret is called, e.g. token.
            said = command.model_dump(mode="json", exclude={"add_budget", "budget"}, exclude_none=True)
            no_secret(self._workshop.secrets, said)

    def _surrounded(self, command: c.Command, context: Context) -> Context:
        """Return what surrounds a command; of an acceptance it looks for secrets that are new.

        Raises:
            InvalidInput: there is one; `path` names the field.
        """
        if isinstance(command, c.AcceptConstraint):
            return accepting(self._workshop.secrets, command, context, self._seen())
        return context

    def _apart(self, command: c.Command) -> tuple[c.Command, tuple[Blob, ...]]:
        return apart(command, self.id, self._without_secrets)

    @abstractmethod
    def _seen(self) -> Contract:
        """Return the contract as last seen, without reading."""

    @abstractmethod
    def _perform(self, one: Doing) -> Any:
        """Drive an act."""

    @abstractmethod
    def _weigh(self, one: Doing) -> Any:
        """Find out what would be told of an act."""

    def perform(
        self,
        tool: Tool | str | Function,
        args: Mapping[str, Any] | None = None,
        function: Function | None = None,
        **options: Unpack[Options],
    ) -> Any:
        """Act on the outside once, and return what it came to; if it was done before, what was recorded then.

        Intent and start are stored before the call and the outcome after it. Where that is interrupted, the
        act is not begun again by itself unless the outside dedupes on its key or says that it did not happen.
        A read-only tool is recorded once, after the call, and its answer used again while it is fresh.

        Args:
            tool: a `Tool`, the name of one that is registered, or a name for `function`.
            args: its arguments by name. They are checked against its signature, and are part of the key.
            function: what acts, where `tool` is a name: called as `function(**args)`. It may return an
                `Outcome`, and may declare a keyword-only `effect`.
            options: see `Options`.

        Returns:
            What the tool returned, or what was recorded when it did: JSON values, or the type that it says
            it returns.

        Raises:
            EffectFailed: the outside refused, nothing happened; also where the attempts are used up.
            OutcomeUnknown: nobody knows whether it happened; `retry_after` says when asking may tell more.
            EffectInFlight: another worker is executing it.
            PossibleRepeat: the same act was done under another step.
            KeyConflict: `key` was used for other arguments.
            OffPlan, AuthorityExceeded, ConstraintViolated, ContractChanged, SecretFound, EffectsDisabled,
                ApprovalDenied: refused, and recorded.
            ApprovalRequired: a person has to approve it, and is asked by `id`; call again once that is
                answered, from any process.
            RunIsHeld: the run was stopped, or one that it is a part of.
            LeaseLost: the lease ended before the call was made, and nothing was sent; or it ended during the
                call, and what this attempt did contradicts what is recorded since: it has the `result`.
            ResultNotKept: it was done before, and what it returned was no JSON.
            InvalidInput: arguments do not fit, or options contradict each other; `path` names them.
        """
        return self._perform(self._doing(tool, args, function, options, once=False))

    def may(
        self,
        tool: Tool | str | Function,
        args: Mapping[str, Any] | None = None,
        function: Function | None = None,
        **options: Unpack[Options],
    ) -> Any:
        """Say what `perform` would be told now, and why, without doing or recording anything.

        It takes what `perform` takes. The name of a tool is enough where no tool is registered at all; what
        the tool would declare is then not looked at, and `declared` is false.

        Returns:
            A `Permission`: true where the call would begin the act, or return what was recorded of it; all
            objections otherwise, the one that would be raised first.

        Raises:
            InvalidInput: arguments do not fit, options contradict each other, or other tools are registered
                and this name is none of them; `path` names them.
        """
        return self._weigh(self._doing(tool, args, function, options, once=False, keeps=False))

    def record_message(self, id: str, role: str, content: Any, *, tokens: int | None = None) -> R:
        """Add a message to the history. `content` is any JSON value; it is kept as a blob.

        Secrets that are found in it are replaced before it is kept, which the log `ledger` warns of.
        """
        return super().record_message(id, role, self._without_secrets(content, "a message"), tokens=tokens)

    def summarise(self, content: Any, *, through: str) -> R:
        """Put a summary in the place of all messages up to the one with this id; as `record_message`."""
        return super().summarise(self._without_secrets(content, "a summary"), through=through)

    def _without_secrets(self, content: Any, what: str) -> Any:
        return without_secrets(self._workshop.secrets, content, f"{what} of {self.id!r}")

    def settle(
        self,
        key: str,
        *,
        happened: bool,
        evidence: str,
        by: str,
        result: Any = None,
        external_ref: str | None = None,
    ) -> R:
        """Report what a person found out about an effect of this lineage; not for agents.

        That it did not happen counts once its lease has ended; before, it is kept as evidence only.

        Raises:
            NotOpen: nothing was intended under this key.
        """
        packed = None if result is None else pack_report(self._workshop.secrets.redact(result), "result")
        return self._say(
            c.ReconcileEffect,
            blobs=packed,
            by=by,
            evidence=evidence,
            external_ref=external_ref,
            found="happened" if happened else "did_not_happen",
            key=key,
            method="person",
            result=None if packed is None else packed.payload,
        )

    def _enclosing(self, tool: Tool | str, args: Mapping[str, Any] | None, options: Options) -> Doing:
        """Build an act whose body is a block."""
        is_new = isinstance(tool, str) and tool not in self._workshop.tools
        return self._doing(tool, args, _enclosed if is_new else None, options, once=True)

    def _asking(self, known: EffectHistory) -> Doing:
        tool = self._workshop.who_knows(known.tool)
        if tool is None or (tool.probe is None and tool.recovery is not Recovery.IDEMPOTENT):
            raise invalid("tool", f"no tool {known.tool!r} is known here that has a probe or is idempotent")
        return asking(self._workshop, self._seen(), self._context, tool, known)

    def _doing(
        self,
        tool: Tool | str | Function,
        args: Mapping[str, Any] | None,
        function: Function | None,
        options: Options,
        *,
        once: bool,
        keeps: bool = True,
    ) -> Doing:
        declared: Any = {name: value for name, value in options.items() if name in Declared.__annotations__}
        found = self._workshop.tool(tool, function, declared, keeps=keeps)
        asked = _asked(options, once=once)
        if found.recovery is Recovery.READ_ONLY and (once or asked.key is not None):
            name = "key" if asked.key is not None else "recovery"
            raise invalid(name, f"{found.name!r} only reads: it has no effect to name or to enclose")
        return doing(self._workshop, self._seen(), self._context, found, {} if args is None else args, asked)


def _enclosed(**args: Any) -> None:
    """Stand for the block that acts."""


def _asked(options: Options, *, once: bool) -> Asked:
    unknown = next((name for name in options if name not in Options.__annotations__), None)
    if unknown is not None:
        raise invalid(unknown, no_such("option", unknown, sorted(Options.__annotations__)))
    repeat, reason = options.get("repeat", False), options.get("reason")
    undone_by = options.get("undone_by")
    if repeat and reason is None and undone_by is None:
        raise invalid("reason", "a repeat says why, or names what undid the first act: undone_by=KEY")
    if not repeat and undone_by is None and reason is not None:
        raise invalid("repeat", "a reason is given with repeat=True")
    wait = options.get("wait_seconds", 0.0)
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait < float("inf"):
        raise invalid("wait_seconds", f"give seconds from 0 on, not {wait!r:.50}")
    return Asked(
        step=options.get("step"),
        occurrence=options.get("occurrence"),
        key=options.get("key"),
        repeat_reason=reason,
        undone_by=undone_by,
        rests_on=several("rests_on", options.get("rests_on", ())),
        about=several("about", options.get("about", ())),
        runtime=options.get("runtime"),
        wait_seconds=float(wait),
        once=once,
    )
