"""The real command line: in this process where its output is enough, as a process where signals and pipes matter."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.cli.main import main
from tests.in_process import IN_PROCESS

PATIENCE_S = 300
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Alita = Callable[..., Said]


@pytest.fixture
def home(tmp_path: Path, stocked: Path) -> Path:
    return shutil.copytree(stocked, tmp_path / "home")


@pytest.fixture
def alita(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Alita:
    """Runs a command on this test's own library; tools run in this process too."""
    monkeypatch.setenv("ALITA_HOME", str(home))
    monkeypatch.setenv("ALITA_SANDBOX", IN_PROCESS)

    def run(*words: str) -> Said:
        capsys.readouterr()
        status = main(words)
        captured = capsys.readouterr()
        return Said(status, captured.out, captured.err)

    return run


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """The environment of a process of its own."""
    return {**os.environ, "ALITA_HOME": str(home), "ALITA_SANDBOX": IN_PROCESS, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def process(environment: dict[str, str]) -> Alita:
    """Runs a command as a process."""

    def run(*words: str, text: str = "", env: Mapping[str, str] | None = None) -> Said:
        done = subprocess.run(
            [sys.executable, "-m", "alita_mcp.cli.main", *words],
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**environment, **(env or {})},
            timeout=PATIENCE_S,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    return run
