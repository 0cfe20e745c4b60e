"""`alita synthesize --record` and `--replay`: a synthesis with a model, kept as files and played again without one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import PATIENCE_S
from tests.models.openai_server import Reply, Request, openai_server
from tests.synthesis.authors import kind_of

REQUEST = ["synthesize", "--description", "Double a whole number.", "--json"]
SPEC = {
    "name": "double_it",
    "description": "Doubles a whole number.",
    "signature": "def double_it(x: int) -> int",
    "use_when": ["twice 4"],
}
SUITE = {"tests": [{"arguments": {"x": x}, "expected": 2 * x} for x in (2, 0, -7)]}
CODE = {
    "code": 'def double_it(x: int) -> int:\n    """Double x.\n\n    Args:\n        x: Any whole number.\n    """\n'
    "    return 2 * x\n"
}


pytestmark = pytest.mark.process


def answer(request: Request) -> Reply:
    return {"spec": SPEC, "tests": SUITE}.get(kind_of(request), CODE)


def alita(environment: dict[str, str], *words: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "alita_mcp.cli.main", *words],
        env={**environment, "ALITA_HOME": str(home)},
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


def test_a_recorded_synthesis_is_replayed_without_a_model_and_what_was_not_asked_is_missed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    folder = str(tmp_path / "exchanges")
    with openai_server(answer) as (url, asked):
        live = {**environment, "ALITA_MODEL": "openai/x", "ALITA_MODEL_BASE_URL": url}
        made = alita(live, *REQUEST, "--record", folder, home=tmp_path / "first")
    assert made.returncode == 0, made.stderr
    assert len(list(Path(folder).iterdir())) == len(asked.requests)
    again = alita(environment, *REQUEST, "--replay", folder, home=tmp_path / "second")
    assert again.returncode == 0, again.stderr
    first, second = json.loads(made.stdout), json.loads(again.stdout)
    assert (first["status"], second["status"]) == ("created", "created")
    assert first["tool"] == second["tool"] == "double_it"
    other = ["synthesize", "--description", "Triple a whole number.", "--json"]
    missed = alita(environment, *other, "--replay", folder, home=tmp_path / "third")
    assert missed.returncode == 8
    assert "Triple a whole number." in missed.stderr
    assert "--record" in missed.stderr


def test_only_one_of_the_two_can_be_had(environment: dict[str, str], tmp_path: Path) -> None:
    both = alita(environment, *REQUEST, "--record", "a", "--replay", "b", home=tmp_path / "home")
    assert both.returncode == 2
    missing = alita(environment, *REQUEST, "--replay", str(tmp_path / "none"), home=tmp_path / "home")
    assert missing.returncode == 2
    assert "no recorded exchanges" in missing.stderr
    without = alita(environment, *REQUEST, "--record", str(tmp_path / "new"), home=tmp_path / "home")
    assert json.loads(without.stdout)["status"] == "needs_code"
