"""Request bodies of the HTTP API, read and validated."""

from __future__ import annotations

import anyio.to_thread
from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request

from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict
from alita_mcp.server.api.problems import Refusal
from alita_mcp.server.api.values import NewTask

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_DROPPED_BYTES = 4 * MAX_BODY_BYTES
MAX_DEPTH = 32
JSON = "application/json"


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
        first = unfit.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "body"
        hint = f"Fields: {', '.join(NewTask.model_fields)}."
        raise Refusal(422, "invalid", f"{place}: {first['msg']}.", hint) from None
