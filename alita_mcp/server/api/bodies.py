"""Validation of request bodies and parameters of the HTTP API."""

from __future__ import annotations

from typing import Annotated, Any

import anyio.to_thread
from pydantic import Field, TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect, Request

from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict
from alita_mcp.server.api.problems import Refusal
from alita_mcp.server.api.values import NewTask

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_DROPPED_BYTES = 4 * MAX_BODY_BYTES
MAX_DEPTH = 32
JSON = "application/json"
MAX_WAIT_S = 60
MAX_LISTED = 100
MAX_NUMBER = 10**12 - 1

Wait = Annotated[float, Field(ge=0, le=MAX_WAIT_S, allow_inf_nan=False)]
Limit = Annotated[int, Field(ge=1, le=MAX_LISTED)]
EventNumber = Annotated[int, Field(ge=0, le=MAX_NUMBER)]


async def read_new_task(request: Request) -> NewTask:
    """The task in a request's body; raises `Refusal` with 400, 413, 415 or 422."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise Refusal(415, "unsupported_type", "The body is not JSON.", f"Send content-type: {JSON}.")
    body = await _whole(request)
    return await anyio.to_thread.run_sync(_new_task, body)


async def _whole(request: Request) -> bytes:
    """The body; of one that is too large the rest is read and dropped, or its sender would not hear the refusal."""
    body, size = bytearray(), 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > MAX_DROPPED_BYTES:
                break
            if size <= MAX_BODY_BYTES:
                body += chunk
    except ClientDisconnect:
        raise Refusal(400, "incomplete", "The body did not arrive whole.") from None
    if size > MAX_BODY_BYTES:
        gone = {"connection": "close"} if size > MAX_DROPPED_BYTES else None
        message = f"The body has more than {MAX_BODY_BYTES:,} bytes."
        raise Refusal(413, "too_large", message, "Send less.", gone)
    return bytes(body)


def _new_task(body: bytes) -> NewTask:
    try:
        decode_strict(body, MAX_DEPTH)
    except NotJson as unreadable:
        message = str(unreadable).replace("the result", "the body")
        raise Refusal(400, "not_json", f"The body is not JSON that is taken here: {message}.") from None
    try:
        return NewTask.model_validate_json(body)
    except ValidationError as unfit:
        raise _unfit(unfit, "body") from None


def parameter(kind: Any, value: str | None, name: str, default: Any) -> Any:
    """A query parameter or header as what it should be; raises `Refusal` with 422."""
    if value is None:
        return default
    try:
        if not (value.isascii() and value.replace(".", "", 1).isdecimal()):
            raise Refusal(422, "invalid", f"{name} is no number that is taken here.")
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as unfit:
        raise _unfit(unfit, name) from None


def _unfit(unfit: ValidationError, where: str) -> Refusal:
    first = unfit.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or where
    return Refusal(422, "invalid", f"{place}: {first['msg']}.", "See /api/openapi.json.")
