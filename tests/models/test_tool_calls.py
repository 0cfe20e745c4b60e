"""Tools that a model is offered, and the calls that come back, through the real litellm."""

from __future__ import annotations

import json

import pytest

from alita_mcp.errors import ModelError
from alita_mcp.models.choices import Chosen
from alita_mcp.models.interface import Message, ToolSpec
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.litellm.provider import LitellmModel
from tests.models.openai_server import Calls, Fails, Reply, Request, Sends, openai_server

pytestmark = pytest.mark.extra("models")

TASK = [Message(role="system", content="You solve tasks."), Message(role="user", content="6 times 7?")]
TOOLS = [
    ToolSpec(name=name, description=f"To {name}.", parameters={"type": "object", "properties": {"x": {}}})
    for name in ("add", "search")
]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")


def model_at(url: str, name: str = "openai/scripted") -> LitellmModel:
    return LitellmModel(Chosen(name=name, base_url=url), Patience(first_pause_s=0.01, max_pause_s=0.05))


async def test_native_calls_come_side_by_side_and_their_results_go_back_as_tools_turns() -> None:
    with openai_server(Calls(("add", {"x": 1}), ("search", {"x": "é"}), text="both"), "42") as (url, asked):
        model = model_at(url)
        first = await model.complete(TASK, tools=TOOLS)
        results = [Message(role="tool", content=call.name, call_id=call.id) for call in first.calls]
        turn = Message(role="assistant", content=first.text, calls=first.calls)
        second = await model.complete([*TASK, turn, *results], tools=TOOLS)
    assert [(call.id, call.name, call.arguments) for call in first.calls] == [
        ("call-0", "add", {"x": 1}),
        ("call-1", "search", {"x": "é"}),
    ]
    assert (first.text, second.text, second.calls) == ("both", "42", ())
    assert [tool["function"] for tool in asked.requests[0]["tools"]] == [tool.model_dump() for tool in TOOLS]
    *_, called, one, two = asked.requests[1]["messages"]
    assert [call["id"] for call in called["tool_calls"]] == ["call-0", "call-1"]
    assert [one["tool_call_id"], two["tool_call_id"]] == ["call-0", "call-1"]


@pytest.mark.parametrize("said", ['{"x": 1', "[1]", "7", "rm -rf", '"text"', "null"])
async def test_arguments_that_are_no_object_are_said_to_be_unreadable(said: str) -> None:
    with openai_server(Calls(("add", said), ("add", {"x": 2}))) as (url, _asked):
        answer = await model_at(url).complete(TASK, tools=TOOLS)
    assert [call.unreadable for call in answer.calls] == [said, ""]
    assert answer.calls[0].arguments == {}


async def test_calls_without_ids_or_with_one_id_for_two_get_ids_of_their_own() -> None:
    calls = Calls(("add", {}), ("add", {}), ("add", {}), ("add", {}), ids=[None, "same", "same", ""])
    with openai_server(calls) as (url, _asked):
        answer = await model_at(url).complete(TASK, tools=TOOLS)
    assert len({call.id for call in answer.calls}) == 4
    assert all(call.id for call in answer.calls)


async def test_a_response_format_that_does_not_go_with_tools_is_left_out_before_the_tools_are() -> None:
    def picky(request: Request) -> Reply:
        both = request.schema and request.tools
        return (
            Fails(400, message="response_format json_schema cannot be used with tools")
            if both
            else Calls(("add", {}))
        )

    with openai_server(picky) as (url, asked):
        answer = await model_at(url).complete(TASK, tools=TOOLS, schema={"type": "object"})
    assert [call.name for call in answer.calls] == ["add"]
    assert ["tools" in body for body in asked.requests] == [True, True]


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (400, "registry.ollama.ai/library/x does not support tools"),
        (422, "Unrecognized request argument supplied: functions"),
        (404, "No endpoints found that support tool use."),
    ],
)
async def test_a_server_that_refuses_tools_is_quoted_and_never_asked_without_them(
    status: int, says: str
) -> None:
    with (
        openai_server(Fails(status, message=says), "made up") as (url, asked),
        pytest.raises(ModelError, match="ALITA_MODEL") as refused,
    ):
        await model_at(url).complete(TASK, tools=TOOLS)
    assert says.rstrip(".") in refused.value.message
    assert len(asked.requests) == 1


async def test_a_model_of_ollama_calls_tools() -> None:
    called = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "add", "arguments": {"x": 1}}}],
    }
    said = {"model": "qwen3", "created_at": "2026-11-26T00:00:00Z", "message": called, "done": True}
    with openai_server(Sends(json.dumps(said).encode())) as (url, asked):
        model = model_at(url.removesuffix("/v1"), "ollama/qwen3")
        answer = await model.complete(TASK, tools=TOOLS)
    assert [(call.name, call.arguments) for call in answer.calls] == [("add", {"x": 1})]
    # litellm may ask `/api/show` besides, in a thread of its own
    [request] = [body for path, body in zip(asked.paths, asked.requests, strict=False) if path == "/api/chat"]
    assert [tool["function"]["name"] for tool in request["tools"]] == ["add", "search"]
    assert model.name == "ollama/qwen3"


async def test_a_provider_without_tools_is_refused_before_it_is_asked() -> None:
    with pytest.raises(ModelError, match=r"cannot call tools\. Set ALITA_MODEL_CODER"):
        await LitellmModel(Chosen(name="predibase/some-model")).complete(TASK, tools=TOOLS)
