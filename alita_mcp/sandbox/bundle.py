"""The files of `runner/` as one text that `python -c` turns into the supervisor; it travels over stdin."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

_PACKAGES = ("alita_mcp", "alita_mcp.sandbox", "alita_mcp.sandbox.runner")
_SUPERVISOR = (
    "frames", "runner.facts", "runner.hardening", "runner.loop", "runner.execution", "runner.tunnel",
    "runner.supervisor",
)  # fmt: skip
_CHILD = ("strict_json", "runner.clock", "runner.grants", "runner.shapes", "runner.call", "runner.build")


@cache
def boot_program() -> str:
    """What `python -I -S -c` gets; `boot_program(), "0"` are the last words of a sandbox's command."""
    return _source("runner.boot")


def command(python: str) -> tuple[str, ...]:
    """The command that becomes the supervisor once it has read its bundle from stdin."""
    return (python, "-I", "-S", "-B", "-c", boot_program(), "0")


def supervisor_bundle(token: bytes, *, egress: bool) -> bytes:
    """The first bytes on the wire."""
    options = {"token": token.hex(), "egress": egress, "boot": boot_program(), "child": _child_bundle()}
    text = json.dumps(
        _bundle(_SUPERVISOR) | {"entry": _name("runner.supervisor"), "options": options}
    ).encode()
    return b"%d\n" % len(text) + text


def child_entry(module: str) -> str:
    """Name of the module in the child's bundle whose `main` is entered: `call` or `build`."""
    return _name(f"runner.{module}")


@cache
def _child_bundle() -> str:
    return json.dumps(_bundle(_CHILD))


def _bundle(modules: tuple[str, ...]) -> dict[str, Any]:
    return {"packages": _PACKAGES, "modules": [(_name(module), _source(module)) for module in modules]}


def _name(module: str) -> str:
    return f"{_PACKAGES[1]}.{module}"


@cache
def _source(module: str) -> str:
    return resources.files("alita_mcp.sandbox").joinpath(f"{module.replace('.', '/')}.py").read_text("utf-8")
