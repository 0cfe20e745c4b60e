"""OpenAPI 3.1 description of the HTTP API, made from the values in its bodies."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from alita_mcp import __version__
from alita_mcp.agent.values import TaskEvent
from alita_mcp.server.api.requests import EventNumber, Limit, Wait
from alita_mcp.server.api.values import NewTask, Problems, TaskList, TaskView

_REF = "#/components/schemas/{model}"
Part = dict[str, Any]


def describe_api(*, needs_token: bool) -> bytes:
    """The document as JSON text."""
    task_id = {
        "name": "id",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "description": "The id in the response that created the task.",
    }
    stream = {
        "description": "Server-sent events: `id` is the event's number, `event` its kind, `data` a TaskEvent.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
    create = _operation(
        "createTask",
        "Start a task; it goes on when the caller is gone",
        {
            "200": _json("It ended within `wait` seconds.", TaskView),
            "202": _json("It has started.", TaskView),
        },
        _parameter("wait", "query", Wait, "Seconds to wait for its end."),
    )
    create["requestBody"] = {"required": True, **_json("The task.", NewTask)}
    paths: Part = {
        "/api/tasks": {
            "get": _operation(
                "listTasks", "The latest tasks", {"200": _json("Newest first.", TaskList)},
                _parameter("limit", "query", Limit, "How many, 20 by default."),
            ),
            "post": create,
        },
        "/api/tasks/{id}": {
            "parameters": [task_id],
            "get": _operation(
                "getTask", "One task, with its solution once it has ended",
                {"200": _json("The task.", TaskView)},
            ),
            "delete": _operation(
                "stopTask", "Stop a task", {"204": {"description": "It has ended; nothing of it runs."}}
            ),
        },
        "/api/tasks/{id}/events": {
            "parameters": [task_id],
            "get": _operation(
                "followTask", "The events of a task until it ends",
                {
                    "200": stream,
                    "204": {"description": "The task has ended, and no event has a higher number."},
                },
                _parameter("after", "query", EventNumber, "Only events with higher numbers."),
                _parameter("Last-Event-ID", "header", EventNumber, "The same; the higher of the two counts."),
            ),
        },
        "/api/openapi.json": {
            "get": _operation("describe", "This document", {"200": {"description": "This document."}})
        },
    }  # fmt: skip
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
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if needs_token else [],
    }
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def _operation(name: str, summary: str, responses: Part, *parameters: Part) -> Part:
    refused = _json("Any other status: what is wrong, and what to do.", Problems)
    return {
        "operationId": name,
        "summary": summary,
        "parameters": list(parameters),
        "responses": {**responses, "default": refused},
    }


def _json(description: str, value: type[BaseModel]) -> Part:
    schema = {"$ref": _REF.format(model=value.__name__)}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _parameter(name: str, place: str, kind: Any, description: str) -> Part:
    return {"name": name, "in": place, "schema": TypeAdapter(kind).json_schema(), "description": description}
