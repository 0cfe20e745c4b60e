"""What a scripted model writes for calibration tasks: right, wrong, misread, unreadable, or hostile."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from alita_mcp.synthesis.calibration.tasks import CalibrationTask, calibration_tasks
from tests.models.openai_server import Reply, Request

TASKS = {task.name: task for task in calibration_tasks().tasks}
WRONG: dict[str, str] = {
    row["name"]: row["code"]
    for row in map(
        json.loads,
        reversed(
            (Path(__file__).parents[1] / "data" / "calibration_wrong.jsonl")
            .read_text(encoding="utf-8")
            .splitlines()
        ),
    )
}
"""The first of each."""

Says = Callable[[CalibrationTask], Any]


def task_of(request: Request) -> CalibrationTask:
    found = re.search(r"signature: def (\w+)\(", request.text)
    assert found, request.text
    return TASKS[found[1]]


def right_code(task: CalibrationTask) -> Any:
    return {"code": task.reference, "packages": []}


def wrong_code(task: CalibrationTask) -> Any:
    return {"code": WRONG[task.name], "packages": []}


def right_tests(task: CalibrationTask) -> Any:
    return {"tests": [example.as_json() for example in task.hidden[:6]]}


def wrong_tests(task: CalibrationTask) -> Any:
    """Nothing gives this."""
    return {"tests": [{"arguments": example.arguments, "expected": "never"} for example in task.hidden[:6]]}


class Calibrated:
    """Answers every task the same way, and counts what it was asked for."""

    def __init__(self, code: Says = right_code, tests: Says = right_tests) -> None:
        self.code, self.tests = code, tests
        self.asked: list[tuple[str, str]] = []

    def __call__(self, request: Request) -> Reply:
        task = task_of(request)
        kind = "tests" if "Test this tool" in request.text else "code"
        self.asked.append((kind, task.name))
        said: Reply = (self.tests if kind == "tests" else self.code)(task)
        return said
