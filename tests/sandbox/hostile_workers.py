"""Programs that attack a worker that lives on: its zygote, its next child, its supervisor, the sweep after a call."""

from __future__ import annotations

from alita_mcp.values import Limits
from tests.sandbox.hostile import (
    FORGE,
    OTHERS,
    SHORT,
    SOCKETS,
    TRY,
    Hostile,
    all_denied,
    all_refused,
    anything,
    ends,
    gives,
)

BRIEF = Limits(wall_seconds=4)


def nothing_opened(value: object) -> bool:
    """No attempt on another process succeeded; there may be no other process to try it on."""
    return isinstance(value, list) and all(attempt[0] != "OK" for attempt in value)


ZYGOTE = (
    Hostile(
        "others_killed",
        OTHERS
        + """
def f():
    for number in others():
        try:
            os.kill(number, 9)
        except OSError:
            pass
    return 5
""",
        ends("ok", "crashed"),
        times=2,
    ),
    Hostile(
        "others_stopped",
        OTHERS
        + """
def f():
    for number in others():
        os.kill(number, 19)
    return 5
""",
        ends("ok", "crashed"),
        times=2,
    ),
    Hostile(
        "others_signalled",
        OTHERS
        + """
def f():
    for number in others():
        for signal in range(1, 65):
            if signal not in (9, 19):
                try:
                    os.kill(number, signal)
                except OSError:
                    pass
    return 5
""",
        ends("ok", "crashed"),
        times=2,
    ),
    Hostile(
        "supervisor_stopped",
        """
import os, time
def f():
    refused = 0
    for number in (19, 20, 21, 22, 18):
        try:
            os.kill(1, number)
        except PermissionError:
            refused += 1
    time.sleep(0.2)
    return refused
""",
        gives(lambda v: v == 5),
        times=2,
    ),
    Hostile(
        "signals_by_thread_and_queue",
        TRY
        + """
def f():
    for number in (1, 2):
        sc(234, number, number, 9)
        sc(200, number, 9)
        sc(129, number, 9, 0)
        sc(297, number, number, 9, 0)
    fd = os.pidfd_open(1)
    libc.syscall(424, fd, 9, 0, 0)
    return 5
""",
        ends("ok", "crashed"),
        times=2,
    ),
    Hostile(
        "others_memory_written",
        TRY
        + OTHERS
        + """
def f():
    return [t(lambda: open(f'/proc/{number}/mem', 'r+b')) for number in [1, *others()]]
""",
        gives(nothing_opened),
    ),
    Hostile(
        "others_memory_read",
        TRY
        + OTHERS
        + """
def f():
    return [t(lambda: open(f'/proc/{number}/{name}', 'rb').read(1) or 1 / 0)
            for number in [1, *others()] for name in ('mem', 'environ', 'auxv', 'pagemap', 'stack', 'syscall')]
""",
        gives(nothing_opened),
    ),
    Hostile(
        "others_descriptors_opened",
        TRY
        + OTHERS
        + """
def f():
    attempts = []
    for number in [1, *others()]:
        attempts.append(t(lambda: os.listdir(f'/proc/{number}/fd')))
        attempts += [t(lambda: os.open(f'/proc/{number}/fd/{fd}', os.O_RDWR)) for fd in range(12)]
    return attempts
""",
        gives(nothing_opened),
    ),
    Hostile(
        "others_files_reached",
        TRY
        + OTHERS
        + """
def f():
    return [t(lambda: os.listdir(f'/proc/{number}/{name}')) for number in [1, *others()]
            for name in ('cwd', 'root', 'map_files', 'ns')]
""",
        gives(nothing_opened),
    ),
    Hostile(
        "others_traced",
        TRY
        + OTHERS
        + """
def f():
    numbers = [1, *others()]
    return [sc(101, 16, n, 0, 0) for n in numbers] + [sc(101, 0x4206, n, 0, 0) for n in numbers] + [
        sc(310, n, 0, 0, 0, 0, 0) for n in numbers] + [sc(311, n, 0, 0, 0, 0, 0) for n in numbers] + [
        sc(312, n, os.getpid(), 0, 0, 0) for n in numbers] + [sc(101, 0, 0, 0, 0)]
""",
        gives(all_denied),
    ),
    Hostile(
        "others_limited",
        TRY
        + OTHERS
        + """
import resource
def f():
    return [t(lambda: resource.prlimit(number, which, (1, 1))) for number in [1, *others()]
            for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU, resource.RLIMIT_AS)]
""",
        gives(all_refused),
    ),
    Hostile(
        "others_slowed",
        OTHERS
        + """
def f():
    for number in [1, *others()]:
        for act in (lambda: os.setpriority(os.PRIO_PROCESS, number, 19),
                    lambda: os.sched_setaffinity(number, {0}),
                    lambda: os.sched_setscheduler(number, os.SCHED_IDLE, os.sched_param(0))):
            try:
                act()
            except OSError:
                pass
    return 5
""",
        gives(lambda v: v == 5),
    ),
    Hostile(
        "others_offered_to_the_kernel",
        TRY
        + OTHERS
        + """
def f():
    return [t(lambda: put(f'/proc/{number}/{name}', b'1000'))
            for number in [1, *others()]
            for name in ('oom_score_adj', 'oom_adj', 'comm', 'clear_refs', 'timerslack_ns')]
""",
        gives(nothing_opened),
    ),
    Hostile(
        "spared_by_the_kernel",
        TRY
        + """
def f():
    return [t(lambda: put('/proc/self/oom_score_adj', b'-1000')),
            t(lambda: put('/proc/self/oom_adj', b'-17'))]
""",
        gives(all_refused),
    ),
)
"""Against the processes that outlive the call."""

CHANNELS = (
    Hostile(
        "frames_with_a_guessed_token",
        """
import os, struct
def f():
    head = b'{"status":"ok","seconds":0}'
    for _ in range(2000):
        os.write(1, os.urandom(16) + struct.pack('>BII', 7, 0, len(head)) + head)
    return 5
""",
        gives(lambda v: v == 5),
    ),
    Hostile(
        "frames_on_every_socket",
        SOCKETS
        + """
import struct
def f():
    head = b'{"status":"ok","clean":true,"ok":true}'
    for fd in sockets():
        os.set_blocking(fd, False)
        for kind in range(1, 25):
            for frame in (struct.pack('>BII', kind, 0, len(head)) + head,
                          struct.pack('>cI', bytes([64 + kind]), len(head)) + head, head):
                try:
                    os.write(fd, frame)
                except OSError:
                    pass
    return 5
""",
        ends("ok", "crashed", "error", "bad_result"),
    ),
    Hostile(
        "every_socket_filled",
        SOCKETS
        + """
def f():
    for fd in sockets():
        os.set_blocking(fd, False)
        try:
            while True:
                os.write(fd, b'A' * 65536)
        except OSError:
            pass
    return 5
""",
        ends("crashed", "error", "timeout"),
        {},
        BRIEF,
        embedded=gives(lambda v: v == 5),
    ),
    Hostile(
        "every_socket_shut",
        SOCKETS
        + """
def f():
    for fd in sockets():
        try:
            socket.socket(fileno=os.dup(fd)).shutdown(2)
        except OSError:
            pass
    return 5
""",
        ends("crashed", "ok", "error"),
        {},
        BRIEF,
    ),
    Hostile(
        "descriptors_sent_to_everybody",
        SOCKETS
        + """
def f():
    mine = [os.open('/dev/null', 0) for _ in range(100)]
    for fd in sockets():
        other = socket.socket(fileno=os.dup(fd))
        other.setblocking(False)
        try:
            for _ in range(400):
                socket.send_fds(other, [b''], mine)
        except OSError:
            pass
    return 5
""",
        ends("ok", "crashed", "error", "timeout"),
        {},
        BRIEF,
    ),
    Hostile(
        "descriptors_in_flight",
        """
import os, socket
def f():
    held = []
    try:
        for _ in range(10000):
            a, b = socket.socketpair()
            a.setblocking(False)
            for _ in range(200):
                socket.send_fds(a, [b'x'], [b.fileno(), a.fileno()])
            held.append((a, b))
    except OSError:
        pass
    return 5
""",
        ends("ok", "memory", "error"),
        {},
        BRIEF,
    ),
    Hostile(
        "two_results",
        FORGE
        + """
def f():
    try:
        forge({'status': 'ok'}, b'666')
        forge({'status': 'ok'}, b'667')
    except OSError:
        pass
    return 5
""",
        lambda r: r.status in {"ok", "crashed", "error"} and r.value in {5, 666, None},
    ),
    Hostile(
        "result_of_a_grandchild",
        FORGE
        + """
import time
def f():
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.3)
        try:
            forge({'status': 'ok'}, b'666')
        except OSError:
            pass
        time.sleep(9999)
    return 5
""",
        gives(lambda v: v == 5),
        times=3,
    ),
    Hostile(
        "stands_in_for_the_next_call",
        """
import os
def f():
    # the parent goes, the child answers in its place and then waits for the next call
    if os.fork():
        return 5
    return 666
""",
        lambda r: r.status in {"ok", "crashed"} and r.value in {5, 666, None},
        times=3,
    ),
    Hostile(
        "returns_many_times",
        """
import os
def f():
    for _ in range(20):
        os.fork()
    return 5
""",
        ends("ok", "crashed", "timeout", "memory", "error"),
        {},
        BRIEF,
        times=2,
    ),
)
"""Against what the worker's processes say to one another."""

LOADING = (
    Hostile(
        "answers_for_the_loader",
        SOCKETS
        + """
import struct
def forge():
    for fd in sockets():
        os.set_blocking(fd, False)
        for raw in (b'{"ok":true}', b'L', b'{"status":"ok"}'):
            for frame in (raw, struct.pack('>cI', b'L', 0), struct.pack('>cI', b'L', len(raw)) + raw,
                          struct.pack('>cI', b'R', len(raw) + 4) + struct.pack('>I', len(raw)) + raw):
                try:
                    os.write(fd, frame)
                except OSError:
                    pass
forge()
def f():
    return 5
""",
        anything,
        {},
        BRIEF,
        spoils_itself=True,
    ),
    Hostile(
        "signals_while_it_is_loaded",
        """
import os
for number in range(1, 65):
    for target in (1, os.getppid()):
        try:
            os.kill(target, number)
        except OSError:
            pass
def f():
    return 5
""",
        ends("ok", "load_failed", "crashed"),
        spoils_itself=True,
    ),
    Hostile(
        "kills_all_while_it_is_loaded",
        "import os\nos.kill(-1, 9)\ndef f():\n    return 5\n",
        ends("ok", "load_failed", "crashed"),
        spoils_itself=True,
    ),
    Hostile(
        "stops_itself_while_it_is_loaded",
        "import os\nos.kill(os.getpid(), 19)\ndef f():\n    return 5\n",
        ends("timeout", "load_failed"),
        {},
        SHORT,
        spoils_itself=True,
    ),
    Hostile(
        "storm_while_it_is_loaded",
        """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
""",
        ends("timeout", "load_failed", "memory"),
        {},
        Limits(wall_seconds=2),
        spoils_itself=True,
    ),
    Hostile(
        "memory_while_it_is_loaded",
        "HELD = []\nwhile True:\n    HELD.append(bytearray(b'x') * (4 << 20))\n",
        ends("memory", "load_failed"),
        {},
        Limits(wall_seconds=20, memory_bytes=96 << 20),
        spoils_itself=True,
    ),
    Hostile(
        "tools_replaced_while_it_is_loaded",
        """
import gc, json, os, select, signal, socket, struct, sys
for module, names in ((os, ('fork', '_exit', 'read', 'write', 'close', 'dup2', 'waitpid', 'setsid', 'kill')),
                      (json, ('loads', 'dumps')), (struct, ('pack', 'unpack')), (signal, ('signal',))):
    for name in names:
        setattr(module, name, lambda *a, **k: 666)
socket.socket.recv = socket.socket.send = socket.socket.sendall = lambda *a: b'666'
def f():
    return 5
""",
        anything,
        {},
        BRIEF,
        spoils_itself=True,
    ),
    Hostile(
        "limits_lowered_while_it_is_loaded",
        """
import os, resource as R
R.setrlimit(R.RLIMIT_NPROC, (0, 0))
R.setrlimit(R.RLIMIT_NOFILE, (4, 4))
os.umask(0o777)
os.chdir('/proc')
def f():
    return 5
""",
        anything,
        {},
        BRIEF,
        spoils_itself=True,
    ),
    Hostile(
        "timer_set_while_it_is_loaded",
        """
import signal, time
signal.setitimer(signal.ITIMER_REAL, 0.5)
def f():
    time.sleep(1)
    return 5
""",
        ends("ok", "crashed", "load_failed"),
        {},
        BRIEF,
        times=2,
        spoils_itself=True,
    ),
    Hostile(
        "files_left_while_it_is_loaded",
        """
import os
for place in ('/tmp/early', '/dev/shm/early', 'early'):
    open(place, 'w').write('x')
    os.chmod(place, 0)
def f():
    return 5
""",
        ends("ok", "load_failed"),
        times=2,
        spoils_itself=True,
    ),
    Hostile(
        "next_child_taken_over",
        """
import os, sys
ME = os.getpid()
def after():
    if os.getpid() != ME:
        sys.modules['tool'].__dict__['f'] = lambda **words: 666
os.register_at_fork(after_in_child=after, before=lambda: None)
def f():
    return 5
""",
        ends("ok", "error", "load_failed"),
        spoils_itself=True,
    ),
    Hostile(
        "forks_hooked",
        """
import os
os.register_at_fork(before=lambda: os._exit(0), after_in_parent=lambda: os._exit(0))
def f():
    return 5
""",
        anything,
        {},
        BRIEF,
        spoils_itself=True,
    ),
)
"""Against the worker while it loads: the module's own code runs in the zygote then."""

SWEEP = (
    Hostile(
        "storm_after_the_result",
        """
import os
def f():
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                if os.fork() == 0:
                    os.setsid()
            except OSError:
                pass
    return 5
""",
        ends("ok", "error"),
        times=2,
    ),
    Hostile(
        "runs_from_the_sweep",
        """
import os
def f():
    if os.fork() == 0:
        while True:
            if os.fork():
                os._exit(0)
    return 5
""",
        ends("ok", "error"),
        times=3,
    ),
    Hostile(
        "zombies",
        """
import os
def f():
    n = 0
    try:
        for _ in range(1000):
            if os.fork() == 0:
                os._exit(0)
            n += 1
    except OSError:
        pass
    return n
""",
        gives(lambda n: n < 64),
        times=2,
    ),
    Hostile(
        "stopped_children",
        """
import os, signal
def f():
    for _ in range(10):
        if os.fork() == 0:
            os.setsid()
            os.kill(os.getpid(), signal.SIGSTOP)
            os._exit(0)
    return 5
""",
        gives(lambda v: v == 5),
        times=3,
    ),
    Hostile(
        "numbers_used_up",
        """
import _thread, os, time
def f():
    # every thread takes a process number too: more of them than there are numbers
    for n in range(33500):
        while True:
            try:
                _thread.start_new_thread(int, ())
                break
            except RuntimeError:
                time.sleep(0.001)
    if os.fork() == 0:
        os.setsid()
        time.sleep(9999)
    return 5
""",
        ends("ok", "timeout"),
        {},
        Limits(wall_seconds=25),
    ),
    Hostile(
        "names_of_our_processes",
        TRY
        + """
def f():
    if os.fork() == 0:
        os.setsid()
        libc.prctl(15, b'python3', 0, 0, 0)
        libc.prctl(1, 0, 0, 0, 0)
        libc.prctl(36, 1, 0, 0, 0)
        time.sleep(9999)
    return 5
""",
        gives(lambda v: v == 5),
        times=2,
    ),
    Hostile(
        "writer_that_survives_the_call",
        """
import os
def f():
    if os.fork() == 0:
        os.setsid()
        n = 0
        while True:
            n += 1
            try:
                os.makedirs(f'/tmp/w{n % 50}/x/y', exist_ok=True)
                open(f'/tmp/w{n % 50}/x/y/z{n}', 'w').close()
            except OSError:
                pass
    return 5
""",
        gives(lambda v: v == 5),
        times=2,
    ),
    Hostile(
        "output_after_the_result",
        """
import os, time
def f():
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                os.write(1, b'late ' * 1000)
            except OSError:
                pass
    return 5
""",
        ends("ok", "output_flood"),
        times=2,
    ),
    Hostile(
        "memory_kept_by_nobody",
        """
import os
def f():
    fd = os.memfd_create('x')
    os.write(fd, b'x' * (50 << 20))
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 3)
        while True:
            pass
    return 5
""",
        gives(lambda v: v == 5),
        times=3,
        limits=Limits(wall_seconds=20, memory_bytes=128 << 20, scratch_bytes=64 << 20),
    ),
)
"""Against the sweep between two calls."""

WORKERS = (*ZYGOTE, *CHANNELS, *LOADING, *SWEEP)
