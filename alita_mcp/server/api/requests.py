"""Request bodies and parameters of the HTTP API, read and validated."""

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
    """The task in a request's body.

    Raises:
        Refusal: 400, 413, 415 or 422.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        raise Refusal(415, "unsupported_type", "The body is not JSON.", f"Send content-type: {JSON}.")
    body, size = bytearray(), 0
    try:
        # The rest of a body that is too large is read and dropped, or its sender would not hear the refusal.
        async for chunk in request.stream():
            size += len(chunk)
            if size <= MAX_BODY_BYTES:
                body += chunk
            elif size > MAX_DROPPED_BYTES:
                break
    except ClientDisconnect:
        raise Refusal(400, "incomplete", "The body did not arrive whole.") from None
    if size > MAX_BODY_BYTES:
        headers = {"connection": "close"} if size > MAX_DROPPED_BYTES else None
        problem = f"The body has more than {MAX_BODY_BYTES:,} bytes."
        raise Refusal(413, "too_large", problem, "Send less.", headers)
    return await anyio.to_thread.run_sync(_parse_task, bytes(body))


def _parse_task(body: bytes) -> NewTask:
    try:
        decode_strict(body, MAX_DEPTH)
        return NewTask.model_validate_json(body)
    except NotJson as unreadable:
        problem = str(unreadable).replace("the result", "the body")
        raise Refusal(400, "not_json", f"Cannot read the body: {problem}.") from None
    except ValidationError as unfit:
        raise _invalid(unfit, "body") from None


def read_query(request: Request, name: str, kind: Any, default: Any) -> Any:
    """The value of the only parameter that a query may have.

    Raises:
        Refusal: 422, the query has another parameter, or this one twice or with a value that does not fit.
    """
    names = [given for given, _ in request.query_params.multi_items()]
    if names not in ([], [name]):
        raise Refusal(422, "invalid", f"The query may have one parameter, {name}, once.")
    return read_number(kind, request.query_params.get(name), name, default)


def read_number(kind: Any, text: str | None, name: str, default: Any) -> Any:
    """A number of a query or header; raises `Refusal` with 422 where it is none that fits `kind`."""
    if text is None:
        return default
    if not (text.isascii() and text.replace(".", "", 1).isdecimal()):
        raise Refusal(422, "invalid", f"{name} must be a decimal number.")
    try:
        return TypeAdapter(kind).validate_python(text)
    except ValidationError as unfit:
        raise _invalid(unfit, name) from None


def _invalid(unfit: ValidationError, where: str) -> Refusal:
    first = unfit.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or where
    return Refusal(422, "invalid", f"{place}: {first['msg']}.", "See /api/openapi.json.")
