"""`alita solve` as a process, its model behind the real litellm: kept, listed, told, interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from alita_mcp.cli.main import main
from tests.cli.conftest import PATIENCE_S, ROOT, Said
from tests.in_process import IN_PROCESS
from tests.models.openai_server import Calls, openai_server

ALITA = [sys.executable, "-m", "alita_mcp.cli.main"]
COMPUTES = Calls(("calculate", {"expression": "6*7"}))
FINISHES = Calls(("finish", {"answer": "42", "solved": True}))


@pytest.fixture
def environment(stocked: Path, home: Path) -> dict[str, str]:
    """A library with the tools that come along, in the embedded sandbox."""
    import shutil

    shutil.copytree(stocked, home)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("ALITA_")},
        "ALITA_HOME": str(home),
        "ALITA_SANDBOX": IN_PROCESS,
        "PYTHONPATH": str(ROOT),
        "OPENAI_API_KEY": "sk-test-0123456789abcdef",
    }


def test_a_task_is_solved_kept_listed_and_told(
    environment: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def alita(*words: str) -> Said:
        capsys.readouterr()
        status = main(words)
        return Said(status, *capsys.readouterr())

    with openai_server(COMPUTES, FINISHES) as (url, asked), monkeypatch.context() as live:
        live.setenv("ALITA_MODEL", "openai/x")
        live.setenv("ALITA_MODEL_BASE_URL", url)
        done = alita("solve", "What is 6 times 7?", "--json", "--plans", "0", "--max-steps", "5")
    assert done.status == 0, done.err
    solution = done.json
    assert (solution["answer"], solution["tools_used"], solution["calls"]) == ("42", ["calculate"], 2)
    assert "solve: step: 1. calculate" in done.err
    (listed,) = alita("runs", "--json").json["runs"]
    assert (listed["run"], listed["status"], listed["solved"]) == (solution["run"], "finished", True)
    told = alita("runs", solution["run"][:8])
    assert "step: 1. calculate" in told.out
    assert "finished: 42" in told.out
    assert len(asked.requests) == 2


@pytest.mark.process
def test_ctrl_c_ends_it_with_what_is_known_so_far(environment: dict[str, str]) -> None:
    with openai_server(COMPUTES, None) as (url, _asked):
        started = subprocess.Popen(
            [*ALITA, "solve", "What is 6 times 7?", "--json", "--plans", "0"],
            env={**environment, "ALITA_MODEL": "openai/x", "ALITA_MODEL_BASE_URL": url},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert started.stderr is not None
        heard = next(line for line in started.stderr if "step: 1. calculate" in line)
        assert heard
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=PATIENCE_S)
    assert started.returncode == 130, err
    solution = json.loads(out)
    assert (solution["stopped"], solution["solved"], len(solution["steps"])) == ("cancelled", False, 1)
    assert "Traceback" not in err
