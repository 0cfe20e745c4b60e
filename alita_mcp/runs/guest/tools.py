"""Module `alita_tools`: the library's tools as functions."""

from __future__ import annotations

import base64
import builtins
import json
import sys
import threading
import types
from collections.abc import Callable
from typing import Any


class Library:
    """Client of the library: asks the host for one call after the other; threads take turns."""

    def __init__(self, ask: Callable[[str, dict[str, Any]], Any]) -> None:
        self._ask = ask
        self._turn = threading.Lock()
        self._described: dict[str, dict[str, Any]] = {}

    def function(self, name: str) -> Callable[..., Any]:
        """A tool as a function."""
        described = self._describe(name)
        parameters, stub = described["parameters"], described["stub"]

        def call(*args: Any, **named: Any) -> Any:
            try:
                text = self._call_tool(name, _bind_arguments(parameters, args, named))
            except (TypeError, ValueError) as wrong:
                kind = TypeError if isinstance(wrong, TypeError) else ValueError
                raise kind(f"{name}: {wrong}\n{stub}") from None
            return _value(json.loads(text))

        call.__name__ = call.__qualname__ = name
        call.__module__ = "alita_tools"
        call.__doc__ = f"{stub}\n\n{described['summary']}"
        return call

    def _describe(self, name: str) -> dict[str, Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._described:
            try:
                self._described[name] = self._ask("tools.describe", {"name": name})
            except (LookupError, ValueError, RuntimeError) as unknown:
                raise ImportError(str(unknown)) from None
        return self._described[name]

    def _call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        """What a call gave, as JSON; it arrives in pieces."""
        with self._turn:
            piece = self._ask("tools.call", {"name": name, "arguments": arguments})
            parts = [piece["text"]]
            while piece["more"]:
                piece = self._ask("tools.more", {})
                parts.append(piece["text"])
        return "".join(parts)


def install_modules() -> None:
    """Makes `alita_tools` importable."""
    module = types.ModuleType("alita_tools", "The library's tools as functions.")
    vars(module)["__getattr__"] = Library(sys.modules["alita_tool"]._ask).function  # noqa: SLF001
    sys.modules["alita_tools"] = module


def _bind_arguments(
    parameters: list[tuple[str, bool]], args: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any]:
    """Arguments by name; `parameters` are names in order and whether each is required.

    Raises:
        TypeError: they are no arguments of such a function.
    """
    names = [name for name, _required in parameters]
    if len(args) > len(names):
        raise TypeError(f"takes {len(names)} arguments, but {len(args)} were given")
    given = dict(zip(names, args, strict=False))
    for name in named:
        if name in given or name not in names:
            raise TypeError(f"got {name!r} twice" if name in given else f"has no parameter {name!r}")
    given |= named
    missing = [name for name, required in parameters if required and name not in given]
    if missing:
        raise TypeError(f"lacks {', '.join(map(repr, missing))}")
    return given


def _value(outcome: dict[str, Any]) -> Any:
    """What a tool returned; an image as `alita_tool.Image`.

    Raises:
        Exception: what it raised, where that is a class of Python's own; else RuntimeError.
    """
    if "ok" in outcome:
        value = outcome["ok"]
        if not isinstance(value, dict) or value.keys() != {"format", "width", "height", "bytes", "data"}:
            return value
        data: Any = value["data"]
        return sys.modules["alita_tool"].Image(base64.b64decode(data) if value["format"] == "png" else data)
    for name in outcome["kinds"]:
        kind = getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            try:
                raised = kind(outcome["message"])
            except TypeError:  # it is made of more than a text
                continue
            raise raised
    raise RuntimeError(outcome["message"])
