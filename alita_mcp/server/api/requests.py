"""Requests of the HTTP API for tasks, read and validated."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from pydantic import ConfigDict, Field, ValidationError
from starlette.requests import ClientDisconnect, Request

from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict
from alita_mcp.server.agents.definitions import MAX_TASK
from alita_mcp.server.api.problems import Refusal
from alita_mcp.values import Value

MAX_BODY_BYTES = 1024 * 1024
MAX_DROPPED_BYTES = 16 * MAX_BODY_BYTES
MAX_DEPTH = 32
MAX_HOSTS = 32
JSON = "application/json"

Host = Annotated[str, Field(max_length=253, pattern=r"^[A-Za-z0-9*_][A-Za-z0-9.*:_-]*$")]
Amount = Annotated[float, Field(gt=0, le=1e9)]


class NewTask(Value):
    """A task and its limits, none of which can be wider than the server's settings."""

    model_config = ConfigDict(strict=True)

    task: str = Field(min_length=1, max_length=MAX_TASK, pattern=r"\S")
    max_steps: int | None = Field(default=None, ge=1, le=1_000)
    max_tokens: int | None = Field(default=None, ge=1, le=10**12)
    max_usd: Amount | None = None
    max_seconds: Amount | None = None
    plans: int | None = Field(default=None, ge=0, le=8)
    memory: bool = True
    hosts: tuple[Host, ...] = Field(default=(), max_length=MAX_HOSTS)
    """Hosts that it may read at any address."""


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
