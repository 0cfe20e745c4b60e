"""Values in bodies of the HTTP API: new tasks, tasks and problems."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from alita_mcp.agent.values import RunStatus, Solution
from alita_mcp.server.agents.definitions import MAX_TASK
from alita_mcp.server.results.building import printable
from alita_mcp.values import Value

MAX_FILES = 20
MAX_HOSTS = 32
MAX_NAME_BYTES = 200
_UNUSABLE = re.compile(r'[\x00-\x1f/\\:*?"<>|]|^[. ]|[. ]$')
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that are devices on Windows."""


def _integer(value: Any) -> Any:
    """JSON knows no integers: 3.0 is one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _file_name(name: str) -> str:
    name = unicodedata.normalize("NFC", name)
    is_usable = not _UNUSABLE.search(name) and not _DEVICE.fullmatch(name) and printable(name) == name
    if not is_usable or len(name.encode()) > MAX_NAME_BYTES:
        raise ValueError(f"{printable(name, 80)!r} is not a usable file name")
    return name


def _files(files: tuple[NewFile, ...]) -> tuple[NewFile, ...]:
    names = [file.name.casefold() for file in files]
    for file in files:
        if names.count(file.name.casefold()) > 1:
            raise ValueError(f"{file.name!r} comes twice")
        file.data()
    return files


Integer = Annotated[int, BeforeValidator(_integer)]
Host = Annotated[str, Field(max_length=253, pattern=r"^[A-Za-z0-9*_][A-Za-z0-9.*:_-]*$")]
Amount = Annotated[float, Field(gt=0, le=1e9)]


class NewFile(Value):
    """A file that a task is about, sent with it: as text, or as base64 of its bytes."""

    model_config = ConfigDict(strict=True)

    name: Annotated[str, AfterValidator(_file_name)] = Field(min_length=1, max_length=120)
    content: str | None = None
    content_base64: str | None = None

    def data(self) -> bytes:
        """The bytes of the file.

        Raises:
            ValueError: it has both contents or neither, or bad base64.
        """
        if (self.content is None) == (self.content_base64 is None):
            raise ValueError(f"{self.name!r} needs either content or content_base64")
        if self.content_base64 is None:
            return (self.content or "").encode()
        try:
            return base64.b64decode(self.content_base64, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError(f"{self.name!r} has invalid base64 in content_base64") from None


class NewTask(Value):
    """A task and its limits, none of which can be wider than the server's settings."""

    model_config = ConfigDict(strict=True)

    task: str = Field(min_length=1, max_length=MAX_TASK, pattern=r"\S")
    max_steps: Integer | None = Field(default=None, ge=1, le=1_000)
    max_tokens: Integer | None = Field(default=None, ge=1, le=10**12)
    max_usd: Amount | None = None
    max_seconds: Amount | None = None
    plans: Integer | None = Field(default=None, ge=0, le=8)
    memory: bool = True
    hosts: tuple[Host, ...] = Field(default=(), max_length=MAX_HOSTS)
    """Hosts that it may read at any address; they may see its files."""
    files: Annotated[tuple[NewFile, ...], AfterValidator(_files)] = Field(default=(), max_length=MAX_FILES)


class TaskView(Value):
    """A task and how far it is."""

    id: str
    task: str
    at: str
    """When it started: ISO 8601, UTC."""
    status: RunStatus
    solution: Solution | None = None
    """How it ended; None while it is running."""


class Problem(Value):
    """Why a request was not served."""

    code: str
    """One word for programs."""
    message: str
    hint: str = ""
    """What to do about it."""


class Problems(Value):
    """The body of every response that is not a success."""

    error: Problem
