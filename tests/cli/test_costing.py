"""`alita synthesize --mode` with a model, and what `alita list --usage` says of it afterwards."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Alita
from tests.models.openai_server import openai_server
from tests.toolsmith.authors import PLAIN, REQUEST, ROOT, Script

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    monkeypatch.setenv("ALITA_MODEL", "openai/scripted")


def test_a_tool_made_by_a_model_and_what_it_cost(alita: Alita, monkeypatch: pytest.MonkeyPatch) -> None:
    with openai_server(Script(candidates=[PLAIN])) as (url, _asked):
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        made = alita("synthesize", "--description", REQUEST, "--mode", "quick", "--json")
    assert made.status == 0, made.err
    assert (made.json["status"], made.json["trust"]) == ("created", "provisional")
    with openai_server(Script(candidates=[ROOT])) as (url, _asked):
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        wrong = alita(
            "synthesize", "--description", REQUEST, "--name", "digit_root", "--mode", "quick", "--json"
        )
    assert wrong.status != 0
    told = alita("list", "--usage", "--json").json
    tool = next(tool for tool in told["tools"] if tool["name"] == "digit_sum")
    assert (tool["model_calls"], tool["tokens"], tool["cost_usd"]) == (3, 36, None)
    assert told["without_a_tool"]["model_calls"] >= 1
    assert told["total"]["model_calls"] == 3 + told["without_a_tool"]["model_calls"]
    text = alita("list", "--usage").out
    assert "3 model calls" in text
    assert "price unknown" in text


def test_a_library_without_models_costs_nothing(alita: Alita) -> None:
    told = alita("list", "--usage", "--json").json
    assert told["total"] == {
        "syntheses": 0, "model_calls": 0, "tokens": 0, "cost_usd": 0.0, "model_seconds": 0.0,
    }  # fmt: skip
    assert "(total)" in alita("list", "--usage").out


def test_a_mode_that_does_not_exist_is_refused(alita: Alita) -> None:
    assert alita("synthesize", "--description", REQUEST, "--mode", "lavish").status == 2
