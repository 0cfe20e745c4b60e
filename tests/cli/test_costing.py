"""`alita synthesize --mode` with a model."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Alita
from tests.models.openai_server import openai_server
from tests.toolsmith.authors import PLAIN, REQUEST, Script

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


def test_a_mode_that_does_not_exist_is_refused(alita: Alita) -> None:
    assert alita("synthesize", "--description", REQUEST, "--mode", "lavish").status == 2
