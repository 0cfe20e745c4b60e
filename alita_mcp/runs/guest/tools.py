"""Modules `alita_tools` and `alita_tools.aio`: the library's tools as functions.

A call is started with one question and fetched with others, so that several are under way at once though the host
answers one question at a time. A thread that waits fetches for all.
"""

from __future__ import annotations

import base64
import builtins
import json
import sys
import threading
import time
import types
from collections.abc import Callable, Generator
from typing import Any

_PAUSE = 0.001
"""After an answer without news another thread has its turn."""


class Library:
    """Client of the library: asks the host, and tracks calls under way and results."""

    def __init__(self, ask: Callable[[str, dict[str, Any]], Any]) -> None:
        self._ask_host = ask
        self._asking: list[str] = []
        self._fetching = threading.Lock()
        self._full = False
        """Whether it is of no use to start one more call before the next news."""
        self._parts: dict[int, list[str]] = {}
        self._done: dict[int, dict[str, Any]] = {}
        self._described: dict[str, dict[str, Any]] = {}

    def function(self, name: str) -> Callable[..., Any]:
        """A tool as a function."""
        steps = self._steps_of(name)

        def call(*args: Any, **named: Any) -> Any:
            rest = steps(*args, **named)
            while True:
                try:
                    next(rest)
                except StopIteration as end:
                    return end.value

        return self._name_after_tool(call, name)

    def coroutine_function(self, name: str) -> Callable[..., Any]:
        """A tool as a function to await."""
        to_await: Any = types.coroutine(self._steps_of(name))

        async def call(*args: Any, **named: Any) -> Any:
            return await to_await(*args, **named)

        return self._name_after_tool(call, name)

    def _describe(self, name: str) -> dict[str, Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._described:
            try:
                self._described[name] = self._ask("describe", {"name": name})
            except (LookupError, ValueError, RuntimeError) as unknown:
                raise ImportError(str(unknown)) from None
        return self._described[name]

    def _name_after_tool(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        described = self._describe(name)
        call.__name__ = call.__qualname__ = name
        call.__module__ = "alita_tools"
        call.__doc__ = f"{described['stub']}\n\n{described['summary']}"
        return call

    def _steps_of(self, name: str) -> Callable[..., Generator[None, None, Any]]:
        """A call in steps; between them others may go on."""
        described = self._describe(name)
        parameters, stub = described["parameters"], described["stub"]

        def steps(*args: Any, **named: Any) -> Generator[None, None, Any]:
            try:
                given = _bind_arguments(parameters, args, named)
                while self._full or (ticket := self._start_call(name, given)) is None:
                    self._fetch(None)
                    yield
            except (TypeError, ValueError) as wrong:
                kind = TypeError if isinstance(wrong, TypeError) else ValueError
                raise kind(f"{name}: {wrong}\n{stub}") from None
            yield
            while ticket not in self._done:
                self._fetch(ticket)
                yield
            return _value(self._done.pop(ticket))

        return steps

    def _start_call(self, name: str, arguments: dict[str, Any]) -> int | None:
        """Starts a call; returns its number, or None while too many are under way."""
        ticket: int | None = self._ask("start", {"name": name, "arguments": arguments})
        self._full = ticket is None
        return ticket

    def _ask(self, service: str, words: dict[str, Any]) -> Any:
        """Asks what is answered at once; no thread begins to wait before that."""
        self._asking.append(service)
        try:
            return self._ask_host(f"tools.{service}", words)
        finally:
            self._asking.pop()

    def _fetch(self, ticket: int | None) -> None:
        """Takes the next piece of a result, of any thread; nothing where that one is there already."""
        with self._fetching:
            if ticket in self._done:
                return
            news = None
            if not self._asking:
                news = self._ask_host("tools.wait", {})
                self._full = False
            if news is not None:
                parts = self._parts.setdefault(news["ticket"], [])
                parts.append(news["text"])
                if not news["more"]:
                    self._done[news["ticket"]] = json.loads("".join(self._parts.pop(news["ticket"])))
                return
        time.sleep(_PAUSE)


def install_modules() -> None:
    """Makes `alita_tools` and `alita_tools.aio` importable."""
    library = Library(sys.modules["alita_tool"]._ask)  # noqa: SLF001
    plain = types.ModuleType("alita_tools", "The library's tools as functions; `aio` has the same to await.")
    to_await = types.ModuleType("alita_tools.aio", "The library's tools as functions to await.")
    vars(plain).update(__getattr__=library.function, aio=to_await)
    vars(to_await).update(__getattr__=library.coroutine_function)
    sys.modules.update({"alita_tools": plain, "alita_tools.aio": to_await})


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
