"""More programs that reach for the host, and the findings that earlier sandboxes fell to."""

from __future__ import annotations

from tests.sandbox.hostile import TRY, Hostile, all_refused, denied, ends, gives, refused

HOST = (
    # opened only: what is written here, the host's kernel runs
    refused("core_pattern_opened", "os.open('/proc/sys/kernel/' + it, os.O_WRONLY)",
            each=("core_pattern", "modprobe", "hotplug", "poweroff_cmd", "usermodehelper/bset", "panic",
                  "yama/ptrace_scope")),
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
    refused("vsock_of_every_kind", "socket.socket(40, it)", "socket.socketpair(40, it)", each=(1, 2, 5)),
    refused("devices_filled", "os.open('/dev/x', os.O_CREAT | os.O_WRONLY)", "os.mkdir('/dev/q')",
            "os.symlink('/', '/dev/r')", "os.unlink('/dev/null')", "os.chmod('/dev/null', 0)",
            "put('/dev/pts/0', b'x')", "put('/dev/console', b'x')", "put('/dev/tty', b'x')"),
    refused("root_moved", "os.rename('/etc', '/etc2')", "os.remove('/usr/bin/python3')",
            "os.link('/usr/bin/env', '/tmp/env')", "os.chroot('/tmp')", "os.utime('/usr')", "os.chown('/tmp', 0, 0)",
            "os.truncate('/etc/passwd', 0)"),
    refused("kernel_asked", "open(it, 'rb').read(64) or 1 / 0",
            each=("/proc/keys", "/proc/timer_list", "/sys/firmware/acpi/tables/DSDT", "/proc/sched_debug",
                  "/sys/kernel/debug/x", "/sys/kernel/security/x", "/proc/vmallocinfo", "/proc/slabinfo", "/dev/kmem",
                  "/proc/kcore", "/proc/kmsg")),
    refused("control_groups_left", "os.mkdir(it + '/mine')", "os.open(it + '/cgroup.procs', os.O_WRONLY)",
            each=("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/systemd")),
    denied("namespaces_joined",
           *(f"308, os.open('/proc/self/ns/{name}', os.O_RDONLY), 0"
             for name in ("mnt", "net", "pid", "ipc", "uts", "user", "cgroup")),
           "308, os.pidfd_open(os.getpid()), 0x20000000", "272, 0x10000000 | 0x20000"),
    refused("terminal_typed_into", "fcntl.ioctl(it, 0x5412, b'x')", "fcntl.ioctl(it, 0x541C, b'\\3')",
            head="import fcntl", each=(0, 1, 2)),
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
)  # fmt: skip
