"""Requests and results of code that runs once."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field, JsonValue

from alita_mcp.errors import InvalidArguments
from alita_mcp.runs.history.run import ResultKind
from alita_mcp.values import Grants, Value

MAX_CODE_BYTES = 100_000
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class CodeRequest(Value):
    """Request to run code once."""

    code: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """Names that the code sees; `input` holds the lines that `input()` reads."""
    packages: tuple[str, ...] = ()
    grants: Grants = Grants()
    session: str = ""
    """Name of the session that it is a step of; empty: it runs alone."""

    def checked(self) -> CodeRequest:
        """The same, once it is known that it can run.

        Raises:
            InvalidArguments: there is no code, too much of it, or an argument or the session is no name.
        """
        if not self.code.strip():
            raise InvalidArguments("There is no code to run.", hint="Send Python in `code`.")
        size = len(self.code.encode("utf-8", "replace"))
        if size > MAX_CODE_BYTES:
            raise InvalidArguments(
                f"The code has {size:,} bytes, the limit is {MAX_CODE_BYTES:,}.",
                hint="Send data in `arguments` instead of in the code.",
            )
        _check_names(self.arguments)
        self._check_session()
        return self

    def _check_session(self) -> None:
        if self.session and not _SESSION.fullmatch(self.session):
            raise InvalidArguments(
                f"{self.session[:80]!r} is no name for a session.",
                hint="Use up to 64 letters, digits, dots, dashes and underscores, a letter or digit first.",
            )
        if self.session and self.grants.workspace == "write":
            raise InvalidArguments(
                "A session changes no files of the workspace.", hint="Run this code without `session`."
            )


def _check_names(arguments: Mapping[str, Any]) -> None:
    for name in arguments:
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
            raise InvalidArguments(
                f"{name[:80]!r} in `arguments` is no name that code can use.",
                hint="Each key becomes a variable of the code: use Python names.",
            )


class Figure(Value):
    """Picture that code showed, small enough for a reply; others are files."""

    mime_type: str
    """`image/png`."""
    data: str
    """In base64."""


class WrittenFile(Value):
    """File that code left in its scratch folder, or a figure that is too large for a reply."""

    name: str
    """Path below the folder."""
    data: bytes


class CodeRun(Value):
    """Result of one run of code, whether it succeeded or failed."""

    status: str
    """As in `RunResult.status`."""
    result: Any = None
    result_kind: ResultKind = "none"
    stdout: str = ""
    stderr: str = ""
    error_type: str = ""
    error: str = ""
    trace: str = ""
    """The script's own lines of the traceback."""
    figures: tuple[Figure, ...] = ()
    files: tuple[WrittenFile, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left out and why: a figure that is too large, files over the limit."""
    tools: tuple[str, ...] = ()
    """Tools of the library that it called."""
    step: int = 0
    """Which step of its session it was; 0: it ran alone."""
    seconds: float = 0.0
    sandbox: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ended without an error."""
        return self.status == "ok"
