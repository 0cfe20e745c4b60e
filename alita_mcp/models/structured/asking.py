"""Questions whose answer is a pydantic value; an answer that cannot be read is asked for once more."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from alita_mcp.errors import ModelError
from alita_mcp.models.interface import Completion, LanguageModel, Message
from alita_mcp.models.structured.answer_schema import plain_schema
from alita_mcp.models.structured.json_answer import json_objects

SHOWN_CHARACTERS = 8_000
"""How much of an unreadable answer the model is shown again."""
MAX_PROBLEMS = 5

V = TypeVar("V", bound=BaseModel)


@dataclass(frozen=True)
class Answered(Generic[V]):
    """An answer that was read, and the text it was read from."""

    value: V
    text: str


class Unreadable(ValueError):
    """Error of an answer that is not what was asked for; it says why, with no words of the model but names."""


async def ask(
    model: LanguageModel,
    messages: Sequence[Message],
    shape: type[V],
    *,
    temperature: float | None = None,
    seed: int | None = None,
    max_tokens: int | None = None,
    lacks: Callable[[V], str] | None = None,
    schema: dict[str, Any] | None = None,
) -> Answered[V]:
    """The model's answer as a value of `shape`; the messages are to say that JSON is wanted.

    `schema` is what the model is held to where it can be; else that of `shape`.
    `lacks` says what a readable answer should have besides (empty: nothing); it is asked for once, and done without.

    Raises:
        ModelError: the model did not answer, or twice not what was asked for.
    """
    wanted = plain_schema(schema or shape.model_json_schema())
    options: dict[str, Any] = {
        "max_tokens": max_tokens, "temperature": temperature, "seed": seed, "schema": wanted,
    }  # fmt: skip
    first = await model.complete(messages, **options)
    kept, wrong = _judged(first, shape, lacks)
    if kept is not None and not wrong:
        return kept
    try:
        second = await model.complete([*messages, *_correction(first, wrong, wanted)], **options)
        return Answered(read(second, shape), second.text)
    except (Unreadable, ModelError) as problem:
        if kept is not None:
            return kept
        if isinstance(problem, ModelError):
            raise
        raise ModelError(
            f"The model {model.name!r} twice gave no readable {shape.__name__}: {problem}.",
            hint="Try another model, give it more room with max_tokens=, or hand in code and tests.",
        ) from problem


def _judged(
    answer: Completion, shape: type[V], lacks: Callable[[V], str] | None
) -> tuple[Answered[V] | None, str]:
    """The answer where it can be read, and what is wrong with it; empty when nothing is."""
    try:
        value = read(answer, shape)
    except Unreadable as problem:
        return None, f"could not be read: {problem}"
    missing = lacks(value) if lacks is not None else ""
    return Answered(value, answer.text), missing and f"is not all: {missing}"


def read(answer: Completion, shape: type[V]) -> V:
    """The first JSON object in the answer that is a `shape`; prose and other objects around it do not matter.

    Raises:
        Unreadable: there is none.
    """
    problem = "there is no JSON object in the answer"
    for found in json_objects(answer.text):
        try:
            return shape.model_validate(found)
        except ValidationError as invalid:
            problem = _problems(invalid)
        except RecursionError:
            problem = "the answer is nested too deeply"
    if answer.truncated:
        problem = f"the answer was cut off before its end ({problem})"
    raise Unreadable(problem)


def _problems(invalid: ValidationError) -> str:
    found = invalid.errors(include_input=False, include_url=False, include_context=False)
    said = [f"{'.'.join(str(part)[:40] for part in one['loc']) or 'it'}: {one['msg'][:120]}" for one in found]
    return "; ".join(said[:MAX_PROBLEMS])


def _correction(answer: Completion, wrong: str, wanted: dict[str, Any]) -> list[Message]:
    shorter = " Be brief." if answer.truncated else ""
    schema = json.dumps(wanted, separators=(",", ":"))
    return [
        Message(role="assistant", content=answer.text[:SHOWN_CHARACTERS] or "(nothing)"),
        Message(
            role="user",
            content=f"That {wrong}. Answer again with one JSON object and nothing else, "
            f"following this JSON Schema:{shorter}\n{schema}",
        ),
    ]
