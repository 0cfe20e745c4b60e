"""Bundle of the supervisor's source: the files of `runner/` as one text, sent over stdin to `python -c`."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

_HERE = "alita_mcp.sandbox"
_PACKAGES = (
    "alita_mcp", _HERE, f"{_HERE}.wire", f"{_HERE}.runner", f"{_HERE}.runner.supervisor", f"{_HERE}.runner.tool",
)  # fmt: skip
_SUPERVISOR = """
    wire.frames wire.reports runner.supervisor.hardening runner.supervisor.facts runner.supervisor.loop
    runner.supervisor.processes runner.supervisor.child_process runner.supervisor.scratch runner.supervisor.tunnel
    runner.supervisor.zygote runner.supervisor.warm runner.supervisor.main
"""
_ZYGOTE = """
    wire.strict_json runner.tool.rehearsal runner.tool.failures runner.tool.workspace runner.tool.pictures
    runner.tool.grants runner.tool.shapes runner.tool.calling runner.tool.call runner.tool.zygote
"""
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
def _bundle(modules: str) -> dict[str, Any]:
    sources = [(f"{_HERE}.{module}", _source(module)) for module in modules.split()]
    return {"packages": _PACKAGES, "modules": sources, "entry": sources[-1][0]}


@cache
def _source(module: str) -> str:
    return resources.files(_HERE).joinpath(f"{module.replace('.', '/')}.py").read_text("utf-8")
