"""The real litellm against a server of ours: answers, failures that pass, failures that stay, silence and worse."""

from __future__ import annotations

import gzip
import json
import random

import anyio
import pytest

from alita_mcp.errors import ModelError
from alita_mcp.models.choices import Chosen
from alita_mcp.models.interface import Message
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.litellm.provider import LitellmModel
from tests.models.openai_server import (
    NO_CHOICES,
    Drips,
    Fails,
    Redirects,
    Reply,
    Request,
    Resets,
    Says,
    Sends,
    openai_server,
)

pytestmark = pytest.mark.extra("models")

HELLO = [Message(role="user", content="hello")]
SCHEMA = {"title": "Answer", "type": "object", "properties": {"n": {"type": "integer"}}}
KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def model_at(url: str, **options: object) -> LitellmModel:
    chosen = Chosen.model_validate({"name": "openai/scripted", "base_url": url, **options})
    return LitellmModel(chosen, Patience(first_pause_s=0.01, max_pause_s=0.05))


async def test_an_answer_comes_back_with_its_tokens() -> None:
    with openai_server("hi there") as (url, asked):
        completion = await model_at(url).complete(HELLO)
    assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == ("hi there", 7, 5)
    assert asked.requests[0]["messages"] == [{"role": "user", "content": "hello"}]
    assert asked.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_what_is_not_on_the_price_list_has_no_price_and_what_is_has_one() -> None:
    with openai_server("a", Says("b", prompt_tokens=1000, completion_tokens=100, model="gpt-4o")) as (
        url,
        _asked,
    ):
        unknown = await model_at(url).complete(HELLO)
        known = await model_at(url, name="openai/gpt-4o").complete(HELLO)
    assert unknown.cost_usd is None
    assert known.cost_usd is not None
    assert 0 < known.cost_usd < 1


async def test_a_server_that_counts_nothing_is_counted_for() -> None:
    with openai_server(Says("x" * 400, prompt_tokens=0, completion_tokens=0)) as (url, _asked):
        completion = await model_at(url).complete(HELLO)
    assert completion.completion_tokens == 100
    assert completion.prompt_tokens == 2


async def test_what_the_person_set_goes_before_what_the_caller_asks() -> None:
    with openai_server("a", "b") as (url, asked):
        await model_at(url, temperature=0.1, max_tokens=50).complete(
            HELLO, temperature=0.9, max_tokens=9, seed=3
        )
        await model_at(url).complete(HELLO, temperature=0.9, max_tokens=9)
    first, second = asked.requests
    assert (first["temperature"], first["max_tokens"], first["seed"]) == (0.1, 50, 3)
    assert (second["temperature"], second["max_tokens"], "seed" in second) == (0.9, 9, False)


@pytest.mark.parametrize("failure", [429, 408, 500, 503, 529, Resets(), Sends(b"<html>"), Sends(NO_CHOICES)])
async def test_a_failure_that_passes_is_tried_again(failure: Reply) -> None:
    with openai_server(failure, "second try") as (url, asked):
        completion = await model_at(url).complete(HELLO)
    assert completion.text == "second try"
    assert len(asked.requests) == 2


async def test_a_failure_that_stays_is_named_with_what_to_check() -> None:
    with openai_server(500, 500, 500, 500, "too late") as (url, asked), pytest.raises(ModelError) as raised:
        await model_at(url).complete(HELLO)
    assert len(asked.requests) == 4
    assert "(status 500)" in raised.value.message
    assert "ALITA_MODEL" in raised.value.hint


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "OPENAI_API_KEY"),
        (403, "OPENAI_API_KEY"),
        (404, "model's name in ALITA_MODEL"),
        (400, "refuses"),
    ],
)
async def test_a_refusal_is_not_tried_again_and_says_what_to_set(status: int, said: str) -> None:
    with openai_server(status, "never") as (url, asked), pytest.raises(ModelError) as raised:
        await model_at(url).complete(HELLO)
    assert len(asked.requests) == 1
    assert said in raised.value.hint


async def test_no_key_and_no_provider_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelError, match="Set OPENAI_API_KEY"):
        await LitellmModel(Chosen(name="openai/gpt-4o")).complete(HELLO)
    with pytest.raises(ModelError, match="ALITA_MODEL as provider/model"):
        await LitellmModel(Chosen(name="no-such-thing")).complete(HELLO)


async def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelError, match=r"onnect.*ALITA_MODEL_BASE_URL"):
        await model_at("http://127.0.0.1:9/v1").complete(HELLO)


async def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with openai_server("hi") as (url, _asked):
        assert (await model_at(url).complete(HELLO)).text == "hi"


async def test_a_role_may_have_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_OWN", "sk-another-one-123")
    with openai_server("hi") as (url, asked):
        await model_at(url, key_from="MY_OWN").complete(HELLO)
    assert asked.headers[0]["authorization"] == "Bearer sk-another-one-123"


async def test_a_key_that_the_server_says_back_is_in_no_message() -> None:
    echo = Fails(401, message=f"Incorrect API key provided: {KEY}. Also sk-proj-4711aaaabbbbcccc")
    with openai_server(echo) as (url, _asked), pytest.raises(ModelError) as raised:
        await model_at(url).complete(HELLO)
    assert KEY not in str(raised.value)
    assert "4711" not in str(raised.value)
    assert "[key]" in raised.value.message
    assert raised.value.__suppress_context__


async def test_the_pause_is_what_the_server_asks_for_up_to_a_limit() -> None:
    with anyio.fail_after(60), openai_server(Fails(429, "3600"), "second") as (url, asked):
        completion = await model_at(url).complete(HELLO)
    assert completion.text == "second"
    assert len(asked.requests) == 2


@pytest.mark.slow
@pytest.mark.parametrize("reply", [None, Drips("a long answer")])
async def test_silence_and_drops_end_at_the_time_limit(reply: Reply) -> None:
    with (
        anyio.fail_after(60),
        openai_server(lambda _request: reply) as (url, asked),
        pytest.raises(ModelError, match=r"no whole answer within 0.3 s.*timeout_s="),
    ):
        await model_at(url, timeout_s=0.3).complete(HELLO)
    assert len(asked.requests) == 4


async def test_a_redirect_is_not_followed() -> None:
    with (
        openai_server("never") as (elsewhere, heard),
        openai_server(Redirects(elsewhere)) as (url, _asked),
        pytest.raises(ModelError, match="redirects elsewhere"),
    ):
        await model_at(url).complete(HELLO)
    assert heard.requests == []


HUGE = b'{"choices": [{"message": {"content": "' + b"x" * (20 << 20)
DENSE = gzip.compress(random.Random(1).randbytes(1 << 20))


@pytest.mark.slow
@pytest.mark.parametrize(
    "reply",
    [
        Sends(HUGE),
        Sends(DENSE, headers={"content-encoding": "gzip"}),
        Sends(DENSE, headers={"content-encoding": "br"}),
    ],
    ids=["plain", "gzip", "brotli"],
)
async def test_a_gigantic_reply_is_cut_off(reply: Sends) -> None:
    with (
        anyio.fail_after(120),
        openai_server(lambda _request: reply) as (url, _asked),
        pytest.raises(ModelError, match=r"the reply is (larger than|compressed)"),
    ):
        await model_at(url).complete(HELLO)


def completion_with(**fields: object) -> Sends:
    said = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [], **fields}
    return Sends(json.dumps(said).encode())


@pytest.mark.slow
@pytest.mark.parametrize(
    "reply",
    [
        completion_with(choices=[{}]),
        completion_with(choices=[None]),
        completion_with(choices="text"),
        completion_with(choices=[{"message": None}]),
        completion_with(choices=[{"message": "text"}]),
        completion_with(choices=[{"message": {"role": "assistant", "content": ["a", 1]}}]),
        completion_with(choices=[{"message": {"content": "x"}}], usage="none"),
        completion_with(
            choices=[{"message": {"content": "x"}}], usage={"prompt_tokens": -1, "total_tokens": "x"}
        ),
        completion_with(choices=[{"message": {"content": "x"}, "finish_reason": 7}], model=7),
        completion_with(choices=[{"message": {"content": "x", "tool_calls": "y"}}]),
        completion_with(error={"message": "in the body"}),
        Sends(b"[" * 200_000),
        Sends(b'{"id": ' + b"9" * 10_000 + b"}"),
        Sends(b"\xff\xfe\x00"),
        Sends(b""),
        Sends(b"", status=204),
        Sends(b"data: {}\n\n", headers={"content-type": "text/event-stream"}),
    ],
)
async def test_whatever_a_server_replies_is_an_answer_or_a_model_error(reply: Sends) -> None:
    said: ModelError | None = None
    with anyio.fail_after(60), openai_server(lambda _request: reply) as (url, _asked):
        try:
            completion = await model_at(url).complete(HELLO, schema=SCHEMA)
            assert completion.text in ("", "x")
            assert completion.prompt_tokens >= 0
        except ModelError as failure:
            said = failure
    assert said is None or (len(str(said)) < 1_000 and "Traceback" not in str(said))


async def test_an_answer_that_ends_for_lack_of_room_says_so() -> None:
    with openai_server(Says("half an ans", finish_reason="length"), Says("", finish_reason="stop")) as (
        url,
        _asked,
    ):
        assert (await model_at(url).complete(HELLO)).truncated
        empty = await model_at(url).complete(HELLO)
    assert (empty.text, empty.truncated) == ("", False)


async def test_a_server_without_schemas_is_asked_without_one_from_then_on() -> None:
    def old_server(request: Request) -> Reply:
        return Fails(400, message="unknown field") if request.schema else "plain"

    with openai_server(old_server) as (url, asked):
        model = model_at(url)
        first = await model.complete(HELLO, schema=SCHEMA, temperature=0.5)
        second = await model.complete(HELLO, schema=SCHEMA)
    assert (first.text, second.text) == ("plain", "plain")
    assert ["response_format" in body for body in asked.requests] == [True, False, False]
    assert asked.requests[1]["temperature"] == 0.5


async def test_a_server_that_names_an_option_it_does_not_take_is_spared_that_one() -> None:
    def picky(request: Request) -> Reply:
        unknown = "temperature" in request.body
        return Fails(400, message="Unsupported value: 'temperature'") if unknown else {"n": 1}

    with openai_server(picky) as (url, asked):
        await model_at(url).complete(HELLO, schema=SCHEMA, temperature=0.5, seed=1)
    assert len(asked.requests) == 2
    assert asked.requests[1].keys() >= {"response_format", "seed"}
