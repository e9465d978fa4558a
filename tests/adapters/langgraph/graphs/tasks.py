"""The functional way: entry points and tasks."""

from __future__ import annotations

from typing import Any

from langgraph.func import entrypoint, task
from langgraph.types import Command, interrupt

from tests.adapters.langgraph.graphs.scenarios import scenario
from tests.adapters.langgraph.graphs.scenes import Scene


@scenario()
def play_an_entrypoint_that_remembers(scene: Scene) -> None:
    @entrypoint(checkpointer=scene.saver)
    def count(given: int, *, previous: Any = None) -> Any:
        total = given + (previous or 0)
        return entrypoint.final(value={"given": given}, save=total)

    for number in (1, 5, 10):
        scene.invoke(count, number)
    assert scene.state(count).values == {"given": 10}


@scenario()
def play_tasks_at_once_and_a_question(scene: Scene) -> None:
    @task
    def work(number: int) -> tuple[int, str]:
        scene.done.append(f"work {number}")
        return number, "x" * number

    @task
    def ask(number: int) -> Any:
        return interrupt({"number": number})

    @entrypoint(checkpointer=scene.saver)
    def all_of_it(numbers: list[int]) -> list[Any]:
        works = [work(number) for number in numbers]
        done: list[Any] = [one.result() for one in works]
        done.append(interrupt("go on?"))
        done.append(ask(len(done)).result())
        return done

    scene.invoke(all_of_it, list(range(8)))
    scene.invoke(all_of_it, Command(resume="yes"))
    ended = scene.invoke(all_of_it, Command(resume=(1, 2)))
    assert ended[8] == "yes"
    if scene.way.durability != "exit":
        assert len(scene.done) == 8


@scenario()
def play_a_task_that_fails(scene: Scene) -> None:
    @task
    def well(number: int) -> int:
        scene.done.append(f"well {number}")
        return number

    @task
    def badly(number: int) -> int:
        scene.done.append(f"badly {number}")
        if len(scene.done) < 4:
            raise ValueError(number)
        return -number

    @entrypoint(checkpointer=scene.saver)
    def row(given: int) -> list[int]:
        return [well(given).result(), badly(given).result(), well(given + 1).result()]

    scene.invoke(row, 1, raises=ValueError)
    scene.invoke(row, None, raises=ValueError)
    assert scene.invoke(row, None) == [1, -1, 2]
    scene.invoke(row, 3)
