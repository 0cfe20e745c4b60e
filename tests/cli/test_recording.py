"""`alita synthesize --record` and `--replay`: a synthesis with a model, kept as files and played again without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Alita
from tests.models.openai_server import Reply, Request, openai_server
from tests.synthesis.authors import kind_of

pytestmark = pytest.mark.slow

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


def answer(request: Request) -> Reply:
    return {"spec": SPEC, "tests": SUITE}.get(kind_of(request), CODE)


def test_a_recorded_synthesis_is_replayed_without_a_model_and_what_was_not_asked_is_missed(
    alita: Alita, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path / "exchanges")
    with openai_server(answer) as (url, asked), monkeypatch.context() as live:
        live.setenv("OPENAI_API_KEY", "x")
        live.setenv("ALITA_MODEL", "openai/x")
        live.setenv("ALITA_MODEL_BASE_URL", url)
        made = alita(*REQUEST, "--record", folder)
    assert made.status == 0, made.err
    assert len(list(Path(folder).iterdir())) == len(asked.requests)
    monkeypatch.setenv("ALITA_HOME", str(tmp_path / "second"))
    again = alita(*REQUEST, "--replay", folder)
    assert again.status == 0, again.err
    assert (made.json["status"], again.json["status"]) == ("created", "created")
    assert made.json["tool"] == again.json["tool"] == "double_it"
    other = ["synthesize", "--description", "Triple a whole number.", "--json"]
    missed = alita(*other, "--replay", folder)
    assert missed.status == 8
    assert "Triple a whole number." in missed.err
    assert "--record" in missed.err


def test_only_one_of_the_two_can_be_had(alita: Alita, tmp_path: Path) -> None:
    assert alita(*REQUEST, "--record", "a", "--replay", "b").status == 2
    missing = alita(*REQUEST, "--replay", str(tmp_path / "none"))
    assert missing.status == 2
    assert "no recorded exchanges" in missing.err
    assert alita(*REQUEST, "--record", str(tmp_path / "new")).json["status"] == "needs_code"
