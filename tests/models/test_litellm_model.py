"""The real litellm against a server of ours: answers, failures that pass, failures that stay, silence."""

from __future__ import annotations

import anyio
import pytest

from alita_mcp.errors import ModelError
from alita_mcp.models.litellm import LitellmModel
from alita_mcp.models.seam import Message
from alita_mcp.settings import Settings
from tests.models.openai_server import openai_server

HELLO = [Message(role="user", content="hello")]
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.anyio]


def model_at(url: str, monkeypatch: pytest.MonkeyPatch, **options: float) -> LitellmModel:
    monkeypatch.setenv("OPENAI_API_KEY", "nobody-checks-this")
    return LitellmModel("openai/scripted", Settings(model_base_url=url), first_pause_s=0.01, **options)


async def test_an_answer_comes_back_with_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    with openai_server("hi there") as (url, asked):
        completion = await model_at(url, monkeypatch).complete(HELLO)
    assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == ("hi there", 7, 5)
    assert asked.requests[0]["messages"] == [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_failure_that_passes_is_tried_again(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with openai_server(status, "second try") as (url, asked):
        completion = await model_at(url, monkeypatch).complete(HELLO)
    assert completion.text == "second try"
    assert len(asked.requests) == 2


async def test_a_failure_that_stays_is_named_with_what_to_check(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        openai_server(500, 500, 500, "too late") as (url, asked),
        pytest.raises(ModelError, match="ALITA_MODEL"),
    ):
        await model_at(url, monkeypatch).complete(HELLO)
    assert len(asked.requests) == 3


async def test_a_refusal_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with openai_server(401, "never") as (url, asked), pytest.raises(ModelError):
        await model_at(url, monkeypatch).complete(HELLO)
    assert len(asked.requests) == 1


async def test_an_answer_that_is_no_completion_is_a_model_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with openai_server(b"<html>", b"{}", b"[]") as (url, _asked), pytest.raises(ModelError):
        await model_at(url, monkeypatch).complete(HELLO)


async def test_silence_ends_at_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with anyio.fail_after(60), openai_server(None, None, None) as (url, _asked), pytest.raises(ModelError):
        await model_at(url, monkeypatch, timeout_s=0.3).complete(HELLO)


async def test_nothing_is_printed_to_stdout(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with openai_server(401) as (url, _asked), pytest.raises(ModelError):
        await model_at(url, monkeypatch).complete(HELLO)
    assert capfd.readouterr().out == ""
