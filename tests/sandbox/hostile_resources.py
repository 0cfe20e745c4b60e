"""Programs that take more than they are given."""

from __future__ import annotations

from alita_mcp.values import Limits
from tests.sandbox.hostile import SHORT, Hostile, ends, gives

RESOURCES = (
    Hostile(
        "fork_bomb",
        """
import os
def f():
    while True:
        try:
            os.fork()
        except OSError:
            pass
""",
        ends("timeout", "memory"),
        {},
        Limits(wall_seconds=2),
    ),
    Hostile(
        "thread_bomb",
        """
import threading, time
def f():
    n = 0
    try:
        while True:
            threading.Thread(target=time.sleep, args=(1000,)).start(); n += 1
    except RuntimeError:
        return n
""",
        gives(lambda n: n < 64),
    ),
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
    Hostile(
        "scratch_files",
        """
def f():
    n = 0
    try:
        while n < 400000:
            open(f'/tmp/{n}', 'w').close(); n += 1
    except OSError:
        pass
    return n
""",
        lambda r: (
            r.value < 10_000 if r.ok else r.status in {"memory", "timeout"} or "scratch_files" in r.message
        ),
        {},
        Limits(wall_seconds=10),
    ),
    Hostile(
        "shared_memory_fill",
        """
def f():
    n = 0
    try:
        with open('/dev/shm/x', 'wb') as h:
            while True:
                h.write(b'a' * (1 << 20)); h.flush(); n += 1
    except OSError:
        return n
""",
        gives(lambda n: n <= 16),
    ),
    Hostile(
        "sparse_file",
        """
import os
def f():
    fd = os.open('/tmp/s', os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, 1 << 40)
""",
        ends("error", "crashed"),
    ),
    Hostile(
        "deep_tree",
        """
import os
def f():
    for _ in range(3000):
        os.mkdir('d'); os.chdir('d')
    return 1
""",
        ends("ok", "error"),
    ),
    Hostile(
        "file_descriptors",
        """
import os
def f():
    held = []
    try:
        while True:
            held.append(os.open('/dev/null', 0))
    except OSError:
        return len(held)
""",
        gives(lambda n: n < 300),
    ),
    Hostile(
        "socket_buffers",
        """
import socket
def f():
    held = []
    try:
        while True:
            a, b = socket.socketpair(); a.setblocking(False); held.append((a, b))
            try:
                while True:
                    a.send(b'x' * 65536)
            except BlockingIOError:
                pass
    except OSError:
        return 1
""",
        ends("ok", "memory"),
    ),
    Hostile(
        "regular_expression",
        """
import re
def f():
    re.match(r'(a+)+$', 'a' * 40 + 'b')
""",
        ends("timeout"),
        {},
        SHORT,
    ),
    Hostile(
        "cpu_limit",
        """
def f():
    while True:
        pass
""",
        lambda r: r.status == "timeout" and "CPU" in r.message,
        {},
        Limits(wall_seconds=30, cpu_seconds=1),
    ),
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
    Hostile(
        "stops_itself",
        """
import os, signal
def f():
    os.kill(os.getpid(), signal.SIGSTOP)
""",
        ends("timeout"),
        {},
        SHORT,
    ),
    Hostile(
        "daemon",
        """
import os, time
def f():
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        time.sleep(9999)
    return 1
""",
        ends("ok"),
    ),
    Hostile(
        "background_shell",
        """
import subprocess
def f():
    subprocess.Popen(['sleep', '9999'], start_new_session=True)
    subprocess.Popen('(sleep 9999 &) &', shell=True)
    return 1
""",
        ends("ok"),
    ),
    Hostile(
        "threads_that_stay",
        """
import threading, time
def f():
    [threading.Thread(target=time.sleep, args=(1e5,)).start() for _ in range(5)]
    return 7
""",
        gives(lambda v: v == 7),
    ),
    Hostile(
        "exit_handlers",
        """
import atexit, time
def f():
    atexit.register(time.sleep, 1e5)
    return 7
""",
        gives(lambda v: v == 7),
    ),
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
)
