"""Two runs of the same code side by side: whether they agree, and how they differ where they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from alita_mcp.app.runs.comparison import OTHER_WORLD, compare, compared, open_second_sandbox
from alita_mcp.errors import PackagesRejected
from alita_mcp.interpreter.code_run import CodeRun, WrittenFile
from alita_mcp.sandbox.choose import silent
from alita_mcp.sandbox.interface import RunResult, Sandbox
from alita_mcp.sandbox.variants.scripted import ScriptedSandbox
from alita_mcp.settings import Settings


def idle_sandbox(kind: str) -> ScriptedSandbox:
    return ScriptedSandbox(lambda job: RunResult(status="ok"), kind=kind)


def ok(result: Any = None, stdout: str = "", **files: bytes) -> CodeRun:
    written = tuple(WrittenFile(name=name, data=data) for name, data in files.items())
    return CodeRun(status="ok", result=result, stdout=stdout, files=written)


def failed(kind: str) -> CodeRun:
    return CodeRun(status="error", error_type=kind, error="words that differ from Python to Python")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ok([1, 0.1 + 0.2]), ok([1.0, 0.3])),
        (ok("<A object at 0x7f12>"), ok("<A object at 0x0012ab>")),
        (failed("ValueError"), failed("ValueError").model_copy(update={"error": "other words"})),
        (ok(1, "a", f=b"\xff"), ok(1, "a", f=b"\xff")),
    ],
)
def test_runs_that_give_the_same_agree(one: CodeRun, other: CodeRun) -> None:
    assert compared(one, other, "wasm").agree


@pytest.mark.parametrize(
    ("one", "other", "difference", "there"),
    [
        (ok([1, {"a": 2}]), ok([1, {"a": 3}]), 'result[1].a: [1, {"a": 2}]', '[1, {"a": 3}]'),
        (ok("0x1a2b"), ok("0x3c4d"), "result", '"0x3c4d"'),
        (ok(1), failed("KeyError"), 'how it ends: "ok"', '"KeyError"'),
        (CodeRun(status="timeout"), ok(1), 'how it ends: "timeout"', '"ok"'),
        (ok(1, "a"), ok(1, "b"), 'stdout: "a"', '"b"'),
        (ok(1, a=b""), ok(1, b=b""), "files", '["b"]'),
        (ok(1, a=b"x"), ok(1, a=b"y"), 'file a: "x"', '"y"'),
        (ok(1, a=b"\xff"), ok(1, a=b"\xfe"), "file a", "1 bytes, SHA-256"),
    ],
)
def test_runs_that_differ_say_where_and_how(
    one: CodeRun, other: CodeRun, difference: str, there: str
) -> None:
    found = compared(one, other, "wasm")
    assert not found.agree
    assert found.difference.startswith(difference)
    assert there in found.other


async def test_packages_that_the_other_kind_has_not_are_compared_in_the_first() -> None:
    first, second = idle_sandbox("docker"), idle_sandbox("wasm")
    asked: list[tuple[str, Any]] = []

    async def run_in(where: Sandbox, elsewhere: Mapping[str, Any] | None = None) -> CodeRun:
        asked.append((where.kind, elsewhere))
        if where is second:
            raise PackagesRejected("no wheel")
        return ok(1)

    found = await compare(ok(1), first, second, run_in)
    assert asked == [("wasm", None), ("docker", OTHER_WORLD)]
    assert (found.agree, found.elsewhere) == (True, "another hash seed, clock and random seed")


async def test_beside_the_embedded_sandbox_there_is_no_second(settings: Settings) -> None:
    async with open_second_sandbox(settings) as second:
        assert await second.beside(idle_sandbox("wasm"), silent) is None


@pytest.mark.slow
async def test_beside_another_kind_the_embedded_sandbox_is_opened_once(settings: Settings) -> None:
    first = idle_sandbox("docker")
    async with open_second_sandbox(settings) as second:
        opened = await second.beside(first, silent)
        assert opened is not None
        assert opened.kind == "wasm"
        assert await second.beside(first, silent) is opened
