"""Programs that end, or answer, in ways that no tool should."""

from __future__ import annotations

from tests.sandbox.hostile import Hostile, does, ends, fails, gives

ENDINGS = (
    does("exits", "sys.exit(0)", fails("SystemExit"), imports="sys"),
    does("exits_hard", "os._exit(0)", ends("crashed"), imports="os"),
    does("exits_hard_but_leaves_a_child", """
        if os.fork() == 0:
            time.sleep(9999)
        os._exit(0)
        """, ends("crashed"), imports="os, time"),
    does("interrupts_itself", "raise KeyboardInterrupt", ends("error")),
    does("segfaults", "ctypes.string_at(0)", lambda r: r.status == "crashed" and "SIGSEGV" in r.message,
         imports="ctypes"),
    does("kills_all", "os.kill(-1, 9)\nreturn 5", ends("ok", "error", "crashed"), imports="os"),
    does("recursion_without_limit", """
        sys.setrecursionlimit(10 ** 9)
        def g(n):
            return [g(n + 1)]
        return g(0)
        """, ends("crashed", "error", "memory", "timeout"), imports="sys"),
    does("closes_everything", "os.closerange(0, 256)\nreturn 1", ends("crashed"), imports="os",
         embedded=gives(lambda v: v == 1)),
    does("closes_everything_and_waits", "os.closerange(0, 256)\ntime.sleep(1e5)",
         lambda r: r.status == "crashed" and "channel" in r.message, imports="os, time"),
    Hostile("exits_at_import", "import os\nos._exit(0)\n", ends("load_failed")),
    Hostile("floods_at_import", "import os\nwhile True:\n    os.write(1, b'a' * 65536)\n", ends("output_flood"),
            spoils_itself=True),
    does("floods_stderr", "while True:\n    os.write(2, b'y' * 65536)", ends("output_flood"), imports="os"),
    does("writes_no_utf8", r"""
        os.write(1, b'\xff\xfeabc')
        return 1
        """, lambda r: r.status == "ok" and r.stdout.endswith("abc"), imports="os"),
    does("reads_stdin", "return [sys.stdin.read(), len(os.read(0, 100))]", gives(lambda v: v == ["", 0]),
         imports="os, sys"),
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
    does("half_a_surrogate_in_an_exception", r"raise ValueError('\ud800')", ends("error")),
    does("huge_exception", "raise ValueError('x' * (8 << 20))",
         lambda r: r.status == "error" and len(r.message) <= 2000),
    does("refers_to_itself", "x = []\nx.append(x)\nx.append(x)\nreturn x", ends("bad_result")),
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
)  # fmt: skip
