"""Elicitation: questions to the person at a client as forms of the protocol, and the reading of what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from alita_mcp.errors import ModelError
from alita_mcp.models.redaction import presentable
from alita_mcp.toolsmith.jobs.person_questions import (
    Decision,
    FilledForm,
    FormField,
    PendingQuestions,
    PersonAnswer,
    Question,
    QuestionSender,
    Refused,
)

if TYPE_CHECKING:
    from alita_mcp.server.context import Context
    from alita_mcp.server.sources import ToolCall

WAIT_S = 300.0
"""How long the person at a client may take; the state of a round is sealed for longer."""
MAX_ANSWER = 4_000
"""So much of what stands in one field is read."""
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


def questions_to_person(call: ToolCall) -> PendingQuestions | None:
    """Questions of a new job to the person at this client; None where no person can be asked, or must not be."""
    if call.app.settings.elicit is False or not can_be_asked(call.ctx):
        return None
    return PendingQuestions(WAIT_S, call.identity.key)


def request_for(question: Question) -> types.ElicitRequest:
    """The question as the person at the client sees it."""
    form = _FORM
    if question.fields:  # lines that may all be left empty
        lines = {
            field.key: {"type": "string", "title": field.title, "description": field.description}
            for field in question.fields
        }
        form = {"type": "object", "properties": lines}
    params = types.ElicitRequestFormParams(message=question.text, requested_schema=form)
    return types.ElicitRequest(params=params)


def sender_of(ctx: Context) -> QuestionSender:
    """Brings the question to a client of the 2025 protocols, on the stream of the request that it waits for."""

    async def carry(question: Question) -> PersonAnswer:
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


def answer_of(response: Any, question: Question) -> PersonAnswer:
    """Answer that a client brought: a filled form, or a decision; only the choice itself approves, no mere `accept`."""
    if isinstance(response, dict):
        try:
            response = types.ElicitResult.model_validate(response, by_name=False)
        except (ValidationError, RecursionError):
            return _no_decision()
    if not isinstance(response, types.ElicitResult):
        return _no_decision()
    if response.action != "accept":
        return Decision.DECLINED if response.action == "decline" else Decision.CANCELLED
    content = response.content or {}
    if question.fields:
        return _filled(content, question.fields)
    said = content.get(FIELD)
    if not isinstance(said, bool):
        return _no_decision()
    return Decision.APPROVED if said else Decision.DECLINED


def _filled(content: Mapping[str, Any], fields: Sequence[FormField]) -> PersonAnswer:
    """The texts of the fields that were asked for; whatever else came along is not read."""
    given = {field.key: content.get(field.key) for field in fields}
    if not all(text is None or isinstance(text, str) for text in given.values()):
        return ModelError("The client answered with something that is no text.")
    return FilledForm({key: text[:MAX_ANSWER] for key, text in given.items() if text})


def _no_decision() -> ModelError:
    return ModelError("The client answered with something that is no decision.")
