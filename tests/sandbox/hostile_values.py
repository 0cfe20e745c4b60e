"""Programs whose results, output or loading are not what a tool's may be."""

from __future__ import annotations

from alita_mcp.values import Limits
from tests.sandbox.hostile import SHORT, Hostile, anything, ends, fails

VALUES = (
    Hostile("nan", "def f():\n    return {'x': float('nan')}\n", ends("bad_result")),
    Hostile("infinity", "def f():\n    return [float('inf')]\n", ends("bad_result")),
    Hostile("huge_integer", "def f():\n    return 10 ** 5000\n", ends("bad_result")),
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
    Hostile("result_too_big", "def f():\n    return 'x' * (2 << 20)\n", ends("bad_result")),
    Hostile("set_and_object", "def f():\n    return {'a': {1, 2}, 'b': object()}\n", ends("bad_result")),
    Hostile("keys_that_are_no_text", "def f():\n    return {1: 2}\n", ends("bad_result")),
    Hostile(
        "reduces_to_a_command",
        """
import os
class P:
    def __reduce__(self):
        return os.system, ('touch /tmp/pwned',)
def f():
    return P()
""",
        ends("bad_result"),
    ),
    Hostile(
        "text_that_is_no_text",
        """
class T(str):
    def __str__(self):
        return 'other'
    encode = None
def f():
    return T('x')
""",
        ends("bad_result"),
    ),
    Hostile(
        "list_that_grows_while_it_is_read",
        """
class L(list):
    def __iter__(self):
        while True:
            yield 1
def f():
    return L([1])
""",
        ends("bad_result"),
    ),
    Hostile(
        "class_that_lies_about_itself",
        """
class X:
    __class__ = int
    def __index__(self):
        return 1
def f():
    return X()
""",
        ends("bad_result"),
    ),
    Hostile(
        "deep_before_wide",
        """
def f():
    x = {}
    y = x
    for _ in range(63):
        y['a'] = {}
        y = y['a']
    y['a'] = [[0]]
    return x
""",
        ends("bad_result"),
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
        "exception_whose_type_lies_of_its_kinds",
        r"""
class M(type):
    __mro__ = __bases__ = (ValueError,)
    __name__ = property(lambda cls: 1 / 0)
    __module__ = 'builtins'
    def __eq__(cls, other):
        return True
    def __hash__(cls):
        raise SystemExit
class X(Exception, metaclass=M):
    __class__ = ValueError
def f():
    import builtins, sys
    sys.modules['builtins'].ValueError = X
    sys.modules['tool'] = X
    raise X('x')
""",
        lambda result: (
            "builtins.Exception" in result.error_kinds and "builtins.ValueError" not in result.error_kinds
        ),
    ),
    Hostile(
        "exception_with_a_thousand_classes",
        """
def f():
    kind = Exception
    for number in range(1_000):
        kind = type('x' * 10_000, (kind,), {})
    raise kind
""",
        lambda result: result.status == "error" and len(result.error_kinds) <= 64,
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
        "stdout_flood",
        """
import sys
def f():
    while True:
        sys.stdout.write('x' * 65536)
""",
        ends("output_flood"),
    ),
    Hostile(
        "prints_more_than_is_kept",
        """
def f():
    for _ in range(8):
        print('z' * 65535)
    return 5
""",
        lambda r: r.status == "ok" and r.value == 5 and len(r.stdout) <= 65536,
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
    Hostile("zero_bytes", "def f():\n    return 1\n\0\n", ends("load_failed")),
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
        "talks_at_import",
        """
import os
for _ in range(8):
    os.write(1, b'a' * 65536)
def f():
    return 1
""",
        lambda r: r.status == "ok" and r.value == 1 and len(r.stdout) <= 65536,
    ),
    Hostile("function_that_is_none", "f = 1\n", ends("load_failed", "error"), spoils_itself=True),
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
