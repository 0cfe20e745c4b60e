"""Host side of `input_program`: generated arguments, and the smallest failing ones."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from alita_mcp.values import Example, Schema
from alita_mcp.verification.findings import json_key

Arguments = dict[str, Any]
Fails = Callable[[Arguments], Awaitable[bool]]

DRAWN_WITHIN_S = 10.0
_PROGRAM = Path(__file__).with_name("input_program.py")
_ENDS_WITHIN_S = 1.0
_MAX_LINE = 4 << 20
_MAX_EXAMPLE_CHARACTERS = 4_000
"""Larger examples are not looked at for values that the tool understands."""


class NoInputs(Exception):
    """Raised when the program ended or took too long; the message says which."""


class InputSource:
    """Client of one input program; its draws depend on schema, examples, count and seed alone."""

    def __init__(self, process: Process, order: dict[str, Any]) -> None:
        if process.stdin is None or process.stdout is None:
            raise AssertionError("it was started with pipes")
        self._in, self._out = process.stdin, BufferedByteReceiveStream(process.stdout)
        self._order = order
        self._listens = False
        self.process = process

    async def draw(self) -> list[Arguments]:
        """All inputs, each once, in the order of drawing; fewer where drawing is too slow.

        Raises:
            NoInputs: there are none in time.
        """
        drawn: dict[str, Arguments] = {}
        with anyio.move_on_after(DRAWN_WITHIN_S):
            await self._say(self._order)
            while (arguments := await self._hear()) is not None:
                drawn.setdefault(json_key(arguments), arguments)
            self._listens = True
        if not drawn:
            raise NoInputs(f"nothing was drawn within {DRAWN_WITHIN_S:g} s")
        return list(drawn.values())

    async def shrink(self, fails: Fails, best: Arguments) -> Arguments:
        """The smallest failing input found from a failing one; an input must fail each time."""
        if not self._listens:
            return best
        try:
            await self._say("shrink")
            while (arguments := await self._hear()) is not None:
                failed = await fails(arguments)
                if failed:
                    best = min(best, arguments, key=lambda each: (len(json_key(each)), json_key(each)))
                await self._say(failed)
        except NoInputs:
            return best
        return best

    async def _say(self, value: Any) -> None:
        try:
            await self._in.send(json.dumps(value).encode() + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as gone:
            raise NoInputs("the program that draws inputs ended") from gone

    async def _hear(self) -> Any:
        try:
            return json.loads(await self._out.receive_until(b"\n", _MAX_LINE))
        except (anyio.IncompleteRead, anyio.DelimiterNotFound, anyio.ClosedResourceError) as gone:
            raise NoInputs("the program that draws inputs ended") from gone


@asynccontextmanager
async def input_source(
    schema: Schema, examples: Sequence[Example], seed: int, count: int
) -> AsyncIterator[InputSource]:
    """Starts the program at once and ends it on exit."""
    shown = [
        example.arguments
        for example in examples
        if len(json_key(example.arguments)) <= _MAX_EXAMPLE_CHARACTERS
    ]
    order = {"schema": schema, "examples": shown, "seed": seed, "count": count}
    with tempfile.TemporaryDirectory(prefix="alita-inputs-") as folder:
        # cut in half, a start would leave an orphan process
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [sys.executable, "-I", str(_PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
            )
        try:
            yield InputSource(process, order)
            with anyio.move_on_after(_ENDS_WITHIN_S):
                if process.stdin is not None:
                    await process.stdin.aclose()  # the program then ends by itself
                await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    process.kill()
                await process.aclose()
