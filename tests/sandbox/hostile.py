"""Programs that attack a sandbox of processes; each says what must come of it. The function is always `f`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from alita_mcp.sandbox.seam import RunResult
from alita_mcp.values import Limits

Expected = Callable[[RunResult], bool]


class Hostile(NamedTuple):
    """One program and its expected end."""

    name: str
    code: str
    expected: Expected
    arguments: dict[str, Any] = {}
    limits: Limits = Limits(wall_seconds=20)


def ends(*statuses: str) -> Expected:
    return lambda result: result.status in statuses


def gives(claim: Callable[[Any], bool]) -> Expected:
    return lambda result: result.status == "ok" and claim(result.value)


def all_refused(value: Any) -> bool:
    """Every attempt of `TRY` failed."""
    return bool(value) and all(attempt[0] != "OK" for attempt in value)


def all_denied(value: Any) -> bool:
    """Every system call of `TRY` failed for want of rights, not for its arguments."""
    return bool(value) and set(value) <= {"EPERM", "ENOSYS"}


SHORT = Limits(wall_seconds=1)
TRY = """
import ctypes, errno, os, platform, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
def t(action):
    try:
        return ["OK", repr(action())[:200]]
    except BaseException as refused:
        return [type(refused).__name__, str(refused)[:100]]
def sc(number, *words):
    if not x86:
        return "ENOSYS"
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(word) for word in words])
    return "OK" if answer >= 0 else errno.errorcode.get(ctypes.get_errno())
"""
FORGE = """
import json, os, struct
def forge(head, raw):
    text = json.dumps(head).encode()
    body = struct.pack(">I", len(text)) + text + raw
    data = struct.pack(">cI", b"R", len(body)) + body
    while data:
        data = data[os.write(3, data):]
"""

RESOURCES = (
    Hostile("fork_bomb", "import os\ndef f():\n    while True:\n        try:\n            os.fork()\n"
            "        except OSError:\n            pass\n", ends("timeout", "memory"), {}, Limits(wall_seconds=2)),
    Hostile("thread_bomb", "import threading, time\ndef f():\n    n = 0\n    try:\n        while True:\n"
            "            threading.Thread(target=time.sleep, args=(1000,)).start(); n += 1\n"
            "    except RuntimeError:\n        return n\n", gives(lambda n: n < 64)),
    Hostile("memory_of_children", "import os, time\ndef f():\n    for _ in range(6):\n        if os.fork() == 0:\n"
            "            held = bytearray(100 << 20)\n            for at in range(0, len(held), 4096):\n"
            "                held[at] = 1\n            time.sleep(30)\n    time.sleep(2)\n    return 1\n",
            ends("ok", "memory"), {}, Limits(wall_seconds=10)),
    Hostile("scratch_fill", "def f():\n    n = 0\n    try:\n        for i in range(10000):\n"
            "            with open(f'/tmp/x{i}', 'wb') as h:\n                while h.tell() < 50 << 20:\n"
            "                    h.write(b'a' * (1 << 20)); n += 1\n    except OSError:\n        return n\n",
            gives(lambda n: n <= 64), {}, Limits(wall_seconds=30)),
    Hostile("scratch_files", "def f():\n    n = 0\n    try:\n        while n < 400000:\n"
            "            open(f'/tmp/{n}', 'w').close(); n += 1\n    except OSError:\n        pass\n    return n\n",
            lambda r: r.status in {"memory", "timeout"} or r.value < 10_000, {}, Limits(wall_seconds=10)),
    Hostile("shared_memory_fill", "def f():\n    n = 0\n    try:\n        with open('/dev/shm/x', 'wb') as h:\n"
            "            while True:\n                h.write(b'a' * (1 << 20)); h.flush(); n += 1\n"
            "    except OSError:\n        return n\n", gives(lambda n: n <= 16)),
    Hostile("sparse_file", "import os\ndef f():\n    fd = os.open('/tmp/s', os.O_RDWR | os.O_CREAT)\n"
            "    os.ftruncate(fd, 1 << 40)\n", ends("error", "crashed")),
    Hostile("deep_tree", "import os\ndef f():\n    for _ in range(3000):\n        os.mkdir('d'); os.chdir('d')\n"
            "    return 1\n", ends("ok", "error")),
    Hostile("file_descriptors", "import os\ndef f():\n    held = []\n    try:\n        while True:\n"
            "            held.append(os.open('/dev/null', 0))\n    except OSError:\n        return len(held)\n",
            gives(lambda n: n < 300)),
    Hostile("socket_buffers", "import socket\ndef f():\n    held = []\n    try:\n        while True:\n"
            "            a, b = socket.socketpair(); a.setblocking(False); held.append((a, b))\n            try:\n"
            "                while True:\n                    a.send(b'x' * 65536)\n"
            "            except BlockingIOError:\n                pass\n    except OSError:\n        return 1\n",
            ends("ok", "memory")),
    Hostile("regular_expression", "import re\ndef f():\n    re.match(r'(a+)+$', 'a' * 40 + 'b')\n", ends("timeout"),
            {}, SHORT),
    Hostile("cpu_limit", "def f():\n    while True:\n        pass\n",
            lambda r: r.status == "timeout" and "CPU" in r.message, {}, Limits(wall_seconds=30, cpu_seconds=1)),
    Hostile("signals_ignored", "import signal\ndef f():\n    for number in range(1, 65):\n        try:\n"
            "            signal.signal(number, signal.SIG_IGN)\n        except Exception:\n            pass\n"
            "    while True:\n        pass\n", ends("timeout"), {}, SHORT),
    Hostile("stops_itself", "import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGSTOP)\n", ends("timeout"),
            {}, SHORT),
    Hostile("daemon", "import os, time\ndef f():\n    if os.fork() == 0:\n        os.setsid()\n"
            "        if os.fork():\n            os._exit(0)\n        time.sleep(9999)\n    return 1\n", ends("ok")),
    Hostile("background_shell", "import subprocess\ndef f():\n"
            "    subprocess.Popen(['sleep', '9999'], start_new_session=True)\n"
            "    subprocess.Popen('(sleep 9999 &) &', shell=True)\n    return 1\n", ends("ok")),
    Hostile("threads_that_stay", "import threading, time\ndef f():\n"
            "    [threading.Thread(target=time.sleep, args=(1e5,)).start() for _ in range(5)]\n    return 7\n",
            gives(lambda v: v == 7)),
    Hostile("exit_handlers", "import atexit, time\ndef f():\n    atexit.register(time.sleep, 1e5)\n    return 7\n",
            gives(lambda v: v == 7)),
    Hostile("destructors", "import time\nclass A:\n    def __del__(self):\n        time.sleep(1e5)\ndef f():\n"
            "    global a\n    a = A()\n    return 7\n", gives(lambda v: v == 7)),
)  # fmt: skip
ENDINGS = (
    Hostile("exits", "import sys\ndef f():\n    sys.exit(0)\n",
            lambda r: r.status == "error" and r.error_type == "SystemExit"),
    Hostile("exits_hard", "import os\ndef f():\n    os._exit(0)\n", ends("crashed")),
    Hostile("interrupts_itself", "def f():\n    raise KeyboardInterrupt\n", ends("error")),
    Hostile("segfaults", "import ctypes\ndef f():\n    ctypes.string_at(0)\n",
            lambda r: r.status == "crashed" and "SIGSEGV" in r.message),
    Hostile("aborts", "import os\ndef f():\n    os.abort()\n", ends("crashed")),
    Hostile("kills_itself", "import os\ndef f():\n    os.kill(os.getpid(), 9)\n", ends("crashed")),
    Hostile("kills_all", "import os\ndef f():\n    os.kill(-1, 9)\n    return 5\n", ends("ok", "error", "crashed")),
    Hostile("recursion_without_limit", "import sys\ndef f():\n    sys.setrecursionlimit(10 ** 9)\n"
            "    def g(n):\n        return [g(n + 1)]\n    return g(0)\n", ends("crashed", "error", "memory", "timeout")),
    Hostile("closes_everything", "import os\ndef f():\n    os.closerange(0, 256)\n    return 1\n", ends("crashed")),
    Hostile("closes_everything_and_waits", "import os, time\ndef f():\n    os.closerange(0, 256)\n"
            "    time.sleep(1e5)\n", lambda r: r.status == "crashed" and "channel" in r.message),
    Hostile("closes_everything_at_import", "import os\nos.closerange(0, 64)\ndef f():\n    return 1\n",
            ends("crashed", "load_failed")),
    Hostile("exits_at_import", "import os\nos._exit(0)\n", ends("load_failed")),
    Hostile("crashes_at_import", "import ctypes\nctypes.string_at(0)\n", ends("load_failed")),
    Hostile("floods_at_import", "import os\nwhile True:\n    os.write(1, b'a' * 65536)\n", ends("output_flood")),
    Hostile("floods_stderr", "import os\ndef f():\n    while True:\n        os.write(2, b'y' * 65536)\n",
            ends("output_flood")),
    Hostile("writes_no_utf8", "import os\ndef f():\n    os.write(1, b'\\xff\\xfeabc')\n    return 1\n",
            lambda r: r.status == "ok" and r.stdout.endswith("abc")),
    Hostile("keeps_streams_apart", "import sys\ndef f():\n    print('out')\n    print('err', file=sys.stderr)\n",
            lambda r: (r.stdout, r.stderr) == ("out\n", "err\n")),
    Hostile("reads_stdin", "import os, sys\ndef f():\n    return [sys.stdin.read(), len(os.read(0, 100))]\n",
            gives(lambda v: v == ["", 0])),
    Hostile("hostile_exception", "class X(Exception):\n    def __str__(self):\n        raise SystemExit('no')\n"
            "    __repr__ = __str__\ndef f():\n    raise X()\n", lambda r: r.status == "error" and r.error_type == "X"),
    Hostile("half_a_surrogate_in_an_exception", "def f():\n    raise ValueError('\\ud800')\n", ends("error")),
    Hostile("huge_exception", "def f():\n    raise ValueError('x' * (8 << 20))\n",
            lambda r: r.status == "error" and len(r.message) <= 2000),
    Hostile("half_a_surrogate", "def f():\n    return '\\ud800'\n", ends("bad_result")),
    Hostile("refers_to_itself", "def f():\n    x = []\n    x.append(x)\n    x.append(x)\n    return x\n",
            ends("bad_result")),
    Hostile("dataclass_that_refers_to_itself", "from dataclasses import dataclass\n@dataclass\nclass A:\n    a: list\n"
            "def f():\n    x = A([])\n    x.a.extend([x, x])\n    return x\n", ends("bad_result")),
    Hostile("generator", "def f():\n    while True:\n        yield 1\n", ends("bad_result")),
    Hostile("integer_that_is_always_equal", "class E(int):\n    def __eq__(self, other):\n        return True\n"
            "    __hash__ = int.__hash__\ndef f():\n    return E(3)\n", ends("bad_result")),
    Hostile("dict_that_lies", "class D(dict):\n    def items(self):\n        return iter([('a', 1)] * 10 ** 9)\n"
            "def f():\n    return D()\n", ends("bad_result")),
    Hostile("millions_of_parts", "def f():\n    return [0] * 600000\n", ends("bad_result")),
)  # fmt: skip
TAMPERING = (
    Hostile("frames_on_every_descriptor", "import os, struct\ndef f():\n"
            "    frame = struct.pack('>BII', 7, 0, 15) + b'{\"status\":\"ok\"}'\n    for fd in range(1024):\n"
            "        if fd == 3:\n            continue\n        try:\n            os.write(fd, frame)\n"
            "        except OSError:\n            pass\n    return 5\n", gives(lambda v: v == 5)),
    Hostile("garbage_on_the_channel", "import os\ndef f():\n    os.write(3, b'\\xff' * 100)\n    while True:\n"
            "        pass\n", ends("crashed")),
    Hostile("unknown_message", "import os, struct\ndef f():\n    os.write(3, struct.pack('>cI', b'Z', 0))\n"
            "    while True:\n        pass\n", ends("crashed")),
    Hostile("half_a_message", "import os, struct, time\ndef f():\n    os.write(3, struct.pack('>cI', b'R', 1000))\n"
            "    time.sleep(1e5)\n", ends("timeout"), {}, SHORT),
    Hostile("forged_nan", FORGE + "def f():\n    forge({'status': 'ok'}, b'{\"a\": NaN}')\n    os._exit(0)\n",
            ends("bad_result")),
    Hostile("forged_depth", FORGE + "def f():\n    forge({'status': 'ok'}, b'[' * 200000 + b']' * 200000)\n",
            ends("bad_result")),
    Hostile("forged_size", FORGE + "def f():\n    forge({'status': 'ok'}, b'\"' + b'x' * ((1 << 20) + 500) + b'\"')\n",
            ends("bad_result")),
    Hostile("forged_head", FORGE + "def f():\n    forge({'status': 'ok', 'trace': 'x' * 60000, 'seconds': 'x'}, b'1')\n",
            ends("ok", "crashed")),
    Hostile("forged_status", FORGE + "def f():\n    forge({'status': 'timeout'}, b'1')\n", ends("crashed")),
    Hostile("forged_array_for_a_head", FORGE + "def f():\n    forge([1], b'1')\n", ends("crashed")),
    Hostile("forged_surrogates", FORGE + "def f():\n    forge({'status': 'error', 'message': '\\ud800'}, b'')\n",
            ends("error")),
    Hostile("json_replaced", "import json\ndef f():\n    json.dumps = lambda *a, **k: '{\"pwned\": 1}'\n    return 5\n",
            ends("ok")),
    Hostile("caller_emptied", "import sys\ndef f():\n    names = sys._getframe(1).f_globals\n    for name in list(names):\n"
            "        if name != '__builtins__':\n            names[name] = None\n    return 5\n",
            ends("ok", "crashed", "error", "bad_result")),
    Hostile("builtins_poisoned", "import builtins\ndef f():\n    builtins.len = lambda x: 0\n"
            "    builtins.isinstance = lambda *a: True\n    builtins.open = None\n    return 'abc'\n",
            ends("ok", "bad_result", "error", "crashed", "timeout")),
    Hostile("supervisor_signalled", "import os\ndef f():\n    for number in range(1, 65):\n        if number != 17:\n"
            "            try:\n                os.kill(1, number)\n            except OSError:\n"
            "                pass\n    return 5\n", gives(lambda v: v == 5)),
    Hostile("supervisor_opened", TRY + "def f():\n    return [\n        t(lambda: open('/proc/1/mem', 'rb')),\n"
            "        t(lambda: open('/proc/1/environ', 'rb').read()),\n        t(lambda: os.listdir('/proc/1/fd')),\n"
            "        t(lambda: os.open('/proc/1/fd/1', os.O_WRONLY)),\n"
            "        t(lambda: open('/proc/1/maps').read()),\n"
            "        t(lambda: open('/proc/1/oom_score_adj', 'w').write('1000'))]\n", gives(all_refused)),
    Hostile("supervisor_limited", TRY + "import resource\ndef f():\n"
            "    return [t(lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3)))]\n", gives(all_refused)),
    Hostile("supervisor_traced", TRY + "def f():\n    return [sc(101, 16, 1, 0, 0), sc(310, 1, 0, 0, 0, 0, 0),\n"
            "            sc(311, 1, 0, 0, 0, 0, 0), sc(438, 0, 1, 0)]\n", gives(all_denied)),
    Hostile("token_searched", "def f():\n    import re\n    data = b''\n    for line in open('/proc/self/maps'):\n"
            "        area, _, rest = line.partition(' ')\n        if rest.startswith('rw'):\n"
            "            start, end = [int(part, 16) for part in area.split('-')]\n            try:\n"
            "                with open('/proc/self/mem', 'rb', 0) as memory:\n"
            "                    memory.seek(start)\n                    data += memory.read(end - start)\n"
            "            except OSError:\n                pass\n"
            "    pattern = bytes([34]) + b'token' + rb'\": \"[0-9a-f]{32}'\n"
            "    return [len(data) > 100000, len(re.findall(pattern, data))]\n", gives(lambda v: v == [True, 0])),
)  # fmt: skip
ISOLATION = (
    Hostile("root_written", TRY + "def f():\n    folders = ('/', '/usr', '/etc', '/var/tmp', '/root', '/home', '/opt', '/run')\n"
            "    return [t(lambda: open(folder + '/zz', 'w')) for folder in folders] + [\n"
            "        t(lambda: os.chmod('/usr', 0o777)), t(lambda: open('/dev/x', 'wb').write(b'a')),\n"
            "        t(lambda: os.mkdir('/dev/q'))]\n", gives(all_refused)),
    Hostile("host_files", TRY + "def f(paths):\n    return [t(lambda: open(path).read()) for path in paths]\n",
            gives(all_refused), {"paths": ["/etc/shadow", "/root/.profile", "/root/.bashrc", "/proc/1/root/etc/shadow",
                                           "../../../../../../root/.bashrc", __file__]}),
    Hostile("engine_sockets", TRY + "def f():\n    paths = ('/var/run/docker.sock', '/run/containerd/containerd.sock',\n"
            "             '/run/podman/podman.sock', '/run/dbus/system_bus_socket')\n"
            "    return [t(lambda: os.stat(path)) for path in paths]\n", gives(all_refused)),
    Hostile("environment_variables", "import glob, os\ndef f():\n    text = ''\n"
            "    for path in glob.glob('/proc/[0-9]*/environ'):\n        try:\n"
            "            text += open(path, errors='replace').read()\n        except OSError:\n            pass\n"
            "    return [sorted(os.environ), 'PYTEST' in text or 'ALITA' in text]\n",
            gives(lambda v: not v[1] and set(v[0]) <= {"PATH", "LANG", "HOME", "TMPDIR", "PYTHONHASHSEED"})),
    Hostile("interfaces", "def f():\n    lines = [line for line in open('/proc/net/dev') if ':' in line]\n"
            "    return [line.split(':')[0].strip() for line in lines]\n", gives(lambda v: v == ["lo"])),
    Hostile("network", TRY + "def con(family, kind, address):\n    s = socket.socket(family, kind)\n    s.settimeout(1)\n"
            "    s.connect(address)\n    s.send(b'x')\ndef f():\n    A, B, S, D = socket.AF_INET, socket.AF_INET6, "
            "socket.SOCK_STREAM, socket.SOCK_DGRAM\n    return [t(lambda: con(*a)) for a in (\n"
            "        (A, S, ('169.254.169.254', 80)), (A, D, ('169.254.169.254', 53)), (A, S, ('10.0.0.1', 80)),\n"
            "        (A, S, ('172.17.0.1', 22)), (A, D, ('192.0.2.1', 53)), (B, S, ('2001:db8::1', 443)),\n"
            "        (A, S, ('127.0.0.1', 3128)))] + [t(lambda: socket.getaddrinfo('example.invalid', 80))]\n",
            gives(all_refused)),
    Hostile("odd_sockets", TRY + "def f():\n    kinds = ((17, 3), (2, 3, 1), (40, 1), (40, 5), (38, 5), (31, 3), (29, 3),\n"
            "             (30, 5), (21, 5), (44, 3), (15, 3))\n"
            "    return [t(lambda: socket.socket(*kind)) for kind in kinds]\n", gives(all_refused)),
    Hostile("vsock", TRY + "def f():\n    return [t(lambda: socket.socket(40, socket.SOCK_STREAM))]\n",
            gives(lambda v: v[0][0] == "OSError" and "97" in v[0][1])),
    Hostile("mounts", TRY + "def f():\n    return [sc(165, 0, 0, 0, 0, 0), sc(166, 0, 0), sc(155, 0, 0), sc(428, -100, 0, 0),\n"
            "            sc(429, 0, 0, 0, 0, 0), sc(430, 0, 0), sc(442, 0, 0, 0, 0, 0), sc(161, 0)]\n", gives(all_denied)),
    Hostile("namespaces", TRY + "def f():\n    return [sc(272, flag) for flag in (0x10000000, 0x00020000, 0x40000000)] + [\n"
            "        sc(308, 0, 0), sc(435, 0, 0), sc(56, 0x10000000, 0, 0, 0, 0)]\n", gives(all_denied)),
    Hostile("identity", TRY + "def f():\n    return [t(lambda: os.setuid(0)), t(lambda: os.setgid(0)),\n"
            "            t(lambda: os.setgroups([0]))] + ([['OK', '']] if os.geteuid() == 0 else [])\n", gives(all_refused)),
    Hostile("set_user_programs", TRY + "import subprocess\ndef f():\n    answers = []\n"
            "    for words in (['su', '-c', 'id'], ['mount', '-t', 'tmpfs', 'x', '/mnt'], ['newgrp', 'root']):\n"
            "        try:\n            p = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL)\n"
            "            answers.append(['OK' if p.returncode == 0 else 'no', ''])\n"
            "        except OSError:\n            answers.append(['no', ''])\n    return answers\n", gives(all_refused)),
    Hostile("capabilities", "def f():\n    return [line.split()[1] for line in open('/proc/self/status')\n"
            "            if line.startswith('Cap')]\n", gives(lambda v: set(v) == {"0" * 16})),
    Hostile("kernel_doors", TRY + "def f():\n    return [sc(250, 0, -3, 0), sc(248, 0, 0, 0, 0, 0), sc(425, 8, 0), sc(426, 0),\n"
            "            sc(321, 0, 0, 0), sc(298, 0, 0, -1, -1, 0), sc(323, 0), sc(246, 0, 0, 0, 0), sc(175, 0, 0, 0),\n"
            "            sc(169, 0, 0, 0), sc(103, 3, 0, 0), sc(304, 0, 0, 0), sc(447, 0), sc(278, 0, 0, 0, 0),\n"
            "            sc(29, 0, 0, 0), sc(240, 0, 0, 0, 0)]\n", gives(all_denied)),
    Hostile("other_abi", TRY + "def f():\n    return [sc(0x40000000 | 39), sc(0x40000000 | 101, 0, 0, 0, 0)]\n",
            gives(lambda v: "OK" not in v)),
    Hostile("device_files", TRY + "def f():\n    paths = ('/dev/mem', '/dev/kmsg', '/dev/vda', '/dev/sda', '/dev/fuse',\n"
            "             '/dev/kvm', '/dev/net/tun', '/dev/vsock')\n"
            "    return [t(lambda: open(path, 'rb').read(1)) for path in paths] + [\n"
            "        t(lambda: os.mknod('/tmp/d', 0o600 | 0x6000, os.makedev(254, 0)))]\n", gives(all_refused)),
    Hostile("kernel_settings", TRY + "def f():\n    paths = ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname',\n"
            "             '/proc/sys/vm/drop_caches', '/proc/sysrq-trigger', '/proc/sys/net/ipv4/ip_forward',\n"
            "             '/proc/self/uid_map', '/sys/fs/cgroup/memory/memory.limit_in_bytes',\n"
            "             '/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/memory.max')\n"
            "    return [t(lambda: open(path, 'wb', buffering=0).write(b'1')) for path in paths]\n", gives(all_refused)),
    Hostile("kernel_memory", TRY + "def f():\n    return [t(lambda: open(path, 'rb').read(64) or 1 / 0)\n"
            "            for path in ('/proc/kcore', '/proc/kmsg')]\n", gives(all_refused)),
    Hostile("priorities", TRY + "def f():\n    return [t(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))),\n"
            "            t(lambda: os.nice(-10))]\n", gives(all_refused)),
    Hostile("clock_set", TRY + "def f():\n    return [sc(227, 0, 0), sc(164, 0, 0), sc(305, 0, 0)]\n", gives(all_denied)),
    Hostile("limits_raised", TRY + "import resource as R\ndef f():\n    return [\n"
            "        t(lambda: R.setrlimit(limit, (R.RLIM_INFINITY, R.RLIM_INFINITY)))\n"
            "        for limit in (R.RLIMIT_NOFILE, R.RLIMIT_FSIZE, R.RLIMIT_CORE, R.RLIMIT_CPU)]\n", gives(all_refused)),
    Hostile("core_dumps", "import resource\ndef f():\n    return list(resource.getrlimit(resource.RLIMIT_CORE))\n",
            gives(lambda v: v == [0, 0])),
    Hostile("other_users_code", "import sys\ndef f():\n    return [name for name in sys.modules if 'alita_mcp' in name]\n",
            gives(lambda v: v == [])),
    Hostile("site_packages", "import sys\ndef f():\n    return ['site' in sys.modules] + [\n"
            "        path for path in sys.path if 'packages' in path or path in ('', '.')]\n", gives(lambda v: v == [False])),
)  # fmt: skip
HOSTILE = RESOURCES + ENDINGS + TAMPERING + ISOLATION
