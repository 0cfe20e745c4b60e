"""The question of an approval as the protocol has it (a form of one choice), and what a client brings back for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from alita_mcp.errors import ModelError
from alita_mcp.models.lending import Answer, Carrier, Decision, Desk, Question, Refused
from alita_mcp.models.redaction import presentable
from alita_mcp.server.asker import name_of_connection
from alita_mcp.server.sampling import is_modern

if TYPE_CHECKING:
    from alita_mcp.server.sources import Context, ToolCall

WAIT_S = 300.0
"""How long the person at a client may take; the state of a round is sealed for longer."""
FIELD = "approve"
_FORM: types.ElicitRequestedSchema = {
    "type": "object",
    "properties": {
        FIELD: {
            "type": "boolean",
            "title": "Approve",
            "description": "Only a person should answer this.",
            "default": False,
        }
    },
    "required": [FIELD],
}
"""What is preselected is harmless: some clients accept a form as it stands."""


def can_be_asked(ctx: Context) -> bool:
    """Whether the client says that it shows forms to a person; one that names no mode means forms."""
    capabilities = ctx.session.client_capabilities
    declared = capabilities.elicitation if capabilities is not None else None
    return declared is not None and (declared.form is not None or declared.url is None)


def approval_desk(call: ToolCall) -> Desk | None:
    """A desk for the question of an approval; None where the person at this client cannot be asked, or must not."""
    if call.app.settings.elicit is False or not can_be_asked(call.ctx):
        return None
    return Desk(WAIT_S, "" if is_modern(call.ctx) else name_of_connection(call.ctx), asks="person")


def request_for(question: Question) -> types.ElicitRequest:
    """The question as the person at the client sees it."""
    text = "\n".join(message.content for message in question.messages)
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=text, requested_schema=_FORM))


def carrier_of(ctx: Context) -> Carrier:
    """Brings the question to a client of the 2025 protocols, on the stream of the request that it waits for."""

    async def carry(question: Question) -> Answer:
        try:
            result = await ctx.session.send_request(
                request_for(question),
                types.ElicitResult,
                metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
            )
        except MCPError as refused:
            return Refused(f"The client did not ask: {presentable(refused.error.message)}.")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return Refused("The client is gone.")
        except ValidationError:
            return _no_decision()
        return answer_of(result, question)

    return carry


def answer_of(response: Any, _question: Question) -> Answer:
    """The decision that a client brought; only the choice itself approves, no mere `accept`."""
    if isinstance(response, dict):
        try:
            response = types.ElicitResult.model_validate(response, by_name=False)
        except (ValidationError, RecursionError):
            return _no_decision()
    if not isinstance(response, types.ElicitResult):
        return _no_decision()
    if response.action != "accept":
        return Decision.DECLINED if response.action == "decline" else Decision.CANCELLED
    said = (response.content or {}).get(FIELD)
    if not isinstance(said, bool):
        return _no_decision()
    return Decision.APPROVED if said else Decision.DECLINED


def _no_decision() -> ModelError:
    return ModelError("The client answered with something that is no decision.")
