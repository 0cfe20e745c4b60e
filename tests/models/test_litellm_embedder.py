"""The real litellm against a server of ours: vectors, and everything else that an embedding server may answer."""

from __future__ import annotations

import logging
import threading

import anyio
import pytest

from alita_mcp.errors import ModelError
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.litellm.embedder import MAX_CHARACTERS, REQUESTS_AT_ONCE, LitellmEmbedder
from tests.models.openai_server import (
    Drips,
    Embeds,
    Fails,
    Redirects,
    Reply,
    Request,
    Resets,
    Sends,
    openai_server,
)

pytestmark = pytest.mark.extra("models")

KEY = "sk-test-0123456789abcdef"
SECRET = "the customers of Acme are Ann and Bob"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def embedder_at(url: str, name: str = "openai/scripted", timeout_s: float = 30.0) -> LitellmEmbedder:
    return LitellmEmbedder(name, url, timeout_s, Patience(first_pause_s=0.01, max_pause_s=0.05))


def lengths(request: Request) -> Embeds:
    return Embeds([[float(len(text)), 1.0] for text in request.texts])


async def test_each_text_gets_its_vector() -> None:
    with openai_server(lengths) as (url, asked):
        found = await embedder_at(url).embed(["a", "bbb", "cc"])
    assert found == [[1, 1], [3, 1], [2, 1]]
    assert asked.requests == [{"model": "scripted", "input": ["a", "bbb", "cc"]}]
    assert asked.paths == ["/v1/embeddings"]
    assert asked.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_rows_in_another_order_are_put_in_theirs() -> None:
    with openai_server(Embeds([[3.0], [1.0], [2.0]], order=[2, 0, 1])) as (url, _asked):
        assert await embedder_at(url).embed(["a", "b", "c"]) == [[1], [2], [3]]


async def test_no_texts_ask_nothing() -> None:
    with openai_server() as (url, asked):
        assert await embedder_at(url).embed([]) == []
    assert asked.requests == []


async def test_many_texts_go_in_bounded_requests_a_few_at_once() -> None:
    state = {"now": 0, "most": 0}
    lock = threading.Lock()
    together = threading.Event()

    def counted(request: Request) -> Reply:
        with lock:
            state["now"] += 1
            state["most"] = max(state["most"], state["now"])
            if state["now"] == REQUESTS_AT_ONCE:
                together.set()
        together.wait(10)
        with lock:
            state["now"] -= 1
        return lengths(request)

    texts = ["x" * (at % 50 + 1) for at in range(500)] + ["y" * 90_000] * 20
    with anyio.fail_after(60), openai_server(counted) as (url, asked):
        found = await embedder_at(url).embed(texts)
    assert [vector[0] for vector in found] == [min(len(text), MAX_CHARACTERS) for text in texts]
    assert state["most"] == REQUESTS_AT_ONCE
    assert len(asked.requests) > 8
    assert all(len(body["input"]) <= 64 for body in asked.requests)
    assert all(sum(map(len, body["input"])) <= 100_000 for body in asked.requests)


async def test_a_text_without_words_is_sent_as_something_that_providers_take() -> None:
    with openai_server(lengths) as (url, asked):
        await embedder_at(url).embed(["", "  "])
    assert asked.requests[0]["input"] == ["-", "-"]


async def test_ollama_is_asked_its_own_way() -> None:
    with openai_server(lengths) as (url, asked):
        found = await embedder_at(url.removesuffix("/v1"), "ollama/nomic-embed-text").embed(["a", "bb"])
    assert found == [[1, 1], [2, 1]]
    assert asked.paths == ["/api/embed"]
    assert asked.requests == [{"model": "nomic-embed-text", "input": ["a", "bb"]}]
    assert KEY not in str(asked.headers)


async def test_voyage_is_asked_its_own_way_with_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOYAGE_API_KEY", "pa-0123456789")
    with openai_server(Embeds([[2.0], [1.0]], order=[1, 0])) as (url, asked):
        assert await embedder_at(url, "voyage/voyage-3.5").embed(["a", "b"]) == [[1], [2]]
    assert asked.paths == ["/v1/embeddings"]
    assert asked.requests == [{"model": "voyage-3.5", "input": ["a", "b"]}]
    assert asked.headers[0]["authorization"] == "Bearer pa-0123456789"


async def test_a_missing_key_and_an_unknown_provider_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "VOYAGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelError, match="Set OPENAI_API_KEY"):
        await LitellmEmbedder("openai/text-embedding-3-small").embed(["a"])
    with pytest.raises(ModelError, match="ALITA_EMBEDDER as provider/model"):
        await LitellmEmbedder("no-such-thing").embed(["a"])


def test_the_same_name_at_another_address_is_another_model_and_no_address_is_shown() -> None:
    names = {LitellmEmbedder("openai/x", url).name for url in (None, "http://ann:secret@a/v1", "http://b/v1")}
    assert len(names) == 3
    assert "secret" not in str(names)


OPENAI, OLLAMA = "openai/scripted", "ollama/scripted"


@pytest.mark.slow
@pytest.mark.parametrize("name", [OPENAI, OLLAMA])
@pytest.mark.parametrize(
    "reply",
    [
        Embeds([[1.0]]),
        Embeds([[1.0], [2.0], [3.0]]),
        Embeds([[1.0], [1.0, 2.0]]),
        Embeds([[float("nan")], [1.0]]),
        Embeds([[float("inf")], [1.0]]),
        Embeds([["1"], ["2"]]),
        Embeds([[10**400], [1]]),
        Embeds([[1e300], [1.0]]),
        Embeds([None, [1.0]]),
        Embeds([[None], [1.0]]),
        Embeds([[], []]),
        Embeds(["AAAAAA==", "AAAAAA=="]),
        Embeds([[[1.0]], [[2.0]]]),
        Embeds([{"a": 1}, {"a": 2}]),
        Embeds([7, 8]),
        Embeds([[0.5] * 20_000] * 2),
        Sends(b"{}"),
        Sends(b"[]"),
        Sends(b"null"),
        Sends(b'{"data": null, "embeddings": null}'),
        Sends(b'{"data": "abc", "embeddings": "abc"}'),
        Sends(b'{"data": [null, 1], "embeddings": [null, 1]}'),
        Sends(b'{"data": [{}, {}], "embeddings": [{}, {}]}'),
        Sends(b'{"error": {"message": "in the body"}}'),
        Sends(b"[" * 100_000),
        Sends(b"\xff\xfe\x00"),
        Sends(b""),
        Sends(b"", status=204),
        Sends(b"<html>busy</html>"),
        400,
        500,
        Redirects("/v2"),
        Sends(b"", 302, {"location": "/v2/embeddings"}),
        Resets(),
        Sends(b'{"data": [{"embedding": [' + b"1.0," * (5 << 20)),
    ],
)
async def test_whatever_a_server_answers_is_vectors_or_a_clear_error(name: str, reply: Reply) -> None:
    with (
        anyio.fail_after(120),
        openai_server(lambda _request: reply) as (url, asked),
        pytest.raises(ModelError) as raised,
    ):
        await embedder_at(url, name).embed([SECRET, "b"])
    said = str(raised.value)
    assert "scripted" in said
    assert len(said) < 1_000
    assert KEY not in said
    assert SECRET not in said
    assert "Traceback" not in said
    assert "/v2" not in "".join(asked.paths)
    assert len(asked.requests) <= 4


@pytest.mark.parametrize("order", [[0, 0], [1, 2], [-1, 0], ["0", "1"], [None, 0], [0.0, 1.0], [True, False]])
async def test_rows_whose_places_make_no_sense_are_refused(order: list[object]) -> None:
    with (
        openai_server(lambda _request: Embeds([[1.0], [2.0]], order=order)) as (url, _asked),
        pytest.raises(ModelError),
    ):
        await embedder_at(url, "voyage/v").embed(["a", "b"])


async def test_rows_without_places_are_taken_as_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOYAGE_API_KEY", "pa-0123456789")
    with openai_server(Embeds([[1.0], [2.0]], order=[None, None])) as (url, _asked):
        assert await embedder_at(url, "voyage/v").embed(["a", "b"]) == [[1], [2]]


@pytest.mark.parametrize(
    ("status", "said", "requests"),
    [
        (401, "Set OPENAI_API_KEY", 1),
        (404, "model's name in ALITA_EMBEDDER and its base URL (base_url= in ALITA_EMBEDDER)", 1),
        (400, "Check ALITA_EMBEDDER", 1),
        (302, "redirects elsewhere", 1),
        (429, "limit is reached", 4),
        (500, "base_url= in ALITA_EMBEDDER", 4),
    ],
)
async def test_a_failure_that_stays_says_what_to_check(status: int, said: str, requests: int) -> None:
    reply = Sends(b"", 302, {"location": "/v2"}) if status == 302 else status
    with openai_server(lambda _request: reply) as (url, asked), pytest.raises(ModelError) as raised:
        await embedder_at(url).embed(["a"])
    assert f"(status {status})" in raised.value.message
    assert said in raised.value.hint
    assert len(asked.requests) == requests


async def test_a_length_that_changes_between_requests_is_refused() -> None:
    def growing(request: Request) -> Embeds:
        return Embeds([[1.0] * (2 + ("last" in request.texts))] * len(request.texts))

    with (
        openai_server(growing) as (url, _asked),
        pytest.raises(ModelError, match="length 3 after one of length 2"),
    ):
        await embedder_at(url).embed(["first"] * 64 + ["last"])


async def test_one_batch_that_fails_ends_the_others() -> None:
    def picky(request: Request) -> Reply:
        return 400 if "bad" in request.texts else None

    with anyio.fail_after(60), openai_server(picky) as (url, _asked), pytest.raises(ModelError, match="400"):
        await embedder_at(url).embed(["good"] * 64 + ["bad"])


@pytest.mark.slow
@pytest.mark.parametrize("name", [OPENAI, OLLAMA])
@pytest.mark.parametrize("reply", [None, Drips("[]")])
async def test_silence_and_drops_end_at_the_time_limit(name: str, reply: Reply) -> None:
    with (
        anyio.fail_after(60),
        openai_server(lambda _request: reply) as (url, _asked),
        pytest.raises(ModelError, match=r"no whole answer within 0.3 s.*Check its base URL"),
    ):
        await embedder_at(url, name, timeout_s=0.3).embed(["a"])


@pytest.mark.parametrize("name", [OPENAI, OLLAMA, "voyage/v", "lm_studio/x"])
async def test_a_server_that_is_not_there_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOYAGE_API_KEY", "pa-0123456789")
    with anyio.fail_after(60), pytest.raises(ModelError, match=r"onnect.*base_url= in ALITA_EMBEDDER"):
        await embedder_at("http://127.0.0.1:9/v1", name).embed(["a"])


@pytest.mark.parametrize("name", [OPENAI, OLLAMA, "voyage/v", "lm_studio/x", "hosted_vllm/x"])
async def test_no_provider_is_followed_to_another_server(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOYAGE_API_KEY", "pa-0123456789")
    with (
        openai_server(lengths) as (elsewhere, heard),
        openai_server(Redirects(elsewhere)) as (url, _asked),
        pytest.raises(ModelError, match="redirects elsewhere"),
    ):
        await embedder_at(url, name).embed(["a"])
    assert heard.requests == []


async def test_a_text_that_the_server_says_back_is_in_no_message() -> None:
    echo = Fails(400, message=f"this is too long: {SECRET[:25]}…")
    with openai_server(echo) as (url, _asked), pytest.raises(ModelError) as raised:
        await embedder_at(url).embed(["a", SECRET])
    assert "Acme" not in str(raised.value)


async def test_tokens_are_counted_at_debug_level_and_texts_are_not_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with openai_server(Embeds([[1.0]], tokens=17), Embeds([[1.0]], tokens=None)) as (url, _asked):
        await embedder_at(url).embed([SECRET])
        await embedder_at(url).embed([SECRET])
    assert [record.levelname for record in caplog.records if "usage 17" in record.getMessage()] == ["DEBUG"]
    assert "Acme" not in caplog.text
    assert KEY not in caplog.text
