"""What is asked to run once, and what came of it."""

from __future__ import annotations

import keyword
from typing import Any

from pydantic import Field, JsonValue

from alita_mcp.errors import InvalidArguments
from alita_mcp.library.recorded_run import ResultKind
from alita_mcp.values import Grants, Value

MAX_CODE_BYTES = 100_000


class CodeRequest(Value):
    """Code that a client wants to run once."""

    code: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """Names that the code sees; `input` holds the lines that `input()` reads."""
    packages: tuple[str, ...] = ()
    grants: Grants = Grants()
    session: str = ""
    """Name of the session that it is a step of; empty: it runs alone."""
    compare: bool = False
    """Whether it runs a second time elsewhere, to see whether the results agree."""

    def checked(self) -> CodeRequest:
        """The same, once it is known that it can run.

        Raises:
            InvalidArguments: there is no code, too much of it, or an argument is no name.
        """
        if not self.code.strip():
            raise InvalidArguments("There is no code to run.", hint="Send Python in `code`.")
        size = len(self.code.encode("utf-8", "replace"))
        if size > MAX_CODE_BYTES:
            raise InvalidArguments(
                f"The code has {size:,} bytes, the limit is {MAX_CODE_BYTES:,}.",
                hint="Send data in `arguments` instead of in the code.",
            )
        for name in self.arguments:
            if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
                raise InvalidArguments(
                    f"{name[:80]!r} in `arguments` is no name that code can use.",
                    hint="Each key becomes a variable of the code: use Python names.",
                )
        return self


class Figure(Value):
    """A picture that code showed."""

    mime_type: str
    """`image/png` or `image/svg+xml`."""
    data: str
    """In base64; the text itself for SVG."""


class WrittenFile(Value):
    """A file that code left in its scratch folder."""

    name: str
    """Path below the folder."""
    data: bytes


class CodeRun(Value):
    """One run: whatever the code did."""

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
    seconds: float = 0.0
    sandbox: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ended without an error."""
        return self.status == "ok"
