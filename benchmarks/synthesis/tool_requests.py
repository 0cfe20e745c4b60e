"""Reader of requests for new tools, as JSON lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from alita_mcp.errors import UsageError
from alita_mcp.values import Example, Value


class ToolRequest(Value):
    """One request for a tool; its `hidden` examples, which are not sent, judge the published tool."""

    task_id: str = Field(min_length=1)
    name: str = Field(min_length=1)
    description: str
    code: str = ""
    """None: the server's model writes it."""
    tests: tuple[Example, ...] = ()
    hidden: tuple[Example, ...] = ()
    use_when: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    @field_validator("hidden")
    @classmethod
    def _can_be_judged_by_a_client(cls, hidden: tuple[Example, ...]) -> tuple[Example, ...]:
        """A `check` would have to be evaluated here, outside every sandbox."""
        if any(example.check is not None for example in hidden):
            raise ValueError("a hidden example says expected or raises, not check")
        return hidden

    def as_request(self) -> dict[str, Any]:
        """The arguments of `synthesize_tool`; the hidden examples are not among them."""
        fields = {"name", "description", "code", "use_when", "packages"}
        given = self.model_dump(mode="json", include=fields, exclude_defaults=True)
        return given | ({"tests": [example.as_json() for example in self.tests]} if self.tests else {})

    def under(self, name: str) -> ToolRequest:
        """The same request under another name, as an agent mends it when the name is taken."""
        code = re.sub(rf"\b{re.escape(self.name)}\b", name, self.code)
        return self.model_copy(update={"name": name, "code": code})


def read_requests(path: Path, limit: int | None = None) -> tuple[ToolRequest, ...]:
    """The first `limit` requests of a file, all of them without a limit.

    Raises:
        UsageError: the file cannot be read, holds no request, or a line does not fit; the message says which.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as unreadable:
        raise UsageError(f"{str(path)!r} cannot be read: {unreadable}.") from unreadable
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    requests = tuple(_request(path, number, line) for number, line in numbered[:limit])
    if not requests:
        raise UsageError(f"{str(path)!r} holds no request.", hint="One JSON object a line.")
    return requests


def _request(path: Path, number: int, line: str) -> ToolRequest:
    try:
        return ToolRequest.model_validate_json(line)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"{str(path)!r}, line {number}: {where or 'the line'}: {first['msg']}.",
            hint="A request has task_id, name, description, and perhaps code, tests and hidden.",
        ) from invalid
