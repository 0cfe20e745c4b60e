"""Elicitation: questions to the person at a client as forms of the protocol, and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from alita_mcp.errors import ModelError
from alita_mcp.models.redaction import presentable
from alita_mcp.server.client.scopes import may_answer, principal_of
from alita_mcp.toolsmith.jobs.person_questions import (
    WAIT_S,
    Decision,
    FilledForm,
    PendingQuestions,
    PersonAnswer,
    Question,
    QuestionSender,
    Refused,
)

if TYPE_CHECKING:
    from alita_mcp.server.context import Context
    from alita_mcp.server.sources import ToolCall

MAX_ANSWER = 4_000
"""So many characters of one field are read."""
FIELD = "approve"
_APPROVAL: types.ElicitRequestedSchema = {
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
"""The default is harmless: some clients accept a form as it stands."""


def shows_forms(ctx: Context) -> bool:
    """Whether the client declares that it shows forms to a person; one that names no mode means forms."""
    capabilities = ctx.session.client_capabilities
    declared = capabilities.elicitation if capabilities is not None else None
    return declared is not None and (declared.form is not None or declared.url is None)


def questions_to_person(call: ToolCall) -> PendingQuestions | None:
    """Questions of a new job to the person at this client; None where no person can be asked, or must not be."""
    may_ask = call.app.settings.elicit
    if may_ask is None:  # over HTTP, whoever has the server's own token could answer
        may_ask = call.ctx.request is None or bool(principal_of(call.ctx).id)
    if not may_ask or not shows_forms(call.ctx) or not may_answer(call.ctx, call.name):
        return None
    return PendingQuestions(WAIT_S, call.identity.key)


def form_of(question: Question) -> types.ElicitRequestedSchema:
    """The form of a question: fields that may all be left empty, or a choice."""
    if not question.fields:
        return _APPROVAL
    lines = {
        field.key: {"type": "string", "title": field.title, "description": field.description}
        for field in question.fields
    }
    return {"type": "object", "properties": lines}


def elicit_request(question: Question) -> types.ElicitRequest:
    """The question as the person at a client of 2026-07-28 sees it."""
    params = types.ElicitRequestFormParams(message=question.text, requested_schema=form_of(question))
    return types.ElicitRequest(params=params)


def question_sender(ctx: Context) -> QuestionSender:
    """Sends questions to a client of the 2025 protocols, on the stream of the request that waits for them."""

    async def send_question(question: Question) -> PersonAnswer:
        try:
            result = await ctx.session.elicit_form(question.text, form_of(question), ctx.request_id)
        except MCPError as refused:
            return Refused(f"The client did not ask: {presentable(refused.error.message)}.")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return Refused("The client is gone.")
        except ValidationError:
            return ModelError("The client's answer is not a result of a form.")
        return read_answer(result, question)

    return send_question


def read_answer(response: Any, question: Question) -> PersonAnswer:
    """The answer in a client's response: a filled form, or a decision.

    Only the choice itself approves: `accept` alone does not. Fields that were not asked for are not read.
    """
    no_decision = ModelError("The client's answer holds no decision.")
    if isinstance(response, dict):
        try:
            response = types.ElicitResult.model_validate(response, by_name=False)
        except (ValidationError, RecursionError):
            return no_decision
    if not isinstance(response, types.ElicitResult):
        return no_decision
    if response.action != "accept":
        return Decision.DECLINED if response.action == "decline" else Decision.CANCELLED
    content = response.content or {}
    if question.fields:
        texts = {field.key: content.get(field.key) for field in question.fields}
        if not all(text is None or isinstance(text, str) for text in texts.values()):
            return ModelError("The client's answer has a field that is not text.")
        return FilledForm({key: str(text)[:MAX_ANSWER] for key, text in texts.items() if text})
    approves = content.get(FIELD)
    if not isinstance(approves, bool):
        return no_decision
    return Decision.APPROVED if approves else Decision.DECLINED
