"""Programs that reach for the host."""

from __future__ import annotations

from tests.sandbox.hostile import TRY, Hostile, denied, does, gives, refused

ISOLATION = (
    refused("root_written", "open(it + '/zz', 'w')", "os.chmod('/usr', 0o777)", "open('/dev/x', 'wb').write(b'a')",
            "os.mkdir('/dev/q')", each=("/", "/usr", "/etc", "/var/tmp", "/root", "/home", "/opt", "/run")),
    refused("host_files", "open(it).read()",
            each=("/etc/shadow", "/root/.profile", "/root/.bashrc", "/proc/1/root/etc/shadow",
                  "../../../../../../root/.bashrc", __file__)),
    refused("engine_sockets", "os.stat(it)",
            each=("/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
                  "/run/dbus/system_bus_socket")),
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
    refused(
        "network", "con(*it)",
        head="""
def con(family, kind, address):
    s = socket.socket(family, kind)
    s.settimeout(1)
    s.connect(address)
    s.send(b'x')
""",
        each=((2, 1, ("169.254.169.254", 80)), (2, 2, ("169.254.169.254", 53)), (2, 1, ("10.0.0.1", 80)),
              (2, 1, ("172.17.0.1", 22)), (2, 2, ("192.0.2.1", 53)), (10, 1, ("2001:db8::1", 443)),
              (2, 1, ("127.0.0.1", 3128))),
    ),
    refused("names_resolved", "socket.getaddrinfo('example.invalid', 80)"),
    refused("odd_sockets", "socket.socket(*it)",
            each=((17, 3), (2, 3, 1), (40, 1), (40, 5), (38, 5), (31, 3), (29, 3), (30, 5), (21, 5), (44, 3), (15, 3))),
    denied("mounts", "165, 0, 0, 0, 0, 0", "166, 0, 0", "155, 0, 0", "428, -100, 0, 0", "429, 0, 0, 0, 0, 0",
           "430, 0, 0", "442, 0, 0, 0, 0, 0", "161, 0"),
    denied("namespaces", "272, 0x10000000", "272, 0x00020000", "272, 0x40000000", "308, 0, 0", "435, 0, 0",
           "56, 0x10000000, 0, 0, 0, 0"),
    refused("identity", "os.setuid(0)", "os.setgid(0)", "os.setgroups([0])", "os.geteuid() and 1 / 0"),
    refused(
        "set_user_programs", "subprocess.run(it, capture_output=True, stdin=subprocess.DEVNULL, check=True)",
        head="import subprocess",
        each=(["su", "-c", "id"], ["mount", "-t", "tmpfs", "x", "/mnt"], ["newgrp", "root"]),
    ),
    denied("kernel_doors", "250, 0, -3, 0", "248, 0, 0, 0, 0, 0", "425, 8, 0", "426, 0", "321, 0, 0, 0",
           "298, 0, 0, -1, -1, 0", "323, 0", "246, 0, 0, 0, 0", "175, 0, 0, 0", "169, 0, 0, 0", "103, 3, 0, 0",
           "304, 0, 0, 0", "447, 0", "278, 0, 0, 0, 0", "29, 0, 0, 0", "240, 0, 0, 0, 0"),
    Hostile(
        "other_abi",
        f"{TRY}\ndef f():\n    return [sc(0x40000000 | 39), sc(0x40000000 | 101, 0, 0, 0, 0)]\n",
        gives(lambda v: "OK" not in v),
    ),
    refused("device_files", "open(it, 'rb').read(1)", "os.mknod('/tmp/d', 0o600 | 0x6000, os.makedev(254, 0))",
            each=("/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/fuse", "/dev/kvm", "/dev/net/tun",
                  "/dev/vsock")),
    refused("kernel_settings", "put(it, b'1')",
            each=("/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger",
                  "/proc/sys/net/ipv4/ip_forward", "/proc/self/uid_map", "/proc/self/gid_map", "/proc/self/setgroups",
                  "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/cgroup.procs",
                  "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/pids.max",
                  "/sys/fs/cgroup/pids/pids.max", "/sys/kernel/uevent_helper", "/sys/kernel/mm/hugepages",
                  "/sys/power/state", "/sys/class/net/lo/mtu", "/proc/irq/0/smp_affinity", "/proc/scsi/scsi",
                  "/proc/mtrr")),
    refused("priorities", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))", "os.nice(-10)"),
    denied("clock_set", "227, 0, 0", "164, 0, 0", "305, 0, 0"),
    refused("limits_raised", "R.setrlimit(getattr(R, it), (R.RLIM_INFINITY, R.RLIM_INFINITY))",
            head="import resource as R", each=("RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_CORE", "RLIMIT_CPU")),
    does("other_users_code", "return [name for name in sys.modules if 'alita_mcp' in name]", gives(lambda v: v == []),
         imports="sys"),
    does(
        "site_packages",
        "return ['site' in sys.modules] + [it for it in sys.path if 'packages' in it or it in ('', '.')]",
        gives(lambda v: v == [False]), imports="sys", embedded=gives(lambda v: v[1:] == []),
    ),
)  # fmt: skip
