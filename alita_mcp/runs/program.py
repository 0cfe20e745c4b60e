"""Text of the program that a worker imports in order to run code, made of the modules of `guest/`.

Imports the standard library alone: the build of the embedded sandbox compiles the program with the component.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FUNCTION = "run_code"
SESSION = "serve_session"
_PARTS = ("errors", "figures", "files", "plots", "steps", "tools")
"""Modules of `guest/` that are compiled at their first use."""


@cache
def program() -> str:
    """Makes the text of a module with the functions `run_code(code, arguments)` and `serve_session()`."""
    parts = json.dumps({name: _source(name) for name in _PARTS}, ensure_ascii=True)
    return f"{_source('script')}\nSOURCES.update({parts})\n"


def _source(name: str) -> str:
    return (Path(__file__).parent / "guest" / f"{name}.py").read_text("utf-8")
