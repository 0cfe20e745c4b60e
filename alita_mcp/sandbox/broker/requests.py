"""Requests of tools to the host as values, one class for each function of `alita_tool`."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import ConfigDict, Field, ValidationError

from alita_mcp.values import Value

Name = Annotated[str, Field(min_length=1, max_length=200)]
Path = Annotated[str, Field(min_length=1, max_length=8_000)]


class BrokerRequest(Value):
    """The arguments of one request; types are exact."""

    model_config = ConfigDict(strict=True)


class CompleteRequest(BrokerRequest):
    """A request of `alita_tool.complete`."""

    prompt: str
    system: str | None = None
    max_tokens: int | None = Field(default=None, ge=1, le=32_768)
    temperature: float | None = Field(default=None, ge=0, le=2)


class CallToolRequest(BrokerRequest):
    """A request of `alita_tool.call_tool`."""

    name: Name
    arguments: dict[str, Any] = Field(default_factory=dict)


class SecretRequest(BrokerRequest):
    """A request of `alita_tool.secret`."""

    name: Name


class ListRequest(BrokerRequest):
    """A request for the names below a folder of the workspace."""

    path: str = Field(max_length=8_000)


class ReadRequest(BrokerRequest):
    """A request for a piece of a file of the workspace."""

    path: Path
    offset: int = Field(ge=0, le=1 << 40)
    length: int = Field(ge=1)


class Operation(BrokerRequest):
    """A piece of one file that is written."""

    path: Path
    stamp: str = Field(default="", max_length=100)
    """That of the file when the tool read it; empty for one that it did not read."""
    data: str = ""
    """A piece of the file, in base64."""
    more: bool = False


class ChangeRequest(BrokerRequest):
    """A request to write files of the workspace."""

    operations: tuple[Operation, ...] = Field(max_length=5_000, strict=False)
    last: bool


_R = TypeVar("_R", bound=BrokerRequest)


def parse_request(kind: type[_R], function: str, words: dict[str, Any]) -> _R:
    """A request from its arguments in JSON.

    Raises:
        ValueError: they do not fit; the message names the function and the first of them.
    """
    try:
        return kind.model_validate(words)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{function}: {where}: {first['msg']}") from wrong
