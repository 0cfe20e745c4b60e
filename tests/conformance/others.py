"""Fixtures that are no tools: resources, one template, prompts."""

from __future__ import annotations

import base64
import json
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from alita_mcp.server.context import Context
from tests.conformance.content_tools import PNG, embedded, image
from tests.conformance.source import form, text

TEMPLATE = "test://template/"
TEXTS = {
    "test://static-text": "This is the content of the static text resource.",
    "test://watched-resource": "Watched resource content",
    "test://example-resource": "An example",
}
BINARY = "test://static-binary"


def serve_resources(server: Server[Any]) -> None:
    """Puts fixtures beside the server's own resources: text, binary, watched, and one per id."""
    own_list, own_templates, own_read = (
        entry.handler
        for method in ("resources/list", "resources/templates/list", "resources/read")
        if (entry := server.get_request_handler(method)) is not None
    )

    async def list_resources(ctx: Context, params: types.PaginatedRequestParams) -> types.ListResourcesResult:
        own: Any = await own_list(ctx, params)
        listed = [*((uri, "text/plain") for uri in TEXTS), (BINARY, "image/png")]
        fixtures = [types.Resource(uri=uri, name=uri.split("//")[1], mime_type=kind) for uri, kind in listed]
        return types.ListResourcesResult(resources=[*own.resources, *fixtures])

    async def list_templates(
        ctx: Context, params: types.PaginatedRequestParams
    ) -> types.ListResourceTemplatesResult:
        own: Any = await own_templates(ctx, params)
        fixture = types.ResourceTemplate(
            uri_template=f"{TEMPLATE}{{id}}/data", name="template", mime_type="application/json"
        )
        return types.ListResourceTemplatesResult(resource_templates=[*own.resource_templates, fixture])

    async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        if uri in TEXTS:
            return _contents(types.TextResourceContents(uri=uri, mime_type="text/plain", text=TEXTS[uri]))
        if uri == BINARY:
            assert base64.b64decode(PNG)
            return _contents(types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG))
        if uri.startswith(TEMPLATE):
            number = uri.removeprefix(TEMPLATE).split("/")[0]
            data = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
            return _contents(types.TextResourceContents(uri=uri, mime_type="application/json", text=data))
        return await own_read(ctx, params)

    server.add_request_handler("resources/list", types.PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/templates/list", types.PaginatedRequestParams, list_templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read_resource)


def _contents(content: types.TextResourceContents | types.BlobResourceContents) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[content])


PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


async def list_prompts(
    _ctx: Context, _params: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description=f"The fixture {name}",
                arguments=[types.PromptArgument(name=argument, required=True) for argument in arguments],
            )
            for name, arguments in PROMPTS.items()
        ]
    )


async def get_prompt(
    _ctx: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    """One of the prompts; one asks for input first."""
    if params.name not in PROMPTS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    answers = params.input_responses or {}
    if params.name == "test_input_required_result_prompt" and "user_context" not in answers:
        question = form("What context should the prompt use?", {"context": {"type": "string"}}, ["context"])
        return types.InputRequiredResult(input_requests={"user_context": question})
    return types.GetPromptResult(
        messages=[types.PromptMessage(role="user", content=part) for part in _parts(params, answers)]
    )


async def complete(_ctx: Context, _params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[]))


def serve_prompts(server: Server[Any]) -> None:
    """Adds what this server has none of: prompts with every kind of content, and completions."""
    server.add_request_handler("prompts/list", types.PaginatedRequestParams, list_prompts)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, get_prompt)
    server.add_request_handler("completion/complete", types.CompleteRequestParams, complete)


def _parts(params: types.GetPromptRequestParams, answers: types.InputResponses) -> list[types.ContentBlock]:
    arguments = params.arguments or {}
    if params.name == "test_prompt_with_arguments":
        first, second = arguments.get("arg1"), arguments.get("arg2")
        return [text(f"Prompt with arguments: arg1='{first}', arg2='{second}'")]
    if params.name == "test_prompt_with_embedded_resource":
        return [
            embedded(arguments["resourceUri"], "text/plain", "Embedded resource content"),
            text("Please process."),
        ]
    if params.name == "test_prompt_with_image":
        return [image(), text("Please analyze the image above.")]
    if params.name == "test_input_required_result_prompt":
        answer = answers["user_context"]
        assert isinstance(answer, types.ElicitResult)
        return [text(f"Use: {(answer.content or {})['context']}")]
    return [text("This is a simple prompt for testing.")]
