"""OpenAPI 3.1 description of the HTTP API, made from the values that travel."""

from __future__ import annotations

import json
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from alita_mcp import __version__
from alita_mcp.agent.values import EventKind, TaskEvent
from alita_mcp.server.api.bodies import EventNumber, Limit, Wait
from alita_mcp.server.api.values import NewTask, Problems, TaskList, TaskView

_REF = "#/components/schemas/{model}"
_ID = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    "description": "As the task was begun with.",
}
_PROBLEMS = {
    400: "The body is not JSON that is taken here.",
    401: "The token is missing or wrong.",
    403: "The Origin header names a stranger.",
    404: "There is no such task.",
    405: "The path has no such method.",
    409: "The task is not under way here, or no model is configured.",
    413: "The body is too large.",
    415: "The body is of another type.",
    421: "The Host header names a stranger.",
    422: "A value or a parameter does not fit.",
    429: "Too many tasks are under way, or streams are open.",
    503: "The server is ending, or its library cannot be used.",
}
_ALWAYS = (401, 403, 405, 421, 422, 429, 503)
Part = dict[str, Any]
_EVENT: Part = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9]+$"},
        "event": {"type": "string", "enum": list(get_args(EventKind))},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": _REF.format(model="TaskEvent")},
        },
    },
}
"""One message of a stream."""


def description(*, needs_token: bool) -> bytes:
    """The document as JSON text."""
    values: list[type[BaseModel]] = [TaskView, TaskList, TaskEvent, Problems]
    pairs: list[tuple[type[BaseModel], Any]] = [(value, "serialization") for value in values]
    _, schemas = models_json_schema([(NewTask, "validation"), *pairs], ref_template=_REF)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "alita",
            "version": __version__,
            "description": "Tasks for the manager agent. No path of the server's disk is ever read for a caller.",
        },
        "paths": _paths(),
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if needs_token else [],
    }
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def _operation(name: str, summary: str, responses: Part, *problems: int, **more: Any) -> Part:
    refused = {
        str(status): _response(_PROBLEMS[status], Problems) for status in sorted({*_ALWAYS, *problems})
    }
    return {"operationId": name, "summary": summary, **more, "responses": {**responses, **refused}}


def _response(what: str, value: type[BaseModel]) -> Part:
    return {"description": what, "content": _json_of(value)}


def _json_of(value: type[BaseModel]) -> Part:
    return {"application/json": {"schema": {"$ref": _REF.format(model=value.__name__)}}}


def _parameter(name: str, place: str, kind: Any, what: str) -> Part:
    return {"name": name, "in": place, "schema": TypeAdapter(kind).json_schema(), "description": what}


def _create() -> Part:
    links = {
        name: {"operationId": operation, "parameters": {"id": "$response.body#/id"}}
        for name, operation in (("task", "getTask"), ("events", "followTask"), ("stop", "stopTask"))
    }
    begun = {**_response("It has begun.", TaskView), "links": links}
    ended = {**_response("It ended within `wait` seconds.", TaskView), "links": links}
    return _operation(
        "createTask", "Begin a task; it goes on when the caller is gone", {"200": ended, "202": begun},
        400, 409, 413, 415,
        parameters=[_parameter("wait", "query", Wait, "Seconds to wait for its end.")],
        requestBody={"required": True, "content": _json_of(NewTask)},
    )  # fmt: skip


def _paths() -> Part:
    """The operations, by path and method."""
    limit = _parameter("limit", "query", Limit, "How many; 20 unless told.")
    listed = {"200": _response("Newest first.", TaskList)}
    shown = {"200": _response("Where it stands.", TaskView)}
    stopped = {"204": {"description": "It has ended; nothing of it runs."}}
    stream = {
        "description": "Server-sent events: `id` is the event's number, `event` its kind, `data` a TaskEvent.",
        "content": {"text/event-stream": {"schema": _EVENT}},
    }
    ended = {"description": "The task has ended, and there are no events after that number."}
    places = [
        _parameter("after", "query", EventNumber, "Only events with higher numbers."),
        _parameter("Last-Event-ID", "header", EventNumber, "The same; the higher of the two counts."),
    ]
    this = {"description": "This.", "content": {"application/json": {"schema": {"type": "object"}}}}
    recent = _operation("listTasks", "The latest tasks", listed, parameters=[limit])
    show = _operation("getTask", "One task, with its solution when it has ended", shown, 404)
    stop = _operation("stopTask", "Stop a task", stopped, 404, 409)
    follow = _operation(
        "followTask",
        "The events of a task until it ends",
        {"200": stream, "204": ended},
        404,
        parameters=places,
    )
    return {
        "/api/tasks": {"get": recent, "post": _create()},
        "/api/tasks/{id}": {"parameters": [_ID], "get": show, "delete": stop},
        "/api/tasks/{id}/events": {"parameters": [_ID], "get": follow},
        "/api/openapi.json": {"get": _operation("describe", "This document", {"200": this})},
    }
