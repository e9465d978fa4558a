"""The same history, and another model, prompt or tool schema that would go on with it."""

from __future__ import annotations

import pytest

from ledger import Runtime
from ledger.commands import AdoptRuntime
from tests.scenarios.conftest import Begin
from tests.scenarios.scene import RUN

BEFORE = {name: f"{name}-1" for name in Runtime.model_fields}


@pytest.mark.parametrize("begin", ["sqlite"], indirect=True)
@pytest.mark.parametrize("field", BEFORE)
def test_each_field_of_the_fingerprint_counts(begin: Begin, field: str) -> None:
    desk = begin()
    desk.scene.begin(runtime=Runtime(**BEFORE)).suspend(reason="night")
    now = Runtime(**{**BEFORE, field: "another"})
    said = desk.is_held("replan", "runtime_changed", runtime=now)
    assert said.whats == [f"{field}: {field}-1 before, another now"]
    desk.say(AdoptRuntime(runtime=now, reason="the old one is gone", by="human:kim"))
    desk.goes_on(runtime=now)


def test_another_model_is_adopted_by_a_person_and_pays_nothing_again(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    run = scene.begin(runtime=Runtime(model="small-3", prompt="p-1", tool_schema="t-1"))
    run.perform(scene.till.tool(), {"order": 17}, step="pay")
    run.suspend(reason="night")
    now = Runtime(model="small-4", prompt="p-2", sampling="greedy")
    said = desk.is_held("replan", "runtime_changed", runtime=now)
    # What one side does not say is not compared.
    assert sorted(what.partition(":")[0] for what in said.whats) == ["model", "prompt"]
    assert set(said.cleared_by) == {"runtime.adopted"}
    whole = now.with_fields({"tool_schema": "t-1"})
    desk.say(AdoptRuntime(runtime=whole, reason="small-3 is gone", by="human:kim"))
    desk.goes_on(runtime=now)
    run = scene.program().run(RUN)
    assert run.contract.runtime == whole
    run.perform(scene.till.tool(), {"order": 17}, step="pay")
    assert scene.till.orders == [17]
    # What it goes on as is what the next one is compared with.
    run.suspend(reason="another night")
    assert desk.resume(runtime=Runtime(model="small-3")).verdict == "replan"
