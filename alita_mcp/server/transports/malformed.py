"""Answers to what is no JSON-RPC message: no line of stdin and no body of a POST goes unanswered."""

from __future__ import annotations

import json
from http import HTTPStatus

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class MalformedMessage(Exception):
    """Raised for text that is no JSON-RPC message; `error` is the answer to it."""

    def __init__(self, request_id: RequestId | None, problem: str, *, is_json: bool) -> None:
        super().__init__(problem)
        code = INVALID_REQUEST if is_json and request_id is not None else PARSE_ERROR
        self.error = JSONRPCError(
            jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=f"{problem}.")
        )


def read_message(text: str | bytes) -> JSONRPCMessage:
    """The message in a line or a body.

    Raises:
        MalformedMessage: there is none. Its error has the request's id where one can be read.
    """
    try:
        message = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError as invalid:
        first = invalid.errors(include_input=False)[0]
        is_json = first["type"] != "json_invalid"
        problem = "Not a JSON-RPC 2.0 message" if is_json else first["msg"]
        raise MalformedMessage(_read_id(text), problem, is_json=is_json) from invalid
    # A request whose id is null or no whole number passes for a notification.
    if isinstance(message, JSONRPCNotification) and "id" in json.loads(text):
        raise MalformedMessage(None, "The id is neither a text nor a whole number", is_json=True)
    return message


def _read_id(text: str | bytes) -> RequestId | None:
    """The id of a request, also in JSON that is not Unicode; None for a response, whose id is one of our requests."""
    try:
        decoded = json.loads(text if isinstance(text, str) else text.decode("utf-8", "replace"), strict=False)
        found = decoded["id"] if "result" not in decoded and "error" not in decoded else None
        if isinstance(found, bool) or not isinstance(found, int | str):
            return None
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return found


class AnswerMalformed:
    """ASGI middleware that gives refused bodies the answers that lines of stdin get.

    The SDK's own have no id, and to a request whose id is null it gives none at all.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body: list[bytes] = []
        refusal: Message | None = None

        async def receive_and_keep() -> Message:
            message = await receive()
            body.append(message.get("body", b""))
            return message

        async def send_checked(message: Message) -> None:
            nonlocal refusal
            if message["type"] == "http.response.start":
                if message["status"] in (HTTPStatus.BAD_REQUEST, HTTPStatus.ACCEPTED):
                    refusal = message
                    return
            elif refusal is not None:
                first, refusal = refusal, None
                try:
                    if body:  # without one, it was refused for its headers
                        read_message(b"".join(body))
                except MalformedMessage as malformed:
                    answer = malformed.error.model_dump_json(exclude_unset=True)
                    response = Response(answer, HTTPStatus.BAD_REQUEST, media_type="application/json")
                    await response(scope, receive, send)
                    return
                await send(first)
            body.clear()
            await send(message)

        await self._app(scope, receive_and_keep, send_checked)
