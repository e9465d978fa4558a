"""The demonstration told in 80 columns, for somebody who sees a ledger for the first time."""

from __future__ import annotations

import shlex
from typing import Any

from ledger.adapters.cli.screen import Column, Screen
from ledger.adapters.cli.verdict import sentence, summary
from ledger.adapters.cli.visible import one_line
from ledger.adapters.cli.words import source_words, when
from ledger.adapters.demo.approval import AMOUNT, APPROVER, TOO_MUCH, Consent
from ledger.adapters.demo.approval import RUN as WAITED
from ledger.adapters.demo.story import Story
from ledger.adapters.demo.succession import SUCCESSOR
from ledger.adapters.demo.worker import POLICY, RUN
from ledger.events import RunRestarted
from ledger.run.contract import Constraint, Contract


def tell(story: Story, screen: Screen, *, program: str) -> None:
    """Write the story, one part after another; `program` is how the reader starts the command."""
    screen.line("Intent Ledger: what a run of an agent means, not only where it stands", style="bold")
    parts = (
        _imported,
        _killed,
        _found,
        _asserted,
        _changed,
        _paid,
        _succeeded,
        _consented,
        _bound,
        _verified,
    )
    for part in parts:
        part(story, screen)
    _next(story, screen, program)


def facts(story: Story) -> dict[str, Any]:
    """Give the story as one JSON document."""
    goal = story.contract.goal
    return {
        "ledger": str(story.path),
        "runs": [run.run for run in story.runs.runs],
        "killed": {**story.killed.last._asdict(), "signal": story.killed.signal},
        "reader": story.reader._asdict(),
        "same_contract": story.reader.digest == story.killed.last.digest,
        "stands_at": story.stands_at,
        "constraints": [
            item.model_dump(mode="json", exclude_none=True) for item in story.contract.constraints
        ],
        "goal_before": story.before.goal.model_dump(mode="json", exclude_none=True),
        "goal": goal.model_dump(mode="json", exclude_none=True),
        "payment": {
            "killed": story.payment.killed,
            "resumed": story.payment.resumed,
            "receipt": story.payment.receipt,
            "charges": story.payment.charges,
            "paid_once": len(story.payment.charges) == 1,
            "effect": story.payment.effect.model_dump(mode="json", exclude_none=True),
        },
        "succession": _succession_facts(story),
        "consent": _consent_facts(story.consent),
        "bound": story.bound,
        "verify": summary(story.report),
    }


def _succession_facts(story: Story) -> dict[str, Any]:
    done = story.succession
    begun = done.begun.event
    assert isinstance(begun, RunRestarted)
    return {
        "verdict": done.refused.verdict.value,
        "reasons": [one.model_dump(mode="json", exclude_none=True) for one in done.refused.reasons],
        "held": done.held,
        "successor": done.contract.run,
        "dropped": [one.model_dump(mode="json", exclude_none=True) for one in begun.dropped],
        "effects_done": begun.effects_done,
        "constraints": [one.id for one in done.contract.constraints],
        "obligations": [one.id for one in done.contract.obligations],
        "process": done.process,
        "receipt": done.receipt,
        "charges": done.charges,
        "paid_once": len(done.charges) == 1,
    }


def _consent_facts(done: Consent) -> dict[str, Any]:
    return {
        "asked": done.asked,
        "refused": done.refused,
        "told": done.told,
        "request": done.request.model_dump(mode="json", exclude_none=True),
        "approved_by": APPROVER,
        "paid": done.paid,
        "receipts": done.receipts,
        "intended": done.intended,
        "charges": done.charges,
        "paid_once": len(done.charges) == 1,
    }


def _imported(story: Story, screen: Screen) -> None:
    screen.title("1  Recorded chats became runs")
    screen.entry(
        "A ledger can begin with the past: these chats of a hotel desk were imported. Their system message "
        "is a source of constraints; what they do not say is not guessed.",
        indent=3,
    )
    screen.table(
        [Column("RUN"), Column("STATUS"), Column("EVENTS", right=True), Column("GOAL")],
        [
            (run.run, run.status, str(run.position), one_line(run.goal, most=44))
            for run in story.runs.runs
            if run.run not in (RUN, SUCCESSOR, WAITED)
        ],
        indent=3,
    )


def _killed(story: Story, screen: Screen) -> None:
    screen.title("2  An agent worked, and was killed in the middle")
    last = story.killed.last
    screen.entry(
        f"Process {last.pid} opened the run {RUN}, accepted constraints, committed a plan, looked the "
        f"order up, got a new goal and promised a mail. Signal {story.killed.signal} (SIGKILL) ended it "
        "while it was moving on; it had no chance to save anything.",
        indent=3,
    )


def _found(story: Story, screen: Screen) -> None:
    screen.title("3  Another process loaded the contract it left")
    screen.table(
        [Column("PROCESS"), Column("POSITION", right=True), Column("DIGEST OF THE CONTRACT")],
        [
            (f"{said.pid} ({role})", str(said.position), said.digest[:32] + "..")
            for said, role in ((story.killed.last, "killed"), (story.reader, "started later"))
        ],
        indent=3,
    )
    same = story.reader.digest == story.killed.last.digest
    more = story.stands_at - story.killed.last.position
    late = f" {more} more append was durable that the agent was never told of." if more == 1 else ""
    screen.entry(
        ("Equal: every append that was acknowledged is there." if same else "DIFFERENT: this is a defect.")
        + late,
        indent=3,
    )


def _asserted(story: Story, screen: Screen) -> None:
    screen.title("4  Who asserted what, when, and from which source")
    for item in story.contract.constraints:
        screen.entry(f"{item.id}: {item.text}", indent=3, hang=2)
        screen.entry(_origin(item), indent=5, hang=2, style="dim")
    screen.line()
    screen.entry(
        "The last one was only claimed: it names the policy, and the policy does not say so. It stands in "
        "the record as what it is, with the name of who said it.",
        indent=3,
    )


def _origin(item: Constraint) -> str:
    assert item.source is not None
    claimed = "" if item.published else " (CLAIMED)"
    return (
        f"by {item.asserted_by}, from {source_words(item.source)}{claimed}; "
        f"accepted by {item.accepted_by} at {when(item.accepted_at)}"
    )


def _changed(story: Story, screen: Screen) -> None:
    screen.title("5  What changed, by whom and why")
    before, goal = story.before.goal, story.contract.goal
    screen.entry(f"goal, revision {before.revision}: {before.text}", indent=3, hang=2)
    screen.entry(f"goal, revision {goal.revision}: {goal.text}", indent=3, hang=2)
    screen.entry(f"by {goal.by} at {when(goal.at)}, because {goal.reason}", indent=5, hang=2, style="dim")
    screen.entry(
        f'Time travel: at position {story.before.position} the goal was still "{before.text}", at position '
        f"{goal.position} it was the new one.",
        indent=3,
    )
    for line in _open(story.contract):
        screen.entry(line, indent=3, hang=2)


def _open(contract: Contract) -> list[str]:
    return [f"still owed: {item.id} to {item.owed_to}: {item.text}" for item in contract.obligations]


def _paid(story: Story, screen: Screen) -> None:
    screen.title("6  A payment whose answer was lost, and no second one")
    paid = story.payment
    screen.entry(
        f"Process {paid.killed} refunded order 17. Intent and claim were in the ledger before the request "
        "was sent. The payment server refunded, its answer never came, and the waiting process was killed.",
        indent=3,
    )
    screen.entry(
        f"Process {paid.resumed} ran the same code. The effect was executing, then, its lease over, unknown: "
        "so it asked the payment server instead of paying again.",
        indent=3,
    )
    for finding in paid.effect.findings:
        screen.entry(f"{finding.found} ({finding.method}): {finding.evidence}", indent=5, hang=2, style="dim")
    once = len(paid.charges) == 1
    screen.entry(
        f"The payment server's own record: {len(paid.charges)} charge{'' if once else 's'}. "
        + (f"The second process was told of it, {paid.receipt['id']}." if once else "PAID TWICE: a defect."),
        indent=3,
    )


def _succeeded(story: Story, screen: Screen) -> None:
    screen.title("7  A rule was withdrawn while the run slept: it may not go on, a successor may")
    done = story.succession
    begun = done.begun.event
    assert isinstance(begun, RunRestarted)
    screen.entry(
        f"The run was suspended for the night. Meanwhile the owner of {POLICY} withdrew a rule that it had "
        f"accepted. In the morning the agent asked whether it may go on. The gate: "
        f"{done.refused.verdict.value.upper()}.",
        indent=3,
    )
    for one in done.refused.reasons:
        screen.entry(f"{one.kind}: {one.what} (by {one.who})", indent=5, hang=2, style="dim")
        screen.entry(f"cleared by: {one.cleared_by}", indent=7, hang=2, style="dim")
    screen.entry(f"It tried all the same, and was refused: {done.held}.", indent=3)
    kept = ", ".join(one.id for one in done.contract.constraints)
    screen.entry(
        f"A person restarted it as {done.contract.run}. The successor has what still holds ({kept}), owes "
        f"what was owed, knows of {begun.effects_done} effect that is done, and was not given:",
        indent=3,
    )
    for drop in begun.dropped:
        screen.entry(f"{drop.ref}: {drop.reason}", indent=5, hang=2, style="dim")
    once = len(done.charges) == 1
    screen.entry(
        f"Process {done.process} ran the same code for it, refund included. The payment server's own record: "
        f"{len(done.charges)} charge{'' if once else 's'}. "
        + ("It was told of the first one instead." if once else "PAID TWICE: a defect."),
        indent=3,
    )


def _consented(story: Story, screen: Screen) -> None:
    screen.title("8  A payment above the limit waited for a person, and no process with it")
    done = story.consent
    screen.entry(
        f"Process {done.asked} was to refund order 18. It tried to pay {TOO_MUCH} EUR, and was refused "
        "before anything was sent:",
        indent=3,
    )
    screen.entry(done.refused["said"], indent=5, hang=2, style="dim")
    screen.entry(
        f"So it tried {AMOUNT}, twice. A rule of the policy has a person approve that:"
        if {*done.told} == {done.request.id}
        else "It tried twice, and ASKED TWICE: a defect.",
        indent=3,
    )
    (asking,) = (one for one in done.left.constraints if one.rule is not None and one.rule.needs_approval)
    screen.entry(f"{asking.id}: {asking.text}", indent=5, hang=2)
    screen.entry(_origin(asking), indent=7, hang=2, style="dim")
    screen.entry("Both times it was told the id of the one request that waits, in the ledger:", indent=3)
    screen.entry(done.request.id, indent=5, style="dim")
    once = len(done.charges) == 1
    screen.entry(
        f"Then process {done.asked} ended: nothing waits in memory. {APPROVER} approved by that id, as "
        f"`intent-ledger approve` does. Process {done.paid} ran the same code, and paid; called once more, "
        f"it was told {done.receipts[-1]['id']} again. The payment server's own record of order 18: "
        + ("1 charge." if once else f"{len(done.charges)} charges. PAID TWICE: a defect."),
        indent=3,
    )


def _bound(story: Story, screen: Screen) -> None:
    screen.title("9  Asked afterwards: which rules bound the payment, and who said so")
    for one in story.bound:
        said = "published" if one["published"] else "CLAIMED"
        screen.entry(
            f"{one['id']}: said by {one['author']} ({said}, {one['source']} revision {one['revision']}); "
            f"accepted by {one['accepted_by']} at position {one['position']}",
            indent=3,
            hang=2,
        )
    screen.entry(
        f"The payment was position {story.payment.effect.intended_position}. What was withdrawn since bound "
        "it all the same: this goes by the positions that the payment recorded, not by the clock.",
        indent=3,
    )


def _verified(story: Story, screen: Screen) -> None:
    screen.title("10  Is the record what was written?")
    for line in sentence(story.report):
        screen.entry(line, indent=3, hang=2)


def _next(story: Story, screen: Screen, program: str) -> None:
    screen.title("11  Look around: type")
    screen.command(f"export INTENT_LEDGER_URL={shlex.quote(str(story.path))}", indent=3)
    for line in (
        "runs",
        f"contract {RUN}",
        f"contract {RUN} --at {story.before.position}",
        f"log {RUN}",
        f"effects {RUN} --all",
        "runs --held",
        f"log {WAITED}",
        f"brief {SUCCESSOR}",
        f"diff {RUN} {SUCCESSOR}",
        f"ask constraints-at-effect key={story.payment.effect.key[:12]}",
        "verify --all",
        "--help",
    ):
        screen.command(f"{program} {line}", indent=3)
