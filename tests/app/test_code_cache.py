"""Runs that are kept for the next one of the same code: only where that surely gives the same."""

from __future__ import annotations

import pytest

from alita_mcp.app.runs.cache import CodeCache, is_steady, request_key
from alita_mcp.interpreter.code_run import CodeRequest, CodeRun, WrittenFile
from alita_mcp.values import Grants


@pytest.mark.parametrize(
    "code",
    [
        "1 + 1",
        "import math, json\nfrom collections import Counter\nmath.sqrt(Counter('aab')['a'])",
        "from datetime import date\ndate(2024, 1, 2).isoformat()",
        "class A:\n    def __init__(self):\n        super().__init__()",
        "import statistics\nstatistics.mean([1, 2])",
    ],
)  # fmt: skip
def test_code_that_only_computes_is_steady(code: str) -> None:
    assert is_steady(code)


@pytest.mark.parametrize(
    "code",
    [
        "import random\nrandom.random()",
        "import time",
        "import os",
        "import uuid",
        "import secrets",
        "import numpy",
        "from alita_tools import convert_units",
        "from . import x",
        "from datetime import datetime\ndatetime.now()",
        "import datetime as d\nd.date.today()",
        "from datetime import datetime as d\nf = d.utcnow\nf()",
        "import statistics\nstatistics.NormalDist().samples(3)",
        "import statistics\nstatistics.random.random()",
        "from statistics import random",
        "id([])",
        "f = hash\nf('a')",
        "open('f').read()",
        "import io\nio.open('/proc/self/stat')",
        "eval('1')",
        "exec('import time')",
        "__import__('time').time()",
        "().__class__.__base__.__subclasses__()",
        "getattr(1, 'x')",
        "def f(:",
        "a\x00b",
    ],
)
def test_code_that_could_vary_is_not(code: str) -> None:
    assert not is_steady(code)


async def kept(request: CodeRequest, run: CodeRun) -> bool:
    cache = CodeCache()
    key = request_key(request, "wasm")
    await cache.keep(key, request, run)
    return cache.find(key) is not None


@pytest.mark.parametrize(
    ("request_", "run"),
    [
        (CodeRequest(code="1/0"), CodeRun(status="error")),
        (CodeRequest(code="1"), CodeRun(status="ok", tools=("a",))),
        (CodeRequest(code="1"), CodeRun(status="ok", files=(WrittenFile(name="a", data=b""),))),
        (CodeRequest(code="1", session="s"), CodeRun(status="ok")),
        (CodeRequest(code="1", grants=Grants(network=("a.org",))), CodeRun(status="ok")),
        (CodeRequest(code="object()"), CodeRun(status="ok", result="<object object at 0x7f00>")),
        (CodeRequest(code="print(object())"), CodeRun(status="ok", stdout="<object object at 0x7f00>")),
        (CodeRequest(code="1"), CodeRun(status="ok", result="x" * (5 << 20))),
    ],
)
async def test_what_says_nothing_of_the_next_run_is_not_kept(request_: CodeRequest, run: CodeRun) -> None:
    assert not await kept(request_, run)
    assert await kept(CodeRequest(code="1"), CodeRun(status="ok", result=1))


def test_all_that_is_asked_for_makes_the_key() -> None:
    requests = [
        CodeRequest(code="1"),
        CodeRequest(code="2"),
        CodeRequest(code="1", arguments={"a": 1}),
        CodeRequest(code="1", arguments={"a": 1.0}),
        CodeRequest(code="1", arguments={"a": True}),
        CodeRequest(code="1", packages=("numpy",)),
        CodeRequest(code="1", session="s"),
    ]
    keys = {request_key(each, kind) for each in requests for kind in ("wasm", "docker")}
    assert len(keys) == 2 * len(requests)


async def test_the_cache_is_bounded_and_keeps_what_was_used_last() -> None:
    cache = CodeCache(max_bytes=4_000)
    requests = [CodeRequest(code=f"{number}") for number in range(40)]
    for request in requests:
        await cache.keep(request_key(request, ""), request, CodeRun(status="ok", result=1, seconds=3))
        cache.find(request_key(requests[0], ""))
    found = [cache.find(request_key(request, "")) for request in requests]
    assert found[0] is not None
    assert found[0].seconds == 0
    assert found[-1] is not None
    assert found[1] is None


async def test_a_cache_of_no_bytes_keeps_nothing() -> None:
    cache = CodeCache(max_bytes=0)
    request = CodeRequest(code="1")
    await cache.keep(b"", request, CodeRun(status="ok"))
    assert cache.find(b"") is None
