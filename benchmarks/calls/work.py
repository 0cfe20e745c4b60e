"""Work of every contender: `add(a, b)`, JSON in and JSON out; each call has numbers of its own."""

from __future__ import annotations

import itertools
import json
from typing import Any

from alita_mcp.sandbox.interface import Broker, Job, Sandbox
from benchmarks.calls.timing import Call, ContenderFailed, Stopwatch

ADD = 'def add(a: int, b: int) -> int:\n    """Adds two numbers."""\n    return a + b\n'
FROM_STDIN = f"import json, sys\n{ADD}print(json.dumps(add(**json.load(sys.stdin))))\n"
"""The same work as a program of its own."""
SLOW_IMPORT = (
    f"import time\n_begin = time.perf_counter()\nwhile time.perf_counter() < _begin + 0.02:\n    pass\n{ADD}"
)
"""The same work in a tool whose import takes 20 ms."""
_numbers = itertools.count(1)


def new_arguments() -> dict[str, int]:
    """Arguments that no call had before, so that no cache can answer."""
    return {"a": next(_numbers), "b": 40}


def check(name: str, arguments: dict[str, int], answer: Any) -> None:
    """Lets right answers pass.

    Raises:
        ContenderFailed: the sum is wrong.
    """
    if answer != arguments["a"] + arguments["b"]:
        raise ContenderFailed(f"{name} answered {answer!r} to {arguments}")


def parsed(name: str, text: bytes | str) -> Any:
    """The JSON that a program printed.

    Raises:
        ContenderFailed: it printed something else.
    """
    try:
        return json.loads(text)
    except ValueError as problem:
        raise ContenderFailed(f"{name} printed {text[:200]!r}") from problem


async def first_calls(sandbox: Sandbox, tools: int) -> list[float]:
    """Seconds of the first calls of so many tools, each with the start of its worker; one more goes first.

    Raises:
        ContenderFailed: an answer is wrong.
    """
    return [await at_the_seam(sandbox, version)() for version in range(1, tools + 2)][1:]


def at_the_seam(sandbox: Sandbox, version: int = 0, source: str = ADD) -> Call:
    """Calls of one tool in one sandbox; each version is another tool as far as the pool can tell."""

    async def call() -> float:
        arguments = new_arguments()
        code = f"{source}\n# version {version}\n" if version else source
        watch = Stopwatch()
        value = await value_of(sandbox, Job(code=code, function="add", arguments=arguments))
        seconds = watch.seconds
        check(sandbox.kind, arguments, value)
        return seconds

    return call


async def value_of(sandbox: Sandbox, job: Job, broker: Broker | None = None) -> Any:
    """What one call gives.

    Raises:
        ContenderFailed: it fails.
    """
    result = await sandbox.run(job, broker)
    if not result.ok:
        raise ContenderFailed(f"{sandbox.kind}: {result.status} {result.error_type} {result.message}")
    return result.value
