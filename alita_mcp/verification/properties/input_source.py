"""Host side of `input_program`: generated arguments."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from alita_mcp.values import Example, Schema
from alita_mcp.verification.findings import json_key

Arguments = dict[str, Any]

DRAWN_WITHIN_S = 10.0
_PROGRAM = Path(__file__).with_name("input_program.py")
_MAX_LINE = 4 << 20
_MAX_EXAMPLE_CHARACTERS = 4_000
"""Larger examples are not looked at for values that the tool understands."""


class InputSource:
    """Client of one input program; its draws depend on schema, examples, count and seed alone."""

    def __init__(self, process: Process, order: dict[str, Any]) -> None:
        self._process = process
        self._order = order

    async def draw(self) -> list[Arguments]:
        """All inputs, each once, in the order of drawing; fewer, or none, where drawing is too slow."""
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("it was started with pipes")
        drawn: dict[str, Arguments] = {}
        ended = (
            anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.IncompleteRead, anyio.DelimiterNotFound,
        )  # fmt: skip
        lines = BufferedByteReceiveStream(self._process.stdout)
        with anyio.move_on_after(DRAWN_WITHIN_S), suppress(*ended):
            await self._process.stdin.send(json.dumps(self._order).encode() + b"\n")
            while True:
                arguments = json.loads(await lines.receive_until(b"\n", _MAX_LINE))
                drawn.setdefault(json_key(arguments), arguments)
        return list(drawn.values())


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
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    process.kill()
                await process.aclose()
