"""Bundle of the supervisor's source: the files of `runner/` as one text, sent over stdin to `python -c`."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

_PACKAGES = (
    "alita_mcp", "alita_mcp.sandbox", "alita_mcp.sandbox.wire", "alita_mcp.sandbox.runner",
    "alita_mcp.sandbox.runner.supervisor", "alita_mcp.sandbox.runner.tool",
)  # fmt: skip
_SUPERVISOR = (
    "wire.frames",
    *(
        f"runner.supervisor.{name}"
        for name in (
            "hardening", "facts", "loop", "reaper", "spawn", "child_process", "scratch", "tunnel", "zygote_link",
            "warm", "main",
        )
    ),
)  # fmt: skip
_ZYGOTE = (
    "wire.strict_json",
    *(
        f"runner.tool.{name}"
        for name in (
            "file_times", "clock", "seeding", "failures", "workspace", "pictures", "grants", "shapes", "call",
            "zygote",
        )
    ),
)  # fmt: skip
"""What the supervisor starts; the last module is entered."""


@cache
def boot_program() -> str:
    """Program for `python -I -S -c`; `boot_program(), "0"` are the last arguments of a sandbox's command."""
    return _source("runner.boot")


def command(python: str) -> tuple[str, ...]:
    """The command that becomes the supervisor once it has read its bundle from stdin."""
    return (python, "-I", "-S", "-B", "-c", boot_program(), "0")


def supervisor_bundle(token: bytes, *, egress: bool) -> bytes:
    """The bundle's bytes, the first ones on the wire."""
    zygote = _bundle(_ZYGOTE)
    options = {"token": token.hex(), "egress": egress, "boot": boot_program(), "zygote": zygote}
    text = json.dumps(_bundle(_SUPERVISOR) | {"options": options}).encode()
    return b"%d\n" % len(text) + text


@cache
def _bundle(modules: tuple[str, ...]) -> dict[str, Any]:
    sources = [(_name(module), _source(module)) for module in modules]
    return {"packages": _PACKAGES, "modules": sources, "entry": _name(modules[-1])}


def _name(module: str) -> str:
    return f"{_PACKAGES[1]}.{module}"


@cache
def _source(module: str) -> str:
    return resources.files("alita_mcp.sandbox").joinpath(f"{module.replace('.', '/')}.py").read_text("utf-8")
