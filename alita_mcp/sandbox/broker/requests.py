"""What may be said at each door: the words of a question as values, so that nothing else comes through."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from alita_mcp.values import Value

Name = Annotated[str, Field(min_length=1, max_length=200)]
Path = Annotated[str, Field(min_length=1, max_length=8_000)]


class Words(Value):
    """What stands in a question; types are exact."""

    model_config = ConfigDict(strict=True)


class CompleteWords(Words):
    """`complete`."""

    prompt: str
    system: str | None = None
    max_tokens: int | None = Field(default=None, ge=1, le=32_768)
    temperature: float | None = Field(default=None, ge=0, le=2)


class CallWords(Words):
    """`call_tool`."""

    name: Name
    arguments: dict[str, Any] = Field(default_factory=dict)


class SecretWords(Words):
    """`secret`."""

    name: Name


class ListWords(Words):
    """`workspace.list`."""

    path: str = Field(max_length=8_000)


class ReadWords(Words):
    """`workspace.read`."""

    path: Path
    offset: int = Field(ge=0, le=1 << 40)
    length: int = Field(ge=1)


class Operation(Words):
    """A piece of one file that is written."""

    path: Path
    stamp: str = Field(default="", max_length=100)
    """What the tool knew of the file; empty for what was not there."""
    data: str = ""
    """A piece of the file, in base64."""
    more: bool = False


class ChangeWords(Words):
    """`workspace.change`."""

    operations: tuple[Operation, ...] = Field(max_length=5_000, strict=False)
    last: bool
