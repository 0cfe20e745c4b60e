"""Recorded run of code: the program, what it was given, and what came of it."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from pydantic import Field, JsonValue

from alita_mcp.library.private_text import holds_secret
from alita_mcp.values import Value

RUN_ID = re.compile(r"[0-9a-f]{32}")
ResultKind = Literal["json", "repr", "none"]


class RecordedRun(Value):
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
    tools: tuple[str, ...] = ()
    """Tools of the library that it called."""
    pure: bool = True
    """Whether it asked for nothing beyond computing: no grants, no tools, no session."""
    status: str = "ok"
    """As in `RunResult.status`."""
    result: Any = None
    result_kind: ResultKind = "none"
    """`json`: `result` is the value; `repr`: it was no JSON and `result` is its `repr`; `none`: there was none."""
    stdout: str = ""
    error_type: str = ""
    error: str = ""
    """The error's text."""

    @property
    def ok(self) -> bool:
        """Whether it ended without an error."""
        return self.status == "ok"

    @property
    def holds_secret(self) -> bool:
        """Whether its code or values hold what looks like a key or a password."""
        values = json.dumps([self.arguments, self.result], default=repr)
        return any(map(holds_secret, (self.code, values, self.stdout, self.error)))
