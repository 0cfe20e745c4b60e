"""The calibration tasks: their hidden examples hold on the references and catch plausible wrong modules."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.synthesis.calibration.tasks import CalibrationTask, calibration_tasks
from alita_mcp.synthesis.writing import prompts
from alita_mcp.values import Example
from alita_mcp.verification.comparison.compare import same_result
from alita_mcp.verification.static.static import static_gate

TASKS = {task.name: task for task in calibration_tasks().tasks}
WRONG = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "calibration_wrong.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


def function_of(task: CalibrationTask, code: str) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(compile(code, task.name, "exec"), names)
    function: Callable[..., Any] = names[task.name]
    return function


def holds(function: Callable[..., Any], example: Example) -> bool:
    arguments = json.loads(json.dumps(example.arguments))
    try:
        with warnings.catch_warnings(action="ignore"):
            result = json.loads(json.dumps(function(**arguments)))
    except Exception as failure:  # noqa: BLE001 - whatever a wrong module raises
        return example.raises in [kind.__name__ for kind in type(failure).__mro__]
    return example.raises is None and same_result(example.expected, result)


def failing(task: CalibrationTask, code: str) -> list[Example]:
    function = function_of(task, code)
    return [example for example in task.hidden if not holds(function, example)]


@pytest.mark.parametrize("name", TASKS)
def test_the_reference_of_a_task_does_what_all_hidden_examples_say(name: str) -> None:
    assert failing(TASKS[name], TASKS[name].reference) == []


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_plausible_wrong_module_is_caught_and_fails_few_examples(number: int) -> None:
    task = TASKS[WRONG[number]["name"]]
    caught = failing(task, WRONG[number]["code"])
    assert caught
    assert len(caught) < 0.7 * len(task.hidden)  # else it is no reading that anybody would have


def test_every_task_has_a_wrong_module_and_no_module_has_two_tasks() -> None:
    assert {wrong["name"] for wrong in WRONG} == set(TASKS)
    assert len(TASKS) == len(calibration_tasks().tasks)


def test_the_tasks_are_many_of_all_levels_and_full_of_traps() -> None:
    levels = Counter(task.level for task in TASKS.values())
    assert len(TASKS) >= 48
    assert min(levels[level] for level in ("easy", "middle", "hard")) >= 12
    assert len({task.trap for task in TASKS.values()}) >= 20


def test_a_part_of_the_tasks_is_no_easier_than_the_whole() -> None:
    """Whoever stops after a dozen has met all levels."""
    first = Counter(task.level for task in calibration_tasks().tasks[:12])
    assert set(first) == {"easy", "middle", "hard"}


@pytest.mark.parametrize("name", TASKS)
def test_hidden_examples_differ_and_reach_errors_where_the_rules_name_one(name: str) -> None:
    task = TASKS[name]
    calls = [json.dumps(example.arguments, sort_keys=True) for example in task.hidden]
    assert len(set(calls)) == len(calls) >= 12
    outcomes = {json.dumps(example.as_json().get("expected", example.raises)) for example in task.hidden}
    assert len(outcomes) >= 2
    says_error = any("raise" in rule and "nothing raises" not in rule for rule in task.rules)
    assert any(example.raises for example in task.hidden) == says_error


@pytest.mark.parametrize("name", TASKS)
async def test_a_reference_is_a_tool_that_the_static_gate_lets_through(name: str) -> None:
    task = TASKS[name]
    checks, contract = await static_gate(task.draft(task.reference))
    assert [check.message for check in checks if not check.passed and check.hard] == []
    assert contract is not None
    specification = task.brief().specification
    assert specification is not None
    assert (
        contract.input_schema["properties"].keys()
        == specification.contract().input_schema["properties"].keys()
    )


def test_writers_are_told_the_specification_and_neither_reference_nor_hidden_examples() -> None:
    task = TASKS["build_order"]
    for asked in (prompts.write_tests(task.brief(), 0), prompts.write_code(task.brief(), 0)):
        text = "\n".join(message.content for message in asked)
        assert task.signature in text
        assert all(rule in text for rule in task.rules)
        assert task.trap not in text
        assert "waiting.setdefault" not in text
        assert not any(json.dumps(example.arguments) in text for example in task.hidden)
