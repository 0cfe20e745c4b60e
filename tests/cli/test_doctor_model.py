"""`alita doctor`: it tries the model, and looks first at the sandbox that tools run in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from alita_mcp.models.keys import store_key
from tests.cli.conftest import Alita
from tests.models.openai_server import Fails, openai_server

pytestmark = [pytest.mark.slow, pytest.mark.extra("models")]


@pytest.fixture(autouse=True)
def no_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_each_model_that_is_set_is_tried_once_with_its_own_key(
    alita: Alita, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with openai_server(
        lambda request: "OK" if request.model == "good" else Fails(404, message="no such model")
    ) as (
        url,
        asked,
    ):
        monkeypatch.setenv("ALITA_MODEL", "openai/good")
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        store_key(home, f"OPENAI_API_KEY at {url.removesuffix('/v1')}", "a-key-that-is-stored")
        said = alita("doctor")
        assert said.status == 0
        assert f"✓ model openai/good answers; key: {home}/keys.json" in said.out
        monkeypatch.setenv("ALITA_MODEL_JUDGE", "openai/bad")
        said = alita("doctor")
    assert said.status == 8
    assert f"✗ The model 'openai/bad' did not answer at {url}/chat/completions (status 404)" in said.out
    assert "→ Check the model's name in ALITA_MODEL_JUDGE" in said.out
    assert "✓ model openai/good answers" in said.out
    assert [request["model"] for request in asked.requests].count("good") == 2
    assert {headers["authorization"] for headers in asked.headers} == {"Bearer a-key-that-is-stored"}
    assert "a-key-that" not in said.out + said.err


def test_a_server_that_is_down_is_no_missing_key(alita: Alita, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALITA_MODEL", "ollama/qwen3")
    monkeypatch.setenv("ALITA_MODEL_BASE_URL", "http://127.0.0.1:9")
    said = alita("doctor", "--json")
    assert said.status == 8
    (found,) = said.json["models"]
    assert found["problem"].endswith("did not answer at http://127.0.0.1:9/api/chat: connection refused.")
    assert "ollama serve" in found["hint"]
    assert "key" not in found["problem"] + found["hint"]


def test_the_embedded_sandbox_is_not_compiled_where_tools_run_in_another(
    alita: Alita, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # in which nothing is compiled
    said = alita("doctor", "--json")
    assert said.status == 0
    kinds = [probe["kind"] for probe in said.json["probes"]]
    assert (kinds[1:], said.json["sandbox"]["chosen"]) == (["docker", "bubblewrap"], kinds[0])
    assert said.json["embedded"]["compiled"] is False
    assert said.err.splitlines()[1].startswith("doctor: trying the sandbox tests.in_process:")


def test_what_to_install_is_said_once(alita: Alita) -> None:
    out = alita("doctor").out
    (hint,) = re.findall(r"sandbox docker: .*\n.*\n    → (.*)", out)
    assert out.count(hint.rstrip(".")) == 1
