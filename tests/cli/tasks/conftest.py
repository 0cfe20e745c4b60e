"""`alita` on an empty home, with a scripted flow of tasks where one is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from alita_mcp.cli.main import main
from tests.cli.conftest import Said
from tests.cli.tasks.scripted_flow import ScriptedFlow

Solve = Callable[..., Said]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALITA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def solve(capsys: pytest.CaptureFixture[str]) -> Solve:
    """Runs `alita solve` over a flow; without words, with a task."""

    def run(flow: ScriptedFlow, *words: str) -> Said:
        capsys.readouterr()
        status = main(["solve", *(words or ("x",))], open_flow=flow.opened)
        return Said(status, *capsys.readouterr())

    return run


@pytest.fixture
def runs(capsys: pytest.CaptureFixture[str]) -> Solve:
    """Runs `alita runs`."""

    def run(*words: str) -> Said:
        capsys.readouterr()
        return Said(main(["runs", *words]), *capsys.readouterr())

    return run
