"""Fixtures that ask the client: pushed requests (2025) and results that ask for input (2026)."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types

from alita_mcp.server.context import ToolResult
from alita_mcp.server.sources import ToolCall
from tests.conformance.source import Fixtures, form, name_form, said, text

asking_tools = Fixtures()
Required = types.InputRequiredResult


def sampling(words: str, max_tokens: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=text(words))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


def confirmation() -> types.ElicitRequest:
    return form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])


def given(call: ToolCall) -> dict[str, Any]:
    """What the client answered so far."""
    return dict(call.params.input_responses or {})


async def asked(
    call: ToolCall, message: str, properties: dict[str, Any], required: tuple[str, ...] = ()
) -> str:
    """Pushes a form to the client; gives its answer in the words that the suites look for."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    answer = await call.ctx.session.elicit_form(message, schema, related_request_id=call.ctx.request_id)
    return f"action={answer.action}, content={json.dumps(answer.content or {})}"


@asking_tools.tool({"prompt": {"type": "string"}})
async def test_sampling(call: ToolCall) -> ToolResult:
    """Asks the client's model."""
    message = types.SamplingMessage(role="user", content=text(call.arguments.get("prompt", "")))
    answer = await call.ctx.session.create_message(
        [message], max_tokens=100, related_request_id=call.ctx.request_id
    )
    assert isinstance(answer.content, types.TextContent)
    return said(f"LLM response: {answer.content.text}")


@asking_tools.tool({"message": {"type": "string"}})
async def test_elicitation(call: ToolCall) -> ToolResult:
    """Asks the person."""
    answer = await asked(call, call.arguments["message"], {"response": {"type": "string"}}, ("response",))
    return said(f"User response: {answer}")


@asking_tools.tool()
async def test_elicitation_sep1034_defaults(call: ToolCall) -> ToolResult:
    """Asks with defaults of every kind."""
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return said(f"Elicitation result: {await asked(call, 'Please provide user information', properties)}")


@asking_tools.tool()
async def test_elicitation_sep1330_enums(call: ToolCall) -> ToolResult:
    """Asks for choices of every kind."""
    titled = [
        {"const": "low", "title": "Low Priority"},
        {"const": "medium", "title": "Medium Priority"},
        {"const": "high", "title": "High Priority"},
    ]
    many = [
        {"const": "feature", "title": "New Feature"},
        {"const": "bug", "title": "Bug Fix"},
        {"const": "docs", "title": "Documentation"},
    ]
    properties = {
        "untitledSingle": {"type": "string", "enum": ["active", "inactive", "pending"]},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["small", "medium", "large"],
            "enumNames": ["Small Size", "Medium Size", "Large Size"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["read", "write", "execute"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": many}},
    }
    return said(f"Elicitation completed: {await asked(call, 'Please select values', properties)}")


@asking_tools.tool(name="test_streaming_elicitation")
@asking_tools.tool()
async def test_input_required_result_elicitation(call: ToolCall) -> ToolResult:
    """Needs a name."""
    answer = given(call).get("user_name")
    if isinstance(answer, types.ElicitResult) and isinstance((answer.content or {}).get("name"), str):
        return said(f"Hello, {(answer.content or {})['name']}!")
    return Required(input_requests={"user_name": name_form()})


@asking_tools.tool()
async def test_input_required_result_sampling(call: ToolCall) -> ToolResult:
    """Needs the client's model."""
    answer = given(call).get("capital_question")
    if answer is None:
        return Required(input_requests={"capital_question": sampling("What is the capital of France?")})
    return said(f"Model said: {answer.content.text}")


@asking_tools.tool()
async def test_input_required_result_list_roots(call: ToolCall) -> ToolResult:
    """Needs the client's roots."""
    answer = given(call).get("client_roots")
    if answer is None:
        return Required(input_requests={"client_roots": types.ListRootsRequest()})
    return said(f"{len(answer.roots)} roots")


@asking_tools.tool()
async def test_input_required_result_request_state(call: ToolCall) -> ToolResult:
    """Needs a confirmation, and its own state back."""
    if "confirm" in given(call) and call.params.request_state == "nonce":
        return said("state-ok: confirmation received")
    return Required(input_requests={"confirm": confirmation()}, request_state="nonce")


@asking_tools.tool()
async def test_input_required_result_tampered_state(call: ToolCall) -> ToolResult:
    """Hands out a state that must come back as it was."""
    if call.params.request_state is None:
        return Required(input_requests={"confirm": confirmation()}, request_state="round-1")
    return said(f"state-ok: {call.params.request_state}")


@asking_tools.tool()
async def test_input_required_result_multiple_inputs(call: ToolCall) -> ToolResult:
    """Needs three things at once."""
    if {"user_name", "greeting", "client_roots"} <= given(call).keys():
        return said("All inputs received.")
    requests = {
        "user_name": name_form(),
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": types.ListRootsRequest(),
    }
    return Required(input_requests=requests, request_state="multiple")


@asking_tools.tool()
async def test_input_required_result_multi_round(call: ToolCall) -> ToolResult:
    """Needs two things, one after the other."""
    state = json.loads(call.params.request_state or '{"round": 0}')
    answers = given(call)
    if state["round"] == 1 and "step1" in answers:
        next_state = json.dumps({"round": 2, "name": answers["step1"].content["name"]})
        color = form("Step 2: What is your favorite color?", {"color": {"type": "string"}}, ["color"])
        return Required(input_requests={"step2": color}, request_state=next_state)
    if state["round"] == 2 and "step2" in answers:
        return said(f"{state['name']} likes {answers['step2'].content['color']}.")
    step1 = name_form("Step 1: What is your name?")
    return Required(input_requests={"step1": step1}, request_state=json.dumps({"round": 1}))


@asking_tools.tool()
async def test_input_required_result_capabilities(call: ToolCall) -> ToolResult:
    """Asks only for what the client declared."""
    declared = call.ctx.session.client_capabilities
    requests: dict[str, Any] = {}
    if declared is None or declared.sampling is not None:
        requests["sample"] = sampling("Say hello", 50)
    if declared is None or declared.elicitation is not None:
        requests["ask"] = name_form()
    return Required(input_requests=requests, request_state="capability-gated")
