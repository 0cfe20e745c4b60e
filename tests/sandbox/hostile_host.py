"""More programs that reach for the host, and the findings that earlier sandboxes fell to."""

from __future__ import annotations

from alita_mcp.values import Limits
from tests.sandbox.hostile import SHORT, TRY, Hostile, all_denied, all_refused, anything, ends, gives

HOST = (
    Hostile(
        "core_pattern_opened",
        TRY
        + """
def f():
    # opened only: what is written here, the host's kernel runs
    paths = ('core_pattern', 'modprobe', 'hotplug', 'poweroff_cmd', 'usermodehelper/bset', 'panic', 'yama/ptrace_scope')
    return [t(lambda: os.open('/proc/sys/kernel/' + path, os.O_WRONLY)) for path in paths]
""",
        gives(all_refused),
    ),
    Hostile(
        "core_dumped",
        """
import ctypes, resource
def f():
    # a handler that the host pipes dumps to obeys no limit but 1; what is not dumpable must stay so
    libc = ctypes.CDLL(None)
    libc.prctl(4, 1, 0, 0, 0)
    return [libc.prctl(3, 0, 0, 0, 0), list(resource.getrlimit(resource.RLIMIT_CORE))]
""",
        gives(lambda v: v[0] == 0 or v[1] == [1, 1]),
    ),
    Hostile(
        "core_dump_asked_for",
        TRY
        + """
import resource
def f():
    t(lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)))
    libc.prctl(4, 1, 0, 0, 0)
    os.abort()
""",
        ends("crashed"),
    ),
    Hostile(
        "vsock_of_every_kind",
        TRY
        + """
def f():
    return [t(lambda: socket.socket(40, kind)) for kind in (1, 2, 5)] + [t(lambda: socket.socketpair(40, 1))]
""",
        gives(all_refused),
    ),
    Hostile(
        "memory_bomb",
        "def f():\n    held = []\n    while True:\n        held.append(bytearray(b'x') * (4 << 20))\n",
        ends("memory"),
        {},
        Limits(wall_seconds=20, memory_bytes=128 << 20),
        times=2,
    ),
    Hostile("big_power", "def f():\n    return 9 ** 9 ** 9 % 7\n", ends("timeout", "memory"), {}, SHORT),
    Hostile("sleeps_forever", "import time\ndef f():\n    time.sleep(1e6)\n", ends("timeout"), {}, SHORT),
    Hostile(
        "devices_filled",
        TRY
        + """
def f():
    return [t(lambda: os.open('/dev/x', os.O_CREAT | os.O_WRONLY)), t(lambda: os.mkdir('/dev/q')),
            t(lambda: os.symlink('/', '/dev/r')), t(lambda: os.unlink('/dev/null')),
            t(lambda: os.chmod('/dev/null', 0)), t(lambda: put('/dev/pts/0', b'x')),
            t(lambda: put('/dev/console', b'x')), t(lambda: put('/dev/tty', b'x'))]
""",
        gives(all_refused),
    ),
    Hostile(
        "root_moved",
        TRY
        + """
def f():
    return [t(lambda: os.rename('/etc', '/etc2')), t(lambda: os.remove('/usr/bin/python3')),
            t(lambda: os.link('/usr/bin/env', '/tmp/env')), t(lambda: os.chroot('/tmp')),
            t(lambda: os.utime('/usr')), t(lambda: os.chown('/tmp', 0, 0)),
            t(lambda: os.truncate('/etc/passwd', 0))]
""",
        gives(all_refused),
    ),
    Hostile(
        "kernel_told",
        TRY
        + """
def f():
    paths = ('/proc/irq/0/smp_affinity', '/proc/acpi', '/sys/fs/cgroup/memory/release_agent', '/proc/latency_stats',
             '/sys/kernel/uevent_helper', '/sys/kernel/mm/hugepages', '/proc/self/gid_map', '/proc/self/setgroups',
             '/sys/fs/cgroup/pids/cgroup.procs', '/sys/fs/cgroup/pids.max', '/sys/fs/cgroup/pids/pids.max',
             '/proc/scsi/scsi', '/proc/mtrr', '/sys/power/state', '/sys/class/net/lo/mtu')
    return [t(lambda: put(path, b'1')) for path in paths]
""",
        gives(all_refused),
    ),
    Hostile(
        "kernel_asked",
        TRY
        + """
def f():
    paths = ('/proc/keys', '/proc/timer_list', '/sys/firmware/acpi/tables/DSDT', '/proc/sched_debug',
             '/sys/kernel/debug/x', '/sys/kernel/security/x', '/proc/vmallocinfo', '/proc/slabinfo', '/dev/kmem')
    return [t(lambda: open(path, 'rb').read(64) or 1 / 0) for path in paths]
""",
        gives(all_refused),
    ),
    Hostile(
        "control_groups_left",
        TRY
        + """
def f():
    return [t(lambda: os.mkdir(folder + '/mine')) for folder in (
        '/sys/fs/cgroup', '/sys/fs/cgroup/memory', '/sys/fs/cgroup/pids', '/sys/fs/cgroup/unified')] + [
        t(lambda: os.open(folder + '/cgroup.procs', os.O_WRONLY)) for folder in (
        '/sys/fs/cgroup', '/sys/fs/cgroup/memory', '/sys/fs/cgroup/systemd')]
""",
        gives(all_refused),
    ),
    Hostile(
        "namespaces_joined",
        TRY
        + """
def f():
    names = ('mnt', 'net', 'pid', 'ipc', 'uts', 'user', 'cgroup')
    return [sc(308, os.open(f'/proc/self/ns/{name}', os.O_RDONLY), 0) for name in names] + [
        sc(308, os.pidfd_open(os.getpid()), 0x20000000), sc(272, 0x10000000 | 0x20000)]
""",
        gives(all_denied),
    ),
    Hostile(
        "terminal_typed_into",
        TRY
        + """
import fcntl, struct
def f():
    return [t(lambda: fcntl.ioctl(fd, 0x5412, b'x')) for fd in (0, 1, 2)] + [
        t(lambda: fcntl.ioctl(fd, 0x541C, struct.pack('B', 3))) for fd in (0, 1, 2)]
""",
        gives(all_refused),
    ),
    Hostile(
        "files_above_the_root",
        TRY
        + """
def f(canary):
    up = '/'.join(['..'] * 40)
    held = os.open('/', os.O_RDONLY)
    return [t(lambda: open(up + canary).read()), t(lambda: os.open(up[1:] + canary, 0, dir_fd=held)),
            t(lambda: open('/proc/1/root' + canary).read()), t(lambda: open('/proc/self/cwd/' + up + canary).read()),
            t(lambda: os.fchdir(0)), t(lambda: sc(304, held, 0, 0) == 'OK' or 1 / 0)]
""",
        gives(all_refused),
        {"canary": "CANARY-FILE"},
    ),
    Hostile(
        "descriptors_of_the_host",
        """
import os
def f():
    found = []
    for fd in range(1024):
        try:
            path = os.readlink(f'/proc/self/fd/{fd}')
        except OSError:
            continue
        if not path.startswith(('pipe:', 'socket:', '/dev/null', '/memfd:', 'anon_inode:', '/proc', '/tmp')):
            found.append(path)
    return found
""",
        gives(lambda found: found == []),
    ),
    Hostile(
        "host_named",
        """
import os, platform, socket
def f():
    text = socket.gethostname() + platform.node()
    for path in ('/etc/hosts', '/proc/sys/kernel/hostname', '/etc/machine-id', '/proc/sys/kernel/domainname'):
        try:
            text += open(path).read()
        except OSError:
            pass
    return text
""",
        gives(lambda text: text.startswith("tooltool")),
        embedded=gives(lambda text: text == "(none)(none)"),
    ),
    Hostile(
        "more_cpu_than_its_share",
        """
import os, time
def f():
    for _ in range(20):
        if os.fork() == 0:
            while True:
                pass
    time.sleep(1)
    return 5
""",
        gives(lambda v: v == 5),
        times=2,
    ),
    Hostile(
        "locked_memory",
        TRY
        + """
def f():
    import mmap
    area = mmap.mmap(-1, 64 << 20)
    answer = sc(151, 3)
    return answer
""",
        anything,
    ),
    Hostile(
        "buffers_of_pipes",
        """
import fcntl, os
def f():
    held, n = [], 0
    try:
        while True:
            r, w = os.pipe()
            os.set_blocking(w, False)
            held.append((r, w))
            try:
                fcntl.fcntl(w, 1031, 1 << 20)
            except OSError:
                pass
            try:
                while True:
                    n += os.write(w, b'x' * 65536)
            except BlockingIOError:
                pass
    except OSError:
        return n
""",
        ends("ok", "memory"),
    ),
    Hostile(
        "watches_and_events",
        TRY
        + """
def f():
    held = []
    try:
        while True:
            held.append(libc.inotify_init())
            if held[-1] < 0:
                return len(held)
            libc.inotify_add_watch(held[-1], b'/usr', 0xfff)
    except OSError:
        return len(held)
""",
        gives(lambda n: n < 1000),
    ),
)
