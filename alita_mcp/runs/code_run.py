"""Requests, results and records of code that runs, alone or as a step of a session."""

from __future__ import annotations

import json
import keyword
import re
from typing import Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from alita_mcp.errors import InvalidArguments
from alita_mcp.library.private_text import holds_secret
from alita_mcp.values import Grants, Value

MAX_CODE_BYTES = 100_000
RUN_ID = re.compile(r"[0-9a-f]{32}")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
ResultKind = Literal["json", "repr", "cut", "none"]
"""`json`: the result is the value; `repr`: it was not JSON, this is its `repr`; `cut`: it was too large, this is how it
begins; `none`: there was none."""


class CodeRequest(Value):
    """Request to run code, alone or as a step of a session."""

    code: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """Names that the code sees; `input` holds the lines that `input()` reads."""
    packages: tuple[str, ...] = ()
    grants: Grants = Grants()
    session: str = ""
    """Name of the session that it is a step of; empty: it runs alone."""

    def check(self) -> None:
        """Refuses what cannot run.

        Raises:
            InvalidArguments: there is no code, too much of it, or an argument or the session has no valid name.
        """
        if not self.code.strip():
            raise InvalidArguments("The code is empty.", hint="Send Python in `code`.")
        size = len(self.code.encode("utf-8", "replace"))
        if size > MAX_CODE_BYTES:
            raise InvalidArguments(
                f"The code has {size:,} bytes, the limit is {MAX_CODE_BYTES:,}.",
                hint="Send data in `arguments` instead of in the code.",
            )
        for name in self.arguments:
            if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
                raise InvalidArguments(
                    f"Invalid name {name[:80]!r} in `arguments`: each key becomes a variable of the code.",
                    hint="Use Python names.",
                )
        if self.session and not _SESSION.fullmatch(self.session):
            raise InvalidArguments(
                f"Invalid session name {self.session[:80]!r}.",
                hint="Use up to 64 letters, digits, dots, dashes and underscores, starting with a letter or digit.",
            )
        if self.session and self.grants.workspace == "write":
            raise InvalidArguments(
                "A session cannot write to the workspace.", hint="Run this code without `session`."
            )


class Figure(Value):
    """Picture that code showed, small enough for a reply; others are files."""

    mime_type: str
    """`image/png`."""
    data: str
    """In base64."""


class WrittenFile(Value):
    """File that code left in its scratch folder, or a figure that is too large for a reply."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    name: str
    """Path below the folder."""
    data: bytes


class RunOutcome(Value):
    """What code gave, whether it succeeded or failed."""

    status: str = "ok"
    """As in `RunResult.status`; `seen` for a program that ran elsewhere, of which nothing but its code is known."""
    result: Any = None
    result_kind: ResultKind = "none"
    stdout: str = ""
    error_type: str = ""
    error: str = ""
    tools: tuple[str, ...] = ()
    """Tools of the library that it called."""

    @property
    def ok(self) -> bool:
        """Whether it ended without an error."""
        return self.status == "ok"


class CodeRun(RunOutcome):
    """Result of one run of code."""

    stderr: str = ""
    trace: str = ""
    """The script's own lines of the traceback."""
    figures: tuple[Figure, ...] = ()
    files: tuple[WrittenFile, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left out and why: a figure that is too large, files over the limit."""
    step: int = 0
    """Which step of its session it was; 0: it ran alone."""
    seconds: float = 0.0
    sandbox: str = ""


class RecordedRun(RunOutcome):
    """A run of `run_code`; values are those that were really seen."""

    id: str = Field(pattern=RUN_ID.pattern)
    """It cannot be guessed."""
    at: str
    """ISO 8601, UTC."""
    session: str = ""
    """The session it was a step of; such a run depends on the steps before it."""
    code: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """Names that the code saw; `input` among them holds the lines that `input()` read."""
    packages: tuple[str, ...] = ()
    pure: bool = True
    """Whether it asked for nothing beyond computing: no grants, no tools, no session."""

    @property
    def holds_secret(self) -> bool:
        """Whether its code or values hold what looks like a key or a password."""
        values = json.dumps([self.arguments, self.result], default=repr)
        return any(map(holds_secret, (self.code, values, self.stdout, self.error)))


class CodeRunResult(Value):
    """Result of one run of code, as its caller reads it."""

    id: str
    """Names the run in `from_run` and in `alita://runs/{id}`."""
    run: CodeRun
    session: str = ""
    """The session that it was a step of."""
    keep: str = ""
    """How to keep it as a tool, where like code ran several times."""
