"""Questions to a client's model as its protocol has them, and its answers, a stranger's, as completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from alita_mcp.errors import ModelError
from alita_mcp.models.interface import Completion
from alita_mcp.models.lending import HINT, NAME, Answer, Carrier, Desk, Question, Refused
from alita_mcp.models.litellm.provider import CHARACTERS_PER_TOKEN, MAX_TEXT_CHARACTERS
from alita_mcp.models.recording.redaction import presentable
from alita_mcp.server.client.client_identity import name_of_connection

if TYPE_CHECKING:
    from alita_mcp.server.context import Context
    from alita_mcp.server.sources import ToolCall

MAX_TOKENS = 8_192
"""Room for one answer; the protocol wants a number, and a whole module fits."""
_INTRODUCTION = (
    "alita, an MCP server, is making a tool that was asked for in this conversation and has no model of its own. "
    "It asks yours."
)
_PURPOSES = {
    "planner": "to specify the tool",
    "tester": "to write tests for the tool",
    "coder": "to write the code of the tool",
    "judge": "to decide between outcomes of the tool",
}


def can_be_asked(ctx: Context) -> bool:
    """Whether the client says that its model can be asked."""
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and capabilities.sampling is not None


def is_modern(ctx: Context) -> bool:
    """Whether the client takes no requests of ours, only results that ask for input."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def desk_for(call: ToolCall) -> Desk | None:
    """A desk for a synthesis that this call starts; None where the client's model cannot be asked, or must not."""
    settings = call.app.settings
    if not settings.client_model or not can_be_asked(call.ctx):
        return None
    return Desk(settings.client_model_wait_s, "" if is_modern(call.ctx) else name_of_connection(call.ctx))


def request_for(question: Question) -> types.CreateMessageRequest:
    """A question as the person at the client sees it: who asks, what for, and every word of it."""
    told = [message.content for message in question.messages if message.role == "system"]
    purpose = _PURPOSES.get(question.role or "", "for help with the tool")
    number = question.key.rpartition("-")[2]
    head = f"[alita, question {number} of this synthesis, {purpose}. The answer is proved in a sandbox.]\n\n"
    said: list[types.SamplingMessage] = []
    for message in question.messages:
        if message.role != "system":
            content = types.TextContent(text=message.content if said else head + message.content)
            said.append(types.SamplingMessage(role=message.role, content=content))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=said,
            system_prompt="\n".join([_INTRODUCTION, *told]),
            max_tokens=question.max_tokens or MAX_TOKENS,
            temperature=question.temperature,
        )
    )


def carrier_of(ctx: Context) -> Carrier:
    """Brings questions to a client of the 2025 protocols, on the stream of the request that it waits for."""

    async def carry(question: Question) -> Answer:
        try:
            result = await ctx.session.send_request(
                request_for(question),
                types.CreateMessageResultWithTools,
                metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
            )
        except MCPError as refused:
            return Refused(
                f"The client did not ask its model: {presentable(refused.error.message)}.", hint=HINT
            )
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return Refused("The client is gone, and with it its model.", hint=HINT)
        except ValidationError:
            return _no_answer("something else than a message")
        return answer_of(result, question)

    return carry


def answer_of(response: Any, question: Question) -> Answer:
    """What a client brought as an answer: text, or what is wrong with it."""
    if isinstance(response, dict):
        try:
            response = types.CreateMessageResultWithTools.model_validate(response, by_name=False)
        except (ValidationError, RecursionError):
            return _no_answer("something else than a message")
    if not isinstance(response, types.CreateMessageResult | types.CreateMessageResultWithTools):
        return _no_answer("something else than a message")
    blocks = response.content if isinstance(response.content, list) else [response.content]
    texts = [block.text for block in blocks if isinstance(block, types.TextContent)]
    if len(texts) < len(blocks) or not texts:
        return _no_answer("other content than text")
    text = "".join(texts).encode("utf-8", "replace").decode()
    asked = sum(len(message.content) for message in question.messages)
    return Completion(
        text=text[:MAX_TEXT_CHARACTERS],
        model=presentable(response.model),
        prompt_tokens=-(-asked // CHARACTERS_PER_TOKEN),
        completion_tokens=-(-len(text) // CHARACTERS_PER_TOKEN),
        truncated=response.stop_reason == "maxTokens" or len(text) > MAX_TEXT_CHARACTERS,
    )


def _no_answer(what: str) -> ModelError:
    return ModelError(f"{NAME[0].upper()}{NAME[1:]} answered with {what}.", hint=HINT)
