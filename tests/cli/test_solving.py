"""`alita solve` with a model of ours behind the real litellm, as a process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.conftest import PATIENCE_S
from tests.models.openai_server import Fails, Reply, Request, openai_server

pytestmark = pytest.mark.process


def solve(environment: dict[str, str], *replies: str) -> subprocess.CompletedProcess[str]:
    left = list(replies)

    def answer(request: Request) -> Reply:
        return Fails(400, message="this model does not support tools") if request.tools else left.pop(0)

    with openai_server(answer) as (url, _asked):
        return subprocess.run(
            [sys.executable, "-m", "alita_mcp.cli.main", "solve", "What is 6 times 7?", "--plans", "0", "--json"],
            env={**environment, "ALITA_MODEL": "openai/x", "ALITA_MODEL_BASE_URL": url, "OPENAI_API_KEY": "x"},
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip


def test_a_task_is_solved_with_a_tool_of_the_library(environment: dict[str, str]) -> None:
    done = solve(
        environment,
        '{"thought": "a sum", "calls": [{"name": "calculate", "arguments": {"expression": "6*7"}}]}',
        '{"calls": [{"name": "finish", "arguments": {"answer": "42", "solved": true}}]}',
    )
    assert done.returncode == 0, done.stderr
    solution = json.loads(done.stdout)
    assert solution["answer"] == "42"
    assert "42" in solution["steps"][0]["observation"]
    assert solution["tools_used"] == ["calculate"]


@pytest.mark.exhaustive
def test_where_warnings_are_made_errors_those_of_libraries_fail_nothing(environment: dict[str, str]) -> None:
    done = solve(
        {**environment, "PYTHONWARNINGS": "error"},
        '{"calls": [{"name": "run_code", "arguments": {"code": "6*7", "reason": "once"}}]}',
        '{"answer": "42"}',
    )
    assert (done.returncode, json.loads(done.stdout)["answer"]) == (0, "42"), done.stderr


def test_a_task_that_was_not_solved_has_its_own_status(environment: dict[str, str]) -> None:
    done = solve(
        environment, '{"calls": [{"name": "finish", "arguments": {"answer": "I cannot", "solved": false}}]}'
    )
    assert (done.returncode, json.loads(done.stdout)["answer"]) == (1, "I cannot")


def test_without_a_model_it_says_what_to_set(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "alita_mcp.cli.main", "solve", "x"],
        env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "ALITA_MODEL" in done.stderr
