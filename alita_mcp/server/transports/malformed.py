"""Answers to what is no JSON-RPC message: no line of stdin and no body of a POST goes unanswered."""

from __future__ import annotations

import json

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

    def __init__(self, text: str | bytes, problem: str, *, is_json: bool = True) -> None:
        super().__init__(problem)
        number = _read_id(text)
        code = INVALID_REQUEST if is_json and number is not None else PARSE_ERROR
        self.error = JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=problem))


def read_message(text: str | bytes) -> JSONRPCMessage:
    """The message in a line or a body.

    Raises:
        MalformedMessage: there is none. Its error has the request's id where one can be read.
    """
    try:
        message = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError as invalid:
        first = invalid.errors(include_input=False)[0]
        if first["type"] == "json_invalid":
            raise MalformedMessage(text, first["msg"], is_json=False) from invalid
        raise MalformedMessage(text, "Not a JSON-RPC 2.0 message") from invalid
    # a request whose id is null or no whole number passes for a notification
    if isinstance(message, JSONRPCNotification) and "id" in json.loads(text):
        raise MalformedMessage(text, "The id is neither a text nor a whole number")
    return message


def _read_id(text: str | bytes) -> RequestId | None:
    """The id of a request, also in JSON that is not Unicode; None for a response, whose id is one of our requests."""
    text = text if isinstance(text, str) else text.decode("utf-8", "replace")
    try:
        match json.loads(text, strict=False):
            case {"result": _} | {"error": _} | {"id": bool()}:
                return None
            case {"id": int() | str() as number}:
                str(number).encode()
                return number
    except (ValueError, RecursionError):
        pass
    return None


def answer_malformed(app: ASGIApp) -> ASGIApp:
    """The app with the answers that lines of stdin get: the SDK's have no id, or accept what has a bad one."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        body: list[bytes] = []
        held: Message | None = None  # the beginning of a response that may not be the right one

        async def receive_and_keep() -> Message:
            message = await receive()
            body.append(message.get("body", b""))
            return message

        async def send_checked(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and message["status"] in (400, 202) and body:
                held = message
                return
            first, held = held, None
            if first is not None:
                try:
                    read_message(b"".join(body))
                    await send(first)
                except MalformedMessage as malformed:
                    answer = malformed.error.model_dump_json(exclude_unset=True)
                    await Response(answer, 400, media_type="application/json")(scope, receive, send)
                    return
            body.clear()
            await send(message)

        await app(scope, receive_and_keep if scope["method"] == "POST" else receive, send_checked)

    return serve
