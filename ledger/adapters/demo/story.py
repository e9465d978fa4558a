"""What happens in the demonstration, as facts: nothing here writes to a screen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from ledger import Actor, Contract, Page, open_ledger
from ledger.adapters.demo import approval, payment, succession, worker
from ledger.adapters.demo.approval import Consent
from ledger.adapters.demo.payment import Payment
from ledger.adapters.demo.processes import told
from ledger.adapters.demo.succession import Succession
from ledger.adapters.transcripts import import_transcripts, sample_path, sample_tools_path
from ledger.application.ledger import Ledger
from ledger.application.verifying import verify
from ledger.errors import StoreError
from ledger.integrity.verify import Report
from projections.asking import ask

ROUNDS = 3
"""How often the agent moves its cursor before it is killed; it never stops by itself."""


class Said(NamedTuple):
    """What a process of the demonstration said of the contract it held."""

    pid: int
    position: int
    digest: str


class Killed(NamedTuple):
    """The agent's end."""

    last: Said
    """The last append it said was acknowledged."""
    signal: int


class Story(NamedTuple):
    """Everything that happened."""

    path: Path
    runs: Page
    killed: Killed
    reader: Said
    stands_at: int
    """Position of the run as the reader found it; an append can be durable before anybody was told."""
    contract: Contract
    """The contract that the agent left."""
    before: Contract
    """The same run right before its goal was revised."""
    payment: Payment
    """A payment whose answer was lost."""
    succession: Succession
    """A resume that was refused, and the successor that went on."""
    consent: Consent
    """A payment that waited for a person."""
    bound: list[dict[str, Any]]
    """What bound the payment, as the question `constraints-at-effect` answers it after all that."""
    report: Report


def play(path: Path) -> Story:
    """Play the demonstration on a new ledger.

    Raises:
        StoreError: the file exists, or a process of the demonstration ended by itself.
    """
    if path.exists():
        raise StoreError(f"{path} exists: name another folder, or none for a new one", path=str(path))
    with open_ledger(path, actor=Actor("human:kim")) as ledger:
        import_transcripts(ledger, sample_path(), tools=sample_tools_path())
        ledger.source(worker.POLICY).publish(worker.REVISION, worker.RULES, by="human:kim")
        killed = _kill_an_agent(path)
        reader, stands_at = _read_elsewhere(path, killed.last.position)
        with payment.server() as url:
            paid = payment.play(ledger, path, url)
            succeeded = succession.play(ledger, path, url)
            consent = approval.play(ledger, path, url)
        return _gather(ledger, path, (killed, reader, stands_at), (paid, succeeded, consent))


def _gather(
    ledger: Ledger,
    path: Path,
    left: tuple[Killed, Said, int],
    acts: tuple[Payment, Succession, Consent],
) -> Story:
    killed, reader, stands_at = left
    paid, succeeded, consent = acts
    contract = ledger.contract(worker.RUN, at=killed.last.position)
    return Story(
        path=path,
        runs=ledger.runs(),
        killed=killed,
        reader=reader,
        stands_at=stands_at,
        contract=contract,
        before=ledger.contract(worker.RUN, at=contract.goal.position - 1),
        payment=paid,
        succession=succeeded,
        consent=consent,
        bound=_bound(ledger, paid.effect.key),
        report=verify(ledger),
    )


def _bound(ledger: Ledger, key: str) -> list[dict[str, Any]]:
    answer = ask(ledger, "constraints-at-effect", key=key)
    names = [column.name for column in answer.columns]
    return [dict(zip(names, row, strict=True)) for row in answer.rows]


def _kill_an_agent(path: Path) -> Killed:
    """Start the agent, wait until it is in the middle of its work, and kill it."""
    with subprocess.Popen(_command("work", path), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            said = None
            for line in told(child.stdout):
                said = line
                if line["round"] >= ROUNDS:
                    child.kill()
        finally:
            child.kill()
        code = child.wait()
    if said is None or code >= 0:
        raise StoreError("the agent of the demonstration ended by itself", exit_code=code)
    return Killed(Said(said["pid"], said["position"], said["digest"]), -code)


def _read_elsewhere(path: Path, position: int) -> tuple[Said, int]:
    done = subprocess.run(
        _command("read", path, str(position)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        raise StoreError("the reader of the demonstration failed", exit_code=done.returncode)
    said = json.loads(done.stdout)
    return Said(said["pid"], said["position"], said["digest"]), said["stands_at"]


def _command(role: str, path: Path, *more: str) -> list[str]:
    # -P: a folder `ledger` where the command was typed must not stand in for this package.
    return [sys.executable, "-P", "-m", worker.__name__, role, str(path), *more]
