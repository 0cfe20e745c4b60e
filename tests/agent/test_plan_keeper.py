"""Plans in a run: asked for once, told to the model, and changed when a step of them fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from alita_mcp.models.interface import Completion, Message
from tests.agent.world import PlainAbilities, World, call, finish, world


def fails(**_arguments: Any) -> int:
    raise ValueError("it is broken")


def plans(*candidates: tuple[str, str, float]) -> str:
    """What a planner writes: for each plan the way and tool of its only step, and an estimate."""
    made = [
        {
            "steps": [{"need": "the number", "way": way, "tool": tool, "reason": "it is there"}],
            "estimate": estimate,
        }
        for way, tool, estimate in candidates
    ]
    return json.dumps({"plans": made})


def chosen(made: World) -> list[str]:
    """The tools of the plans that were chosen, in order."""
    told = [event for event in made.runs.told if event.kind == "plan" and event.data.get("chosen")]
    return [event.data["chosen"]["steps"][0]["tool"] for event in told]


async def test_the_planners_favourite_is_told_to_the_model_and_its_tool_offered() -> None:
    made = world(
        [plans(("reuse", "number_a", 0.9), ("run_once", "", 0.4)), call("number_a"), finish("7")],
        PlainAbilities(tools={"number_a": lambda: 7}),
        task="Find number_a",
        plans=3,
    )
    solution = await made.solve()
    assert solution.solved
    assert "Plan to follow" in made.shown(1)
    assert "reuse: number_a" in made.shown(1)
    assert "number_a" in {tool.name for tool in made.model.options[1]["tools"]}
    assert chosen(made) == ["number_a"]


async def test_after_a_failed_step_another_plan_is_chosen_and_told() -> None:
    made = world(
        [
            plans(("reuse", "number_a", 0.9), ("reuse", "number_b", 0.7)),
            call("number_a"),
            call("number_b"),
            finish("7"),
        ],
        PlainAbilities(tools={"number_a": fails, "number_b": lambda: 7}),
        task="Find number_a number_b",
        plans=3,
    )
    solution = await made.solve()
    assert solution.solved
    assert chosen(made) == ["number_a", "number_b"]
    assert "reuse: number_b" in made.shown(2)


async def test_when_no_plan_is_left_others_are_asked_for_with_what_failed() -> None:
    def script(messages: Sequence[Message]) -> str | Completion:
        text = messages[-1].content
        if "Give at most" in text:
            return (
                plans(("run_once", "", 0.6)) if "it is broken" in text else plans(("reuse", "number_a", 0.5))
            )
        turns = sum(message.role == "assistant" for message in messages)
        return call("number_a", again=turns) if turns < 8 else finish("none", solved=False)

    made = world(script, PlainAbilities(tools={"number_a": fails}), task="Find number_a", plans=3, usd=0.0)
    await made.solve()
    assert any(
        "it is broken" in asked[-1].content and "Give at most" in asked[-1].content
        for asked in made.model.asked
    )
    assert chosen(made)[0] == "number_a"
    assert "" in chosen(made)


async def test_an_answer_that_rests_on_nothing_counts_against_the_steps_before_it() -> None:
    made = world(
        [
            plans(("reuse", "number_a", 0.8), ("reuse", "number_b", 0.75)),
            call("number_a"),
            finish("8"),
            '{"claims": []}',
            call("number_b"),
            finish("8"),
        ],
        PlainAbilities(tools={"number_a": lambda: 7, "number_b": lambda: 8}),
        task="Find number_a number_b",
        plans=3,
    )
    solution = await made.solve()
    assert (solution.answer, solution.solved) == ("8", True)
    assert chosen(made) == ["number_a", "number_b"]


async def test_the_plan_says_which_steps_wait_for_others() -> None:
    steps = [
        {"need": "rows", "way": "reuse", "tool": "number_a"},
        {"need": "names", "way": "reuse", "tool": "number_b"},
        {"need": "both", "way": "run_once", "after": [1, 2]},
    ]
    made = world(
        [json.dumps({"plans": [{"steps": steps, "estimate": 0.8}]}), call("number_a"), finish("7")],
        PlainAbilities(tools={"number_a": lambda: 7, "number_b": lambda: 8}),
        task="Find number_a number_b",
        plans=3,
    )
    await made.solve()
    assert "3. both (run once; after 1, 2)" in made.shown(1)
    assert "1. rows (reuse: number_a)" in made.shown(1)
