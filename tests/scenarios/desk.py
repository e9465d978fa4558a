"""Who asks the gate and leads a run out: through the library, or through the command line."""

from __future__ import annotations

import contextlib
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

from ledger import Actor, Runtime, Tool, Verdict
from ledger.adapters.cli import main
from ledger.commands import Command
from tests.adapters.cli.command import Answer
from tests.adapters.cli.command import run as command_line
from tests.scenarios.scene import KIM, PROGRAM, RUN, Scene

CODES = {"continue": 0, "replan": 10, "reconcile": 11, "reapprove": 12, "restart": 13, "refuse": 14}


class Said(NamedTuple):
    """What the gate said."""

    verdict: str
    kinds: list[str]
    """Of the reasons, the strictest first."""
    whats: list[str]
    cleared_by: list[str]
    position: int | None
    message: str | None
    prompt: str | None


class Desk(ABC):
    """Where people lead runs out."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    @abstractmethod
    def resume(self, run: str = RUN, *, actor: Actor = PROGRAM, **options: Any) -> Said:
        """Ask the gate; `options` are those of `Ledger.resume`."""

    @abstractmethod
    def say(self, command: Command, run: str = RUN) -> None:
        """Let a person say something to a run."""

    @abstractmethod
    def restart(self, as_: str, run: str = RUN, *, goal: str | None = None) -> None:
        """Let a person close a run and open its successor."""

    @abstractmethod
    def settle(self, key: str, *, happened: bool) -> None:
        """Let a person say what became of an effect."""

    @abstractmethod
    def reconcile(self, tool: Tool, recovery: str) -> list[str]:
        """Ask the outside what became of what nobody knows; return what was found."""

    @abstractmethod
    def cancel(self, run: str = RUN) -> None:
        """Let a person end a run."""

    def goes_on(self, run: str = RUN, *, actor: Actor = PROGRAM, **options: Any) -> Said:
        """Ask the gate, which has nothing against going on."""
        said = self.resume(run, actor=actor, **options)
        assert (said.verdict, said.whats) == ("continue", [])
        return said

    def is_held(self, verdict: str, *kinds: str, **options: Any) -> Said:
        """Ask the gate twice: it says so, for these reasons, and records that once."""
        said = self.resume(**options)
        assert (said.verdict, sorted(set(said.kinds))) == (verdict, sorted(kinds)), said.whats
        run = options.get("run", RUN)
        stands = self.scene.program(KIM).contract(run)
        assert stands.held is not None
        assert (stands.held.position, stands.held.verdict) == (said.position, verdict)
        again = self.resume(**options)
        assert (again.kinds, again.position) == (said.kinds, said.position)
        assert self.scene.program(KIM).contract(run).position == stands.position
        return said


class AtLibrary(Desk):
    def resume(self, run: str = RUN, *, actor: Actor = PROGRAM, **options: Any) -> Said:
        found = self.scene.program(actor).resume(run, **options)
        assert (found.run is not None) == (found.verdict is Verdict.CONTINUE) == bool(found)
        return Said(
            found.verdict.value,
            [one.kind for one in found.reasons],
            [one.what for one in found.reasons],
            [one.cleared_by for one in found.reasons],
            found.position,
            found.message,
            found.prompt,
        )

    def say(self, command: Command, run: str = RUN) -> None:
        self.scene.program(KIM).run(run).do(command)

    def restart(self, as_: str, run: str = RUN, *, goal: str | None = None) -> None:
        self.scene.program(KIM).restart(run, as_=as_, reason="it is gone", by="human:kim", goal=goal)

    def settle(self, key: str, *, happened: bool) -> None:
        self.scene.program(KIM).settle(key, happened=happened, evidence="I looked", by="human:kim")

    def reconcile(self, tool: Tool, recovery: str) -> list[str]:
        return [one.found for one in self.scene.program(KIM, tool).reconcile(RUN)]

    def cancel(self, run: str = RUN) -> None:
        self.scene.program(KIM).run(run).close("cancelled", reason="not wanted", by="human:kim")


class AtCommandLine(Desk):
    """The gate is first asked by a process of its own; from then on the same program is called here.

    With `in_process` there is no such process: one for each scenario is enough.
    """

    def __init__(self, scene: Scene, *, in_process: bool = False) -> None:
        super().__init__(scene)
        self._asked = in_process

    def resume(self, run: str = RUN, *, actor: Actor = PROGRAM, **options: Any) -> Said:
        arguments = ["resume", run, "--actor", actor.id]
        if actor.session is not None:
            arguments += ["--actor-session", actor.session]
        runtime: Runtime | None = options.pop("runtime", None)
        for name, value in ({} if runtime is None else runtime.model_dump(exclude_none=True)).items():
            arguments += ["--runtime", f"{name}={value}"]
        arguments += _options(options)
        arguments += ["--json", "--ledger", str(self.scene.place)]
        answer = called(*arguments) if self._asked else command_line(*arguments)
        self._asked = True
        assert answer.code in CODES.values(), answer.err
        document = answer.document
        assert answer.code == CODES[document["verdict"]]
        reasons = document["reasons"]
        assert all(one["ways_out"] for one in reasons)
        return Said(
            document["verdict"],
            [one["kind"] for one in reasons],
            [one["what"] for one in reasons],
            [one["cleared_by"] for one in reasons],
            document["position"],
            document["message"],
            document["prompt"],
        )

    def say(self, command: Command, run: str = RUN) -> None:
        fields = command.model_dump(mode="json", exclude_defaults=True)
        self._call("do", command.name, run, *_options(fields))

    def restart(self, as_: str, run: str = RUN, *, goal: str | None = None) -> None:
        said = _options({"as": as_, "reason": "it is gone", "by": "human:kim", "goal": goal})
        document = self._call("restart", run, *said, codes=(0, 2))
        assert (document["run"], document["successor"]) == (run, as_)

    def settle(self, key: str, *, happened: bool) -> None:
        found = "--happened" if happened else "--did-not"
        self._call("settle", key, found, "--evidence", "I looked", "--by", "human:kim")

    def reconcile(self, tool: Tool, recovery: str) -> list[str]:
        module = self.scene.till.module(self.scene.folder, recovery)
        document = self._call("reconcile", "--run", RUN, "--tools", str(module), codes=(0, 2))
        return [one["found"] for one in document["answers"]]

    def cancel(self, run: str = RUN) -> None:
        said = ("--reason", "not wanted", "--by", "human:kim")
        self._call("cancel", run, *said, codes=(0, 2))

    def _call(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> Any:
        where = ("--ledger", str(self.scene.place), "--actor", "human:kim", "--json")
        answer = called(*arguments, *where)
        assert answer.code in codes, answer
        return answer.document


def called(*arguments: str) -> Answer:
    """Call the command line in this process."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(list(arguments))
    return Answer(code, out.getvalue(), err.getvalue())


def _options(fields: Mapping[str, Any]) -> list[str]:
    """Write fields as options: what holds several values once for each, objects as JSON."""
    words: list[str] = []
    for name, value in fields.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value not in (None, False):
            for one in value if isinstance(value, list) else [value]:
                words += [option, one if isinstance(one, str) else json.dumps(one)]
    return words
