"""Reader of requests in words with hidden examples and, optionally, recorded answers, as JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, ConfigDict, Field, JsonValue, ValidationError, field_validator

from alita_mcp.errors import UsageError
from alita_mcp.values import Example, ToolName, Value

Kind = Literal["specification", "correction", "suite", "candidate", "repair"]
"""What is asked of the models of a synthesis, as the fields of a file name it."""


class RecordedCode(Value):
    """A module that a model wrote."""

    model_config = ConfigDict(extra="ignore")

    code: str
    packages: tuple[str, ...] = ()


class JudgedRequest(Value):
    """One request in words; further fields are ignored."""

    model_config = ConfigDict(extra="ignore")

    name: ToolName
    text: str = Field(min_length=1, validation_alias=AliasChoices("request", "description"))
    examples: tuple[Example, ...] = ()
    """What the caller hands in."""
    hidden: tuple[Example, ...] = Field(min_length=1)
    """What decides whether a published tool is right: each of them has to hold."""
    specifications: tuple[dict[str, JsonValue], ...] = ()
    corrections: tuple[dict[str, JsonValue], ...] = ()
    """Specifications after one that could not be used; they answer nothing but the question for a correction."""
    suites: tuple[tuple[dict[str, JsonValue], ...], ...] = ()
    candidates: tuple[RecordedCode, ...] = ()
    repairs: tuple[RecordedCode, ...] = ()
    latency_s: dict[Kind, float] = Field(default_factory=dict)
    """How long a replayed answer takes, by what is asked; none where it is not said."""

    @field_validator("hidden")
    @classmethod
    def _can_be_judged_here(cls, hidden: tuple[Example, ...]) -> tuple[Example, ...]:
        """The truth is compared outside the sandbox, where no expression of a stranger is evaluated."""
        if any(example.check is not None for example in hidden):
            raise ValueError("a hidden example says expected or raises, not check")
        return hidden

    @field_validator("latency_s")
    @classmethod
    def _can_be_waited_for(cls, latency_s: dict[Kind, float]) -> dict[Kind, float]:
        if not all(0 <= each <= 600 for each in latency_s.values()):
            raise ValueError("a latency is 0 to 600 seconds")
        return latency_s

    def as_request(self) -> dict[str, Any]:
        """The arguments of `synthesize_tool`; neither the hidden examples nor the recorded answers are among them."""
        tests = [example.as_json() for example in self.examples]
        return {"name": self.name, "description": self.text, **({"tests": tests} if tests else {})}


def read_requests(path: Path, limit: int | None = None) -> tuple[JudgedRequest, ...]:
    """The first `limit` requests of a file, all of them without a limit.

    Raises:
        UsageError: the file cannot be read, holds no request, or a line does not fit; the message says which.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as unreadable:
        raise UsageError(f"{str(path)!r} cannot be read: {unreadable}.") from unreadable
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    requests = tuple(_read_line(path, number, line) for number, line in numbered[:limit])
    if not requests:
        raise UsageError(f"{str(path)!r} holds no request.", hint="One JSON object a line.")
    return requests


def _read_line(path: Path, number: int, line: str) -> JudgedRequest:
    try:
        return JudgedRequest.model_validate_json(line)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"{str(path)!r}, line {number}: {where or 'the line'}: {first['msg']}.",
            hint="A request has name, request, hidden and perhaps examples; see docs/benchmarks.md.",
        ) from invalid
