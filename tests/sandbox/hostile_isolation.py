"""Programs that reach for the host."""

from __future__ import annotations

from tests.sandbox.hostile import TRY, Hostile, all_denied, all_refused, gives

ISOLATION = (
    Hostile(
        "root_written",
        TRY
        + """
def f():
    folders = ('/', '/usr', '/etc', '/var/tmp', '/root', '/home', '/opt', '/run')
    return [t(lambda: open(folder + '/zz', 'w')) for folder in folders] + [
        t(lambda: os.chmod('/usr', 0o777)), t(lambda: open('/dev/x', 'wb').write(b'a')),
        t(lambda: os.mkdir('/dev/q'))]
""",
        gives(all_refused),
    ),
    Hostile(
        "host_files",
        TRY
        + """
def f(paths):
    return [t(lambda: open(path).read()) for path in paths]
""",
        gives(all_refused),
        {
            "paths": [
                "/etc/shadow",
                "/root/.profile",
                "/root/.bashrc",
                "/proc/1/root/etc/shadow",
                "../../../../../../root/.bashrc",
                __file__,
            ]
        },
    ),
    Hostile(
        "engine_sockets",
        TRY
        + """
def f():
    paths = ('/var/run/docker.sock', '/run/containerd/containerd.sock',
             '/run/podman/podman.sock', '/run/dbus/system_bus_socket')
    return [t(lambda: os.stat(path)) for path in paths]
""",
        gives(all_refused),
    ),
    Hostile(
        "environment_variables",
        """
import glob, os
def f():
    text = ''
    for path in glob.glob('/proc/[0-9]*/environ'):
        try:
            text += open(path, errors='replace').read()
        except OSError:
            pass
    return [sorted(os.environ), 'PYTEST' in text or 'ALITA' in text]
""",
        gives(lambda v: not v[1] and set(v[0]) <= {"PATH", "LANG", "HOME", "TMPDIR", "PYTHONHASHSEED"}),
    ),
    Hostile(
        "interfaces",
        """
def f():
    lines = [line for line in open('/proc/net/dev') if ':' in line]
    return [line.split(':')[0].strip() for line in lines]
""",
        gives(lambda v: v == ["lo"]),
    ),
    Hostile(
        "network",
        TRY
        + """
def con(family, kind, address):
    s = socket.socket(family, kind)
    s.settimeout(1)
    s.connect(address)
    s.send(b'x')
def f():
    A, B, S, D = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, socket.SOCK_DGRAM
    return [t(lambda: con(*a)) for a in (
        (A, S, ('169.254.169.254', 80)), (A, D, ('169.254.169.254', 53)), (A, S, ('10.0.0.1', 80)),
        (A, S, ('172.17.0.1', 22)), (A, D, ('192.0.2.1', 53)), (B, S, ('2001:db8::1', 443)),
        (A, S, ('127.0.0.1', 3128)))] + [t(lambda: socket.getaddrinfo('example.invalid', 80))]
""",
        gives(all_refused),
    ),
    Hostile(
        "odd_sockets",
        TRY
        + """
def f():
    kinds = ((17, 3), (2, 3, 1), (40, 1), (40, 5), (38, 5), (31, 3), (29, 3),
             (30, 5), (21, 5), (44, 3), (15, 3))
    return [t(lambda: socket.socket(*kind)) for kind in kinds]
""",
        gives(all_refused),
    ),
    Hostile(
        "vsock",
        TRY
        + """
def f():
    return [t(lambda: socket.socket(40, socket.SOCK_STREAM))]
""",
        gives(lambda v: v[0][0] == "OSError" and "97" in v[0][1]),
    ),
    Hostile(
        "mounts",
        TRY
        + """
def f():
    return [sc(165, 0, 0, 0, 0, 0), sc(166, 0, 0), sc(155, 0, 0), sc(428, -100, 0, 0),
            sc(429, 0, 0, 0, 0, 0), sc(430, 0, 0), sc(442, 0, 0, 0, 0, 0), sc(161, 0)]
""",
        gives(all_denied),
    ),
    Hostile(
        "namespaces",
        TRY
        + """
def f():
    return [sc(272, flag) for flag in (0x10000000, 0x00020000, 0x40000000)] + [
        sc(308, 0, 0), sc(435, 0, 0), sc(56, 0x10000000, 0, 0, 0, 0)]
""",
        gives(all_denied),
    ),
    Hostile(
        "identity",
        TRY
        + """
def f():
    return [t(lambda: os.setuid(0)), t(lambda: os.setgid(0)),
            t(lambda: os.setgroups([0]))] + ([['OK', '']] if os.geteuid() == 0 else [])
""",
        gives(all_refused),
    ),
    Hostile(
        "set_user_programs",
        TRY
        + """
import subprocess
def f():
    answers = []
    for words in (['su', '-c', 'id'], ['mount', '-t', 'tmpfs', 'x', '/mnt'], ['newgrp', 'root']):
        try:
            p = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL)
            answers.append(['OK' if p.returncode == 0 else 'no', ''])
        except OSError:
            answers.append(['no', ''])
    return answers
""",
        gives(all_refused),
    ),
    Hostile(
        "capabilities",
        """
def f():
    return [line.split()[1] for line in open('/proc/self/status')
            if line.startswith('Cap')]
""",
        gives(lambda v: set(v) == {"0" * 16}),
    ),
    Hostile(
        "kernel_doors",
        TRY
        + """
def f():
    return [sc(250, 0, -3, 0), sc(248, 0, 0, 0, 0, 0), sc(425, 8, 0), sc(426, 0),
            sc(321, 0, 0, 0), sc(298, 0, 0, -1, -1, 0), sc(323, 0), sc(246, 0, 0, 0, 0), sc(175, 0, 0, 0),
            sc(169, 0, 0, 0), sc(103, 3, 0, 0), sc(304, 0, 0, 0), sc(447, 0), sc(278, 0, 0, 0, 0),
            sc(29, 0, 0, 0), sc(240, 0, 0, 0, 0)]
""",
        gives(all_denied),
    ),
    Hostile(
        "other_abi",
        TRY
        + """
def f():
    return [sc(0x40000000 | 39), sc(0x40000000 | 101, 0, 0, 0, 0)]
""",
        gives(lambda v: "OK" not in v),
    ),
    Hostile(
        "device_files",
        TRY
        + """
def f():
    paths = ('/dev/mem', '/dev/kmsg', '/dev/vda', '/dev/sda', '/dev/fuse',
             '/dev/kvm', '/dev/net/tun', '/dev/vsock')
    return [t(lambda: open(path, 'rb').read(1)) for path in paths] + [
        t(lambda: os.mknod('/tmp/d', 0o600 | 0x6000, os.makedev(254, 0)))]
""",
        gives(all_refused),
    ),
    Hostile(
        "kernel_settings",
        TRY
        + """
def f():
    paths = ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname',
             '/proc/sys/vm/drop_caches', '/proc/sysrq-trigger', '/proc/sys/net/ipv4/ip_forward',
             '/proc/self/uid_map', '/sys/fs/cgroup/memory/memory.limit_in_bytes',
             '/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/memory.max')
    return [t(lambda: open(path, 'wb', buffering=0).write(b'1')) for path in paths]
""",
        gives(all_refused),
    ),
    Hostile(
        "kernel_memory",
        TRY
        + """
def f():
    return [t(lambda: open(path, 'rb').read(64) or 1 / 0)
            for path in ('/proc/kcore', '/proc/kmsg')]
""",
        gives(all_refused),
    ),
    Hostile(
        "priorities",
        TRY
        + """
def f():
    return [t(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))),
            t(lambda: os.nice(-10))]
""",
        gives(all_refused),
    ),
    Hostile(
        "clock_set",
        TRY
        + """
def f():
    return [sc(227, 0, 0), sc(164, 0, 0), sc(305, 0, 0)]
""",
        gives(all_denied),
    ),
    Hostile(
        "limits_raised",
        TRY
        + """
import resource as R
def f():
    return [
        t(lambda: R.setrlimit(limit, (R.RLIM_INFINITY, R.RLIM_INFINITY)))
        for limit in (R.RLIMIT_NOFILE, R.RLIMIT_FSIZE, R.RLIMIT_CORE, R.RLIMIT_CPU)]
""",
        gives(all_refused),
    ),
    Hostile(
        "core_dumps",
        """
import resource
def f():
    return list(resource.getrlimit(resource.RLIMIT_CORE))
""",
        gives(lambda v: v in ([0, 0], [1, 1])),
    ),
    Hostile(
        "other_users_code",
        """
import sys
def f():
    return [name for name in sys.modules if 'alita_mcp' in name]
""",
        gives(lambda v: v == []),
    ),
    Hostile(
        "site_packages",
        """
import sys
def f():
    return ['site' in sys.modules] + [
        path for path in sys.path if 'packages' in path or path in ('', '.')]
""",
        gives(lambda v: v == [False]),
        embedded=gives(lambda v: v[1:] == []),
    ),
)
