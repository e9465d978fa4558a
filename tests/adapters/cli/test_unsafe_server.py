"""A server that could lose what is acknowledged: commands that only read go on, with a warning."""

from __future__ import annotations

from collections.abc import Callable

from ledger import Actor, open_ledger
from projections.built_in import BUILT_IN
from projections.runner import Runner
from tests.adapters.cli.conftest import Call
from tests.stores.builder import shown

READING = [
    ("log", "run-1"),
    ("verify", "run-1"),
    ("verify", "--all"),
    ("runs",),
    ("contract", "run-1"),
    ("brief", "run-1"),
    ("diff", "run-1", "run-1"),
    ("effects",),
    ("sources", "list"),
    ("project", "status"),
    ("project", "verify"),
    ("ask", "writers", "run=run-1", "--as-is"),
]
WRITING = [
    ("ask", "writers", "run=run-1"),
    ("runs", "--kept"),
    ("project", "run", "--until-current"),
    ("project", "forget", "runs"),
]


def test_what_only_reads_goes_on_with_a_warning(other_cluster: Callable[..., object], call: Call) -> None:
    url = other_cluster({"fsync": "off"}).cluster.url()  # type: ignore[attr-defined]
    with open_ledger(url, actor=Actor("service:tests"), unsafe=True) as ledger:
        ledger.open_run("run-1", "goal")
        shown(ledger.store)
        Runner(ledger, list(BUILT_IN.values())).run(until_current=True)
    for command in READING:
        answer = call(*command, "--ledger", url, "--json")
        assert answer.code == 0, (command, answer.err)
        assert answer.err.startswith("warning: ")
        assert "fsync is off" in answer.err
        assert answer.out
    for command in WRITING:
        answer = call(*command, "--ledger", url, "--json")
        assert (answer.code, answer.error["code"]) == (3, "unsafe_store"), command
        assert (
            "turn it on (a program may open it with unsafe=True; commands only read there)"
            in (answer.error["message"])
        )
