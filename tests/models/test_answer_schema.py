"""What each kind of provider is held to: the real litellm writes the request, a server on loopback reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alita_mcp.errors import ModelError
from alita_mcp.models.choices import Chosen
from alita_mcp.models.interface import Message
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.litellm.provider import LitellmModel
from alita_mcp.models.structured.typed_answers import plain_schema
from alita_mcp.toolsmith.specification import Specification, Suite, WrittenCode
from tests.models.openai_server import openai_server

KEY = "sk-test-0123456789abcdef"
TYPED = 'def read_it(text: str, rows: list[list[int]], mode: Literal["a", "b"] = "a") -> int'
FREE = "def read_it(counts: dict[str, int]) -> int"
NULL = "def read_it(text: str) -> int | None"
ARGUMENTS = {
    "text": {"type": "string"},
    "rows": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    "mode": {"type": "string", "enum": ["a", "b"]},
}
KEYWORDS = {"type", "enum", "anyOf", "items", "properties", "required", "additionalProperties", "title"}


def suite_schema(signature: str) -> dict[str, Any]:
    specification = Specification(name="read_it", description="Reads.", signature=signature)
    return plain_schema(Suite.schema_for(specification.contract()))


def found(node: Any, key: str) -> list[Any]:
    """Every value under a key, wherever it stands, in JSON texts too."""
    if isinstance(node, str) and node.startswith("{"):
        node = json.loads(node)
    if isinstance(node, list):
        return [each for item in node for each in found(item, key)]
    if not isinstance(node, dict):
        return []
    own = [node[key]] if key in node else []
    return own + [each for value in node.values() for each in found(value, key)]


async def sent(name: str, schema: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The body that a provider of that name is sent first; what it would answer does not matter."""
    for provider in ("ANTHROPIC", "AZURE", "DEEPSEEK", "GEMINI", "GROQ", "MISTRAL", "OPENAI", "OPENROUTER"):
        monkeypatch.setenv(f"{provider}_API_KEY", KEY)
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    with openai_server(lambda _request: "x") as (url, asked):
        model = LitellmModel(Chosen.model_validate({"name": name, "base_url": url}), Patience(attempts=1))
        try:
            await model.complete([Message(role="user", content="hello")], schema=schema)
        except ModelError:
            assert asked.requests, "it failed before anything was sent"
    return dict(asked.requests[0])


PROVIDERS = [
    "openai/gpt-4o", "openai/scripted", "azure/gpt-4o", "anthropic/claude-sonnet-4-5",
    "anthropic/claude-3-5-sonnet-20241022", "gemini/gemini-2.5-flash", "ollama/llama3", "ollama_chat/llama3",
    "openrouter/anthropic/claude-sonnet-4.5", "openrouter/openai/gpt-4o", "mistral/mistral-large-latest",
    "groq/llama-3.3-70b-versatile", "deepseek/deepseek-chat",
]  # fmt: skip
CLOSING = [name for name in PROVIDERS if "claude" in name or "gemini" in name]


@pytest.mark.parametrize("name", PROVIDERS)
async def test_arguments_reach_every_provider_as_the_signature_has_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = await sent(name, suite_schema(TYPED), monkeypatch)
    (arguments,) = found(body, "arguments")
    assert arguments["properties"] == ARGUMENTS
    assert next(iter(found(body, "reasoning"))) == {"type": "string"}
    assert found(body, "expected") == [{"type": "integer"}]


@pytest.mark.parametrize("name", CLOSING)
@pytest.mark.parametrize("signature", [FREE, NULL])
async def test_who_would_empty_a_free_object_answers_plain_json(
    name: str, signature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = await sent(name, suite_schema(signature), monkeypatch)
    assert found(body, "tests") == []
    assert not {"response_format", "output_format", "tools"} & body.keys()


@pytest.mark.parametrize("name", ["openai/gpt-4o", "ollama/llama3", "mistral/mistral-large-latest"])
async def test_a_free_object_stays_free_elsewhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = await sent(name, suite_schema(FREE), monkeypatch)
    assert found(body, "counts") == [{"type": "object", "additionalProperties": {"type": "integer"}}]


@pytest.mark.parametrize("shape", [Specification, WrittenCode, Suite])
def test_a_sent_schema_has_few_keywords_and_no_references(shape: Any) -> None:
    schema = plain_schema(shape.model_json_schema())
    text = json.dumps(schema)
    assert "$" not in text
    assert len(text) < 1_500

    def check(node: dict[str, Any]) -> None:
        assert node.keys() <= KEYWORDS
        for each in [*node.get("properties", {}).values(), *node.get("anyOf", ())]:
            check(each)
        if "items" in node:
            check(node["items"])

    check(schema)


@pytest.mark.parametrize("shape", [Suite, WrittenCode])
def test_reasoning_is_asked_for_before_the_answer_and_left_unread(shape: Any) -> None:
    schema = plain_schema(shape.model_json_schema())
    assert next(iter(schema["properties"])) == schema["required"][0] == "reasoning"
    answer = {"code": "x = 1", "tests": [{"arguments": {}, "expected": 1}], "reasoning": ["no", "text"]}
    assert "reasoning" not in shape.model_validate(answer).model_dump()
