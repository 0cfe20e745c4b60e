"""Programs that take more than they are given."""

from __future__ import annotations

from alita_mcp.values import Limits
from tests.sandbox.hostile import SHORT, Hostile, does, ends, gives

RESOURCES = (
    does("fork_bomb", """
        while True:
            try:
                os.fork()
            except OSError:
                pass
        """, ends("timeout", "memory"), imports="os", limits=Limits(wall_seconds=2)),
    Hostile(
        "memory_of_children",
        """
import os, time
def f():
    for _ in range(6):
        if os.fork() == 0:
            held = bytearray(100 << 20)
            for at in range(0, len(held), 4096):
                held[at] = 1
            time.sleep(30)
    time.sleep(2)
    return 1
""",
        ends("ok", "memory"),
        {},
        Limits(wall_seconds=10),
    ),
    Hostile(
        "scratch_fill",
        """
def f():
    n = 0
    try:
        for i in range(10000):
            with open(f'/tmp/x{i}', 'wb') as h:
                while h.tell() < 50 << 20:
                    h.write(b'a' * (1 << 20)); n += 1
    except OSError:
        return n
""",
        gives(lambda n: n <= 64),
        {},
        Limits(wall_seconds=30),
    ),
    does("sparse_file", "os.ftruncate(os.open('/tmp/s', os.O_RDWR | os.O_CREAT), 1 << 40)", ends("error", "crashed"),
         imports="os"),
    does("regular_expression", "re.match(r'(a+)+$', 'a' * 40 + 'b')", ends("timeout"), imports="re", limits=SHORT),
    does("cpu_limit", "while True:\n    pass", lambda r: r.status == "timeout" and "CPU" in r.message,
         limits=Limits(wall_seconds=30, cpu_seconds=1)),
    Hostile(
        "signals_ignored",
        """
import signal
def f():
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except Exception:
            pass
    while True:
        pass
""",
        ends("timeout"),
        {},
        SHORT,
    ),
    does("stops_itself", "os.kill(os.getpid(), signal.SIGSTOP)", ends("timeout"), imports="os, signal", limits=SHORT),
    does("daemon", """
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            time.sleep(9999)
        return 1
        """, ends("ok"), imports="os, time"),
    does("background_shell", """
        subprocess.Popen(['sleep', '9999'], start_new_session=True)
        subprocess.Popen('(sleep 9999 &) &', shell=True)
        return 1
        """, ends("ok"), imports="subprocess"),
    does("threads_that_stay", """
        [threading.Thread(target=time.sleep, args=(1e5,)).start() for _ in range(5)]
        return 7
        """, gives(lambda v: v == 7), imports="threading, time"),
    does("exit_handlers", "atexit.register(time.sleep, 1e5)\nreturn 7", gives(lambda v: v == 7),
         imports="atexit, time"),
    Hostile(
        "destructors",
        """
import time
class A:
    def __del__(self):
        time.sleep(1e5)
def f():
    global a
    a = A()
    return 7
""",
        gives(lambda v: v == 7),
    ),
)  # fmt: skip
