"""What a call gives and what it leaves, for every back end: subclasses give the fixture `sandbox`.

What proves isolation are the claims of `alita doctor --sandbox`, which `test_conformance_suite.py` runs on each.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from alita_mcp.errors import SandboxError, SandboxRefused
from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.values import Limits
from alita_mcp.verification.images import decode_image

WAIT_SECONDS = 120
CALLERS = 6
SQUARE = "def f(n):\n    return n * n\n"
VALUE = {
    "a": [1, 2.5, 2.0, None, True, {"b": 'Grüße ✓ \U0001f600 \u0000 " \\'}],
    "": [],
    "deep": [[[[]]]],
    "negative": -(10**18),
}


class Call(NamedTuple):
    """A call and what must come of it."""

    code: str
    holds: Callable[[RunResult], bool]
    arguments: dict[str, Any] = {}  # noqa: RUF012 - never changed
    limits: Limits = Limits()
    fails_to_load: bool = False


def gives(value: Any) -> Callable[[RunResult], bool]:
    """Exactly this value: `repr` tells True from 1 and 2.0 from 2."""
    return lambda result: result.ok and repr(result.value) == repr(value)


def ends(status: str, error_type: str | None = None, *words: str) -> Callable[[RunResult], bool]:
    return lambda result: (
        result.status == status
        and error_type in (None, result.error_type)
        and all(word in result.message for word in words)
    )


PICTURES = """
import struct, zlib
from alita_tool import Image

def _png(width=3, height=2):
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
              (b"IDAT", zlib.compress(bytes((1 + 3 * width) * height))), (b"IEND", b"")]
    return bytes([137, 80, 78, 71, 13, 10, 26, 10]) + b"".join(
        len(body).to_bytes(4) + kind + body + zlib.crc32(kind + body).to_bytes(4) for kind, body in chunks)

class _Figure:
    dpi = 100
    def get_size_inches(self):
        return 4, 3
    def get_tightbbox(self):
        return type("Box", (), {"width": 4, "height": 3})
    def savefig(self, file, format, dpi, bbox_inches):
        file.write(_png(int(4 * dpi), int(3 * dpi)))

"""


def gives_picture(kind: str, width: int, height: int) -> Callable[[RunResult], bool]:
    def holds(result: RunResult) -> bool:
        if not result.ok:
            return False
        decode_image(result.value)
        return [result.value[name] for name in ("format", "width", "height")] == [kind, width, height]

    return holds


TEMPORARY = """
import os, tempfile
def f():
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as kept:
        kept.write("kept")
    with open(kept.name) as again:
        text = again.read()
    os.remove(kept.name)
    with tempfile.NamedTemporaryFile() as gone:
        pass
    return [text, os.path.exists(kept.name), os.path.exists(gone.name)]
"""
RESULTS = {
    "its names": Call(
        "import sys\nA = [*sys.argv]\ndef f():\n    return A + sys.argv + [__file__]\n",
        gives(["tool", "tool", "tool.py"]),
    ),
    "a temporary file that is closed and opened again": Call(TEMPORARY, gives(["kept", False, False])),
    "a picture": Call(f"{PICTURES}def f():\n    return Image(_png())", gives_picture("png", 3, 2)),
    "a figure": Call(f"{PICTURES}def f():\n    return _Figure()", gives_picture("png", 400, 300)),
    "an SVG": Call(
        f"{PICTURES}def f():\n    return Image('<svg viewBox=\"0 0 30 20\"></svg>')",
        gives_picture("svg", 30, 20),
    ),
    "the value with its types": Call("def f(x):\n    return x\n", gives(VALUE), {"x": VALUE}),
    "keyword arguments and defaults": Call("def f(a, b=40):\n    return a + b\n", gives(42), {"a": 2}),
    "null for nothing": Call("def f():\n    pass\n", gives(None)),
    "a list for a tuple": Call("def f():\n    return (1, 2)\n", gives([1, 2])),
    "whole numbers of 4,000 digits": Call("def f():\n    return 10 ** 4000\n", gives(10**4000)),
    "a coroutine function": Call("async def f(a):\n    return a + 1\n", gives(2), {"a": 1}),
    "stdout apart from the result": Call(
        "def f():\n    print('hello')\n    return 1\n",
        lambda result: (result.value, result.stdout) == (1, "hello\n"),
    ),
    "stderr apart from stdout": Call(
        "import sys\ndef f():\n    print('out')\n    print('err', file=sys.stderr)\n",
        lambda result: (result.stdout, result.stderr) == ("out\n", "err\n"),
    ),
    "a long line whole, however it is written": Call(
        "import os, sys\ndef f():\n    print('x' * 30_000, flush=True)\n    sys.stderr.write('y' * 30_000)\n"
        "    return os.write(1, b'z' * 20_000)\n",
        lambda result: (
            (result.value, result.stdout, result.stderr)
            == (20_000, "x" * 30_000 + "\n" + "z" * 20_000, "y" * 30_000)
        ),
    ),
    "output cut at its limit": Call(
        "def f():\n    for _ in range(300):\n        print('x' * 99)\n    return 1\n",
        lambda result: (result.value, result.stdout[4096:]) == (1, "… (25,904 more bytes)"),
        limits=Limits(output_bytes=4096),
    ),
}
ERRORS = {
    "type, message and trace": Call(
        "def f():\n    raise ValueError('no such day')\n",
        lambda result: ends("error", "ValueError", "no such day")(result) and bool(result.trace),
    ),
    "what an exception is a kind of": Call(
        "def f():\n    return {}['x']\n",
        lambda result: result.error_kinds[:2] == ("builtins.KeyError", "builtins.LookupError"),
    ),
    "what a library's exception is a kind of": Call(
        "import json\ndef f():\n    return json.loads('{')\n",
        lambda result: {"json.decoder.JSONDecodeError", "builtins.ValueError"} <= {*result.error_kinds},
    ),
    "an exception of the tool's own": Call(
        "class Late(Exception):\n    pass\ndef f():\n    raise Late('x')\n", ends("error", "Late")
    ),
    "wrong arguments": Call("def f(a):\n    return a\n", ends("error", "TypeError"), {"b": 1}),
    "endless recursion": Call(
        "def f(n=0):\n    return f(n + 1)\n",
        lambda result: result.error_type == "RecursionError" and len(result.trace) <= 10,
    ),
    "code that does not parse": Call("def f(:\n", ends("load_failed", "SyntaxError"), fails_to_load=True),
    "code that fails at import": Call(
        "raise KeyError('early')\n", ends("load_failed", "KeyError"), fails_to_load=True
    ),
    "a function that is missing": Call(
        "def g():\n    return 1\n", ends("load_failed", None, "'f'"), fails_to_load=True
    ),
    "no picture": Call(
        f"{PICTURES}def f():\n    return Image(b'GIF89a')", ends("error", "TypeError", "PNG bytes")
    ),
    "a cut picture": Call(
        f"{PICTURES}def f():\n    return Image(_png()[:-9])", ends("error", "ValueError", "cut off")
    ),
    "a picture of 100 MB": Call(
        f"{PICTURES}def f():\n    return Image(_png()[:8] + bytes(100 << 20))",
        ends("error", "ValueError", "at most"),
    ),
    "a function that is none": Call(
        "f = 1\n", lambda result: result.status in {"load_failed", "error"}, fails_to_load=True
    ),
    "the next call": Call("def f(x):\n    return 1 / x\n", gives(0.5), {"x": 2}),
}


def in_one_module(table: dict[str, Call]) -> str:
    """All programs that load, so that one worker serves them: `f` calls the one of a number."""
    programs = [
        re.sub(r"\bf\(", f"f{number}(", call.code)
        for number, call in enumerate(table.values())
        if not call.fails_to_load
    ]
    return "\n".join([*programs, "def f(number, words):\n    return globals()[f'f{number}'](**words)\n"])


async def run(sandbox: Sandbox, code: str, limits: Limits = Limits(), **arguments: Any) -> RunResult:  # noqa: B008 - frozen
    with anyio.fail_after(WAIT_SECONDS):
        return await sandbox.run(Job(code=code, function="f", arguments=arguments, limits=limits))


async def value(sandbox: Sandbox, code: str, **arguments: Any) -> Any:
    result = await run(sandbox, code, **arguments)
    assert result.ok, result
    return result.value


class CallContract:
    """Subclasses give the fixture `sandbox`."""

    async def test_a_call_gives_what_it_must(self, sandbox: Sandbox) -> None:
        table = RESULTS | ERRORS
        module, found = in_one_module(table), {}
        for number, (name, call) in enumerate(table.items()):
            if call.fails_to_load:
                found[name] = await run(sandbox, call.code, call.limits)
            else:
                found[name] = await run(sandbox, module, call.limits, number=number, words=call.arguments)
        wrong = {name: str(found[name])[:500] for name in table if not table[name].holds(found[name])}
        assert not wrong, wrong

    async def test_arguments_that_are_no_json_or_too_large_never_reach_the_sandbox(
        self, sandbox: Sandbox
    ) -> None:
        for arguments, words in ({"n": math.nan}, "."), ({"n": "y" * (65 << 20)}, "bytes of input"):
            with pytest.raises(SandboxRefused, match=words):
                await run(sandbox, SQUARE, **arguments)

    async def test_a_trace_shows_the_tools_own_lines_and_no_folder_of_the_machine(
        self, sandbox: Sandbox
    ) -> None:
        result = await run(sandbox, "def g(x):\n    return 1 / x\n\ndef f():\n    return g(0)\n")
        assert result.error_type == "ZeroDivisionError"
        assert all(line.startswith("tool.py:") for line in result.trace)
        assert "tool.py:2" in result.trace[-1]
        assert not [at for at in (Path.cwd(), sys.prefix, Path.home()) if str(at) in "\n".join(result.trace)]

    async def test_calls_and_tools_at_once_do_not_mix(self, sandbox: Sandbox) -> None:
        squares: dict[int, Any] = {}
        numbers: dict[int, Any] = {}

        async def square(number: int) -> None:
            squares[number] = await value(sandbox, SQUARE, n=number)

        async def tell(number: int) -> None:
            numbers[number] = await value(sandbox, f"NUMBER = {number}\ndef f():\n    return NUMBER\n")

        async with anyio.create_task_group() as tasks:
            for number in range(CALLERS):
                tasks.start_soon(square, number)
                tasks.start_soon(tell, number // 3)  # two tools
        assert squares == {number: number * number for number in range(CALLERS)}
        assert numbers == {number: number for number in range(CALLERS // 3)}

    async def test_nobody_notices_what_another_call_overdoes(self, sandbox: Sandbox) -> None:
        overdone = []

        async def overdo() -> None:
            code = "def f():\n    return len([[n] * 500000 for n in range(80)])\n"
            try:
                overdone.append((await run(sandbox, code, Limits(memory_bytes=64 << 20))).status)
            except SandboxError as problem:
                overdone.append(problem.message)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(overdo)
            tasks.start_soon(overdo)
            assert [await value(sandbox, SQUARE, n=n) for n in range(6)] == [n * n for n in range(6)]
        assert "ok" not in overdone
