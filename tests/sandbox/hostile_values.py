"""Programs whose results, output or loading are not what a tool's may be."""

from __future__ import annotations

from alita_mcp.values import Limits
from tests.sandbox.hostile import SHORT, Hostile, anything, ends, fails

VALUES = (
    Hostile("nan", "def f():\n    return {'x': float('nan')}\n", ends("bad_result")),
    Hostile(
        "deep_nesting",
        """
def f():
    x = []
    for _ in range(100000):
        x = [x]
    return x
""",
        ends("bad_result", "crashed", "error"),
    ),
    Hostile(
        "keys_that_repeat",
        """
class K(str):
    __hash__ = object.__hash__
    def __eq__(self, other):
        return self is other
def f():
    return {K('a'): 1, K('a'): 2}
""",
        ends("bad_result"),
    ),
    Hostile(
        "awaitable_that_never_ends",
        """
class A:
    def __await__(self):
        while True:
            yield
async def f():
    await A()
""",
        ends("timeout", "error"),
        {},
        SHORT,
    ),
    Hostile(
        "coroutine_that_returns_a_coroutine",
        """
async def g():
    return 1
async def f():
    return g()
""",
        ends("bad_result"),
    ),
    Hostile(
        "exception_whose_type_lies",
        r"""
class M(type):
    def __getattribute__(cls, name):
        raise SystemExit(name)
class X(Exception, metaclass=M):
    pass
def f():
    raise X('x')
""",
        anything,
    ),
    Hostile(
        "exception_that_causes_itself",
        """
def f():
    x = ValueError('round')
    x.__cause__ = x
    x.__context__ = x
    raise x
""",
        fails("ValueError", "round"),
    ),
    Hostile(
        "exception_group_without_end",
        """
def f():
    x = ValueError('deep')
    for _ in range(5000):
        x = ExceptionGroup('more', [x])
    raise x
""",
        ends("error", "crashed"),
    ),
    Hostile(
        "asks_for_a_password",
        "def f():\n    return input('password? ')\n",
        fails("EOFError"),
    ),
    Hostile(
        "hangs_at_import",
        "import time\ntime.sleep(1e5)\ndef f():\n    return 1\n",
        ends("timeout", "load_failed"),
        {},
        SHORT,
        spoils_itself=True,
    ),
    Hostile("no_python", "def f(:\n", ends("load_failed")),
    Hostile(
        "too_much_to_parse",
        "def f():\n    return " + "(" * 5000 + "1" + ")" * 5000 + "\n",
        ends("load_failed", "memory", "crashed"),
    ),
    Hostile(
        "grows_when_it_is_compiled",
        "def f():\n    return " + "+".join(["10**1000"] * 2000) + "\n",
        anything,
        {},
        Limits(wall_seconds=10),
    ),
    Hostile(
        "function_that_removes_itself",
        """
import sys
def f():
    del sys.modules['tool'], globals()['f']
    return 1
""",
        ends("ok", "error"),
        times=2,
    ),
    Hostile(
        "callable_that_is_an_object",
        """
class C:
    def __call__(self):
        return 1
    __signature__ = 'x'
    __annotations__ = property(lambda self: 1 / 0)
f = C()
""",
        ends("ok", "error", "bad_result"),
    ),
    Hostile(
        "annotations_that_act",
        """
from __future__ import annotations
import dataclasses, os
def f() -> os._exit(3):
    return 1
""",
        anything,
    ),
    Hostile(
        "terminal_escapes",
        r"""
def f():
    print('\x1b]0;owned\x07\x1b[2J\r')
    return '\x1b[31m\u202e'
""",
        lambda r: r.status == "ok" and r.value == "\x1b[31m\u202e",
    ),
)
