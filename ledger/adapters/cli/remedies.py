"""What people say to a run that is stopped, under short names: the ways out that the gate's reasons name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from ledger.adapters.cli.derived import Saying, derived, placeholder

if TYPE_CHECKING:
    from ledger.application.runs import Run


class Remedy(NamedTuple):
    """A command of the ledger under a short name."""

    saying: Saying
    help: str


def _same_goal(run: Run, typed: dict[str, Any]) -> Mapping[str, Any]:
    """Keep the goal, and what it rests on, where no other text is given."""
    goal = run.contract.goal
    return {} if "text" in typed else {"text": goal.text, "rests_on": goal.rests_on}


def _steps(run: Run, typed: dict[str, Any]) -> Mapping[str, Any]:
    """Read steps: a name alone, or a JSON object; what the plan knows of a name stays."""
    from ledger.canonical import load_text

    plan = run.contract.plan
    known = {} if plan is None else {step.name: step for step in plan.steps}
    steps = [
        load_text(one, path="--step") if one.lstrip().startswith("{") else known.get(one, {"name": one})
        for one in typed["steps"]
    ]
    return {"steps": steps}


def _another_id(run: Run, typed: dict[str, Any]) -> Mapping[str, Any]:
    """Refuse the id of the grant itself for what takes its place: ids of grants are said once."""
    from ledger.canonical import invalid

    if typed.get("as_id") == typed.get("id"):
        raise invalid("--as", f"{typed['id']!r:.80} is the grant itself: name the one that takes its place")
    return {}


def _runtime(run: Run, typed: dict[str, Any]) -> Mapping[str, Any]:
    """Keep of the fingerprint what is not named."""
    known = run.contract.runtime
    before = {} if known is None else known.model_dump(exclude_none=True)
    return {"runtime": {**before, **typed["runtime"]}}


REMEDIES: dict[str, Remedy] = {
    "revise-goal": Remedy(
        Saying("goal.revise", fill=_same_goal, found=("text",), left_out=("about",)),
        """Revise the goal of a run, or say that it still holds.

Without --text the goal stays what it is, and is confirmed: what a run that lay still for long waits for.

\b
Examples:
  intent-ledger revise-goal refund-17 --reason "still wanted" --by human:kim
  intent-ledger revise-goal refund-17 --text "Refund order 17 in vouchers" \\
      --reason "customer asked" --by human:kim --json
""",
    ),
    "revise-plan": Remedy(
        Saying("plan.revise", names={"steps": "step"}, fill=_steps, raw=("steps",), left_out=("about",)),
        """Put another plan in the place of the committed one.

A step is the name of one, or a JSON object with name, tool, rests_on and description. What the present plan
says of a step of the same name stays, also what it rests on, unless the step is given as JSON.

\b
Examples:
  intent-ledger revise-plan refund-17 --step look-up --step refund \\
      --reason "the item is out of stock" --by human:kim
  intent-ledger revise-plan refund-17 --step '{"name": "refund"}' \\
      --reason "it rests on nothing now" --by human:kim --json
""",
    ),
    "grant": Remedy(
        Saying("authority.grant", positional=("id",), names={"scopes": "scope"}, left_out=("about",)),
        """Allow somebody to act within scopes, budget and time.

From the first grant on each act of the run needs one. What a person approved before, or was asked, was asked
under other grants and binds no more: that is told. A scope is a tool, PREFIX.* or *. For people.

\b
Examples:
  intent-ledger grant refund-17 till-friday --principal agent:refunds \\
      --scope refund --budget EUR=100.00 --granted-by human:kim \\
      --expires-at 2026-02-06T17:00:00Z --json
""",
    ),
    "renew": Remedy(
        Saying("authority.renew", positional=("id",), left_out=("about",)),
        """Let a grant live on.

With a later end, more budget, or for another session: a renewal only ever extends. Without any of these it
confirms the grant as it is, which one that is to be approved anew waits for. For people.

\b
Examples:
  intent-ledger renew refund-17 till-friday --by human:kim \\
      --expires-at 2026-02-13T17:00:00Z
  intent-ledger renew refund-17 till-friday --add-budget EUR=50.00 \\
      --by human:kim --json
""",
    ),
    "narrow": Remedy(
        Saying(
            "authority.narrow",
            positional=("id",),
            names={"scopes": "scope", "as_id": "as"},
            fill=_another_id,
            left_out=("about",),
        ),
        """Put a grant that allows less in the place of one.

In one append, so that no act falls between. What is not named stays as it is; of the budget what is left.
What was passed on of the old one to other runs ends. For people.

\b
Examples:
  intent-ledger narrow refund-17 till-friday --as small --budget EUR=20.00 \\
      --reason "half is done" --by human:kim
  intent-ledger narrow refund-17 till-friday --as look --scope look.* \\
      --reason "no more payments" --by human:kim --json
""",
    ),
    "revoke": Remedy(
        Saying("authority.revoke", positional=("id",), left_out=("about",)),
        """End a grant before its time.

What was passed on of it to children, and on from there, ends with it.

\b
Examples:
  intent-ledger revoke refund-17 till-friday --by human:kim \\
      --reason "the agent left the team" --json
""",
    ),
    "adopt-runtime": Remedy(
        Saying("runtime.adopt", fill=_runtime, left_out=("about",)),
        """Accept that another model or prompt goes on with a run.

Name each field of the fingerprint that is another one now; the others stay what they are. For people.

\b
Examples:
  intent-ledger adopt-runtime refund-17 --runtime model=small-4 \\
      --runtime prompt=p-2 --reason "small-3 is gone" --by human:kim --json
""",
    ),
    "refute": Remedy(
        Saying("assumption.refute", positional=("id",), left_out=("about",)),
        """Report that an assumption is wrong, and what shows it.

\b
Examples:
  intent-ledger refute refund-17 in-stock --by human:kim \\
      --evidence "the warehouse has none" --json
""",
    ),
}
"""Every short name."""


def add_to(app: typer.Typer) -> None:
    """Put the short names beside the other commands."""
    for name, remedy in REMEDIES.items():
        app.command(name, help=remedy.help, cls=derived(remedy.saying))(placeholder)
