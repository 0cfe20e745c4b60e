"""Conformance claims about limits: each holds at its value, and the message names it with that value.

Every program gives up by itself a little above its limit, so that a back end without limits does no harm.
"""

from __future__ import annotations

from alita_mcp.sandbox.conformance.claims import (
    Broken,
    Claim,
    Subject,
    chapter,
    hits,
    of_result,
    raise_if_lacking,
    shown,
)
from alita_mcp.values import Limits

_MEMORY = 64 << 20
_GREEDY = """
def f():
    held = []
    for n in range(80):
        held.append([n] * 500000)
    return 'it had all of it'
"""
_LOOP = """
import time
def f():
    until = time.monotonic() + 5
    while time.monotonic() < until:
        pass
    return 'it ran on'
"""
_SLEEP = "import time\ndef f():\n    time.sleep(5)\n    return 'it slept on'\n"
_LOOP_AT_IMPORT = """
import time
until = time.monotonic() + 5
while time.monotonic() < until:
    pass
def f():
    return 'it was imported'
"""
_FLOOD = "def f():\n    for _ in range(20000):\n        print('x' * 100)\n    return 'it wrote on'\n"
_DEEP = "def f():\n    return [[[[1]]]]\n"
_FORKS = """
import os, signal, time
def f(most):
    children = []
    try:
        while len(children) < most:
            child = os.fork()
            if child == 0:
                time.sleep(20)
                os._exit(0)
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
    return len(children)
"""
_FILES = """
import os
def f(most):
    held = []
    try:
        while len(held) < most:
            held.append(os.open('/dev/null', os.O_RDONLY))
    except OSError:
        pass
    for fd in held:
        os.close(fd)
    return len(held)
"""
_SCRATCH = """
import tempfile
def f(most):
    written = 0
    with tempfile.TemporaryFile() as file:
        try:
            while written < most:
                file.write(b'x' * 65536)
                file.flush()
                written += 65536
        except OSError:
            pass
    return written
"""
_SCRATCH_FILES = """
import os, tempfile
def f(most):
    made = 0
    folder = tempfile.mkdtemp()
    try:
        while made < most:
            open(os.path.join(folder, str(made)), 'w').close()
            made += 1
    except OSError:
        pass
    return made
"""


def _bounded(sentence: str, code: str, bound: int, limits: Limits) -> Claim:
    """A claim about a program that counts how much it gets; it asks for twice the bound and must get less."""

    async def attempt(subject: Subject) -> None:
        result = await subject.run(code, {"most": 2 * bound}, limits=limits)
        if result.status == "memory":
            return
        if not result.ok:
            raise_if_lacking(result)
            if str(bound) in result.message:
                return
            raise Broken(shown(result))
        if not isinstance(result.value, int) or not 0 <= result.value <= bound:
            raise Broken(f"it got {result.value} where the limit is {bound}")

    return Claim("", sentence, attempt)


LIMITS = chapter(
    "limits",
    of_result("ends a loop at wall_seconds", _LOOP, hits("timeout", "1 s"), limits=Limits(wall_seconds=1),
              essential=True),
    of_result("ends a sleep at wall_seconds", _SLEEP, hits("timeout", "1 s"), limits=Limits(wall_seconds=1)),
    of_result("ends a loop while the code is imported", _LOOP_AT_IMPORT, hits("timeout", "1 s"),
              limits=Limits(wall_seconds=1)),
    of_result("ends a loop at cpu_seconds", _LOOP, hits("timeout", "1 s"),
              limits=Limits(wall_seconds=90, cpu_seconds=1)),
    of_result("ends a call at memory_bytes", _GREEDY, hits("memory", str(_MEMORY)),
              limits=Limits(memory_bytes=_MEMORY, wall_seconds=60), essential=True),
    of_result("ends a flood of output", _FLOOD, hits("output_flood", str(16 * 4096)),
              limits=Limits(output_bytes=4096), essential=True),
    of_result("refuses a result deeper than json_depth", _DEEP, hits("bad_result", "3"),
              limits=Limits(json_depth=3)),
    _bounded("allows no more than so many processes", _FORKS, 24, Limits(processes=24, wall_seconds=60)),
    _bounded("allows no more than so many open files", _FILES, 64, Limits(open_files=64)),
    _bounded("allows no more than so many bytes of scratch", _SCRATCH, 8 << 20, Limits(scratch_bytes=8 << 20)),
    _bounded("allows no more than so many files of scratch", _SCRATCH_FILES, 200, Limits(scratch_files=200)),
)  # fmt: skip
