"""Programs that end, or answer, in ways that no tool should."""

from __future__ import annotations

from tests.sandbox.hostile import Hostile, ends, gives

ENDINGS = (
    Hostile(
        "exits",
        """
import sys
def f():
    sys.exit(0)
""",
        lambda r: r.status == "error" and r.error_type == "SystemExit",
    ),
    Hostile(
        "exits_hard",
        """
import os
def f():
    os._exit(0)
""",
        ends("crashed"),
    ),
    Hostile(
        "exits_hard_but_leaves_a_child",
        """
import os, time
def f():
    if os.fork() == 0:
        time.sleep(9999)
    os._exit(0)
""",
        ends("crashed"),
    ),
    Hostile(
        "interrupts_itself",
        """
def f():
    raise KeyboardInterrupt
""",
        ends("error"),
    ),
    Hostile(
        "segfaults",
        """
import ctypes
def f():
    ctypes.string_at(0)
""",
        lambda r: r.status == "crashed" and "SIGSEGV" in r.message,
    ),
    Hostile(
        "aborts",
        """
import os
def f():
    os.abort()
""",
        ends("crashed"),
    ),
    Hostile(
        "kills_itself",
        """
import os
def f():
    os.kill(os.getpid(), 9)
""",
        ends("crashed"),
    ),
    Hostile(
        "kills_all",
        """
import os
def f():
    os.kill(-1, 9)
    return 5
""",
        ends("ok", "error", "crashed"),
    ),
    Hostile(
        "recursion_without_limit",
        """
import sys
def f():
    sys.setrecursionlimit(10 ** 9)
    def g(n):
        return [g(n + 1)]
    return g(0)
""",
        ends("crashed", "error", "memory", "timeout"),
    ),
    Hostile(
        "closes_everything",
        """
import os
def f():
    os.closerange(0, 256)
    return 1
""",
        ends("crashed"),
        embedded=gives(lambda v: v == 1),
    ),
    Hostile(
        "closes_everything_and_waits",
        """
import os, time
def f():
    os.closerange(0, 256)
    time.sleep(1e5)
""",
        lambda r: r.status == "crashed" and "channel" in r.message,
    ),
    Hostile(
        "closes_everything_at_import",
        """
import os
os.closerange(0, 64)
def f():
    return 1
""",
        ends("crashed", "load_failed"),
        embedded=gives(lambda v: v == 1),
    ),
    Hostile(
        "exits_at_import",
        """
import os
os._exit(0)
""",
        ends("load_failed"),
    ),
    Hostile(
        "crashes_at_import",
        """
import ctypes
ctypes.string_at(0)
""",
        ends("load_failed"),
    ),
    Hostile(
        "floods_at_import",
        """
import os
while True:
    os.write(1, b'a' * 65536)
""",
        ends("output_flood"),
        spoils_itself=True,
    ),
    Hostile(
        "floods_stderr",
        """
import os
def f():
    while True:
        os.write(2, b'y' * 65536)
""",
        ends("output_flood"),
    ),
    Hostile(
        "writes_no_utf8",
        r"""
import os
def f():
    os.write(1, b'\xff\xfeabc')
    return 1
""",
        lambda r: r.status == "ok" and r.stdout.endswith("abc"),
    ),
    Hostile(
        "keeps_streams_apart",
        """
import sys
def f():
    print('out')
    print('err', file=sys.stderr)
""",
        lambda r: (r.stdout, r.stderr) == ("out\n", "err\n"),
    ),
    Hostile(
        "reads_stdin",
        """
import os, sys
def f():
    return [sys.stdin.read(), len(os.read(0, 100))]
""",
        gives(lambda v: v == ["", 0]),
    ),
    Hostile(
        "hostile_exception",
        """
class X(Exception):
    def __str__(self):
        raise SystemExit('no')
    __repr__ = __str__
def f():
    raise X()
""",
        lambda r: r.status == "error" and r.error_type == "X",
    ),
    Hostile(
        "half_a_surrogate_in_an_exception",
        r"""
def f():
    raise ValueError('\ud800')
""",
        ends("error"),
    ),
    Hostile(
        "huge_exception",
        """
def f():
    raise ValueError('x' * (8 << 20))
""",
        lambda r: r.status == "error" and len(r.message) <= 2000,
    ),
    Hostile(
        "half_a_surrogate",
        r"""
def f():
    return '\ud800'
""",
        ends("bad_result"),
    ),
    Hostile(
        "refers_to_itself",
        """
def f():
    x = []
    x.append(x)
    x.append(x)
    return x
""",
        ends("bad_result"),
    ),
    Hostile(
        "dataclass_that_refers_to_itself",
        """
from dataclasses import dataclass
@dataclass
class A:
    a: list
def f():
    x = A([])
    x.a.extend([x, x])
    return x
""",
        ends("bad_result"),
    ),
    Hostile(
        "generator",
        """
def f():
    while True:
        yield 1
""",
        ends("bad_result"),
    ),
    Hostile(
        "integer_that_is_always_equal",
        """
class E(int):
    def __eq__(self, other):
        return True
    __hash__ = int.__hash__
def f():
    return E(3)
""",
        ends("bad_result"),
    ),
    Hostile(
        "dict_that_lies",
        """
class D(dict):
    def items(self):
        return iter([('a', 1)] * 10 ** 9)
def f():
    return D()
""",
        ends("bad_result"),
    ),
    Hostile(
        "millions_of_parts",
        """
def f():
    return [0] * 600000
""",
        ends("bad_result"),
    ),
)
