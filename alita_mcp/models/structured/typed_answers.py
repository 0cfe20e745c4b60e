"""Questions whose answer is a pydantic value; an answer that cannot be parsed is asked for once more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from alita_mcp.errors import ModelError
from alita_mcp.models.interface import Completion, LanguageModel, Message
from alita_mcp.models.structured.json_objects import json_objects

SHOWN_CHARACTERS = 8_000
"""How much of an unreadable answer the model is shown again."""
MAX_PROBLEMS = 5
MAX_DEPTH = 20
"""A type that holds itself ends here as a value of any kind."""

V = TypeVar("V", bound=BaseModel)


@dataclass(frozen=True)
class TypedAnswer(Generic[V]):
    """A parsed answer, and its text."""

    value: V
    text: str


class Unreadable(ValueError):
    """Error of an answer that is not what was asked for; it says why, and repeats nothing of the answer but names."""


async def ask_model(
    model: LanguageModel,
    messages: Sequence[Message],
    shape: type[V],
    *,
    temperature: float | None = None,
    seed: int | None = None,
    max_tokens: int | None = None,
    schema: dict[str, Any] | None = None,
) -> TypedAnswer[V]:
    """The model's answer as a value of `shape`; the messages must ask for JSON.

    `schema` is what the model is held to where it can be; by default that of `shape`.

    Raises:
        ModelError: the model did not answer, or twice not what was asked for.
    """
    wanted = plain_schema(schema or shape.model_json_schema())
    options = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed, "schema": wanted}
    first = await model.complete(messages, **options)  # type: ignore[arg-type]
    try:
        return TypedAnswer(parse_answer(first, shape), first.text)
    except Unreadable as problem:
        wrong = f"could not be read: {problem}"
    shorter = " Be brief." if first.truncated else ""
    correction = (
        f"That {wrong}. Answer again with one JSON object and nothing else, following this JSON Schema:{shorter}\n"
        f"{json.dumps(wanted, separators=(',', ':'))}"
    )
    again = [
        *messages,
        Message(role="assistant", content=first.text[:SHOWN_CHARACTERS] or "(nothing)"),
        Message(role="user", content=correction),
    ]
    try:
        second = await model.complete(again, **options)  # type: ignore[arg-type]
        return TypedAnswer(parse_answer(second, shape), second.text)
    except Unreadable as problem:
        raise ModelError(
            f"The model {model.name!r} twice gave no readable {shape.__name__}: {problem}.",
            hint="Try another model, give it more room with max_tokens=, or submit code and tests.",
        ) from problem


def parse_answer(answer: Completion, shape: type[V]) -> V:
    """The first JSON object in the answer that is a `shape`; prose and other objects around it do not matter.

    Raises:
        Unreadable: there is none.
    """
    problem = "there is no JSON object in the answer"
    for found in json_objects(answer.text):
        try:
            return shape.model_validate(found)
        except ValidationError as invalid:
            errors = invalid.errors(include_input=False, include_url=False, include_context=False)
            problem = "; ".join(
                f"{'.'.join(str(part)[:40] for part in one['loc']) or 'it'}: {one['msg'][:120]}"
                for one in errors[:MAX_PROBLEMS]
            )
        except RecursionError:
            problem = "the answer is nested too deeply"
    if answer.truncated:
        problem = f"the answer was cut off before its end ({problem})"
    raise Unreadable(problem)


def plain_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Pydantic's schema in the few keywords that every provider knows: definitions in place, and without limits.

    `parse_answer` holds answers to the limits, and says so in words.
    """
    definitions = schema.get("$defs", {})

    def plain(node: dict[str, Any], depth: int) -> dict[str, Any]:
        if depth > MAX_DEPTH:
            return {}
        if "$ref" in node:
            return plain(definitions.get(str(node["$ref"]).rpartition("/")[2], {}), depth + 1)
        kept: dict[str, Any] = {key: node[key] for key in ("type", "enum") if key in node}
        if "anyOf" in node:
            kept["anyOf"] = [plain(each, depth + 1) for each in node["anyOf"]]
        if "items" in node:
            kept["items"] = plain(node["items"], depth + 1)
        if "properties" in node:
            nodes = node["properties"].items()
            kept["properties"] = {name: plain(each, depth + 1) for name, each in nodes}
            kept["required"] = list(node.get("required", ()))
        elif isinstance(node.get("additionalProperties"), dict):
            kept["additionalProperties"] = plain(node["additionalProperties"], depth + 1)
        return kept

    return plain(schema, 0) | {"title": str(schema.get("title", "answer"))}
