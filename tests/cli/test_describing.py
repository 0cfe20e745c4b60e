"""`alita synthesize --description`: a model of ours behind the real litellm writes the tool."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.conftest import PATIENCE_S
from tests.models.openai_server import Reply, Request, openai_server
from tests.toolsmith.authors import kind_of

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


def answer(request: Request) -> Reply:
    return {"spec": SPEC, "tests": SUITE}.get(kind_of(request), CODE)


@pytest.mark.process
def test_a_description_becomes_a_tool(environment: dict[str, str]) -> None:
    with openai_server(answer) as (url, _asked):
        done = subprocess.run(
            [sys.executable, "-m", "alita_mcp.cli.main", "synthesize", "--description", "Double a number.", "--json"],
            env={**environment, "ALITA_MODEL": "openai/x", "ALITA_MODEL_BASE_URL": url},
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert (made["status"], made["tool"]) == ("created", "double_it")
