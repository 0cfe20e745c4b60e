"""Programs that leave a scratch folder that is hard to wipe; what comes after finds it empty and usable."""

from __future__ import annotations

from alita_mcp.values import Limits
from tests.sandbox.hostile import TRY, Hostile, all_refused, ends, gives

LOOK = """
import os
def left():
    own = os.path.realpath(os.getcwd())
    names = [os.path.join('/tmp', name) for name in os.listdir('/tmp')]
    return sorted(name for name in names if name != own) + sorted(os.listdir(own) if own != '/tmp' else [])
"""


def leaves(name: str, work: str, *, seconds: float = 20, files: int = 4096) -> Hostile:
    """A program that returns what it finds before its `work`, twice."""
    lines = "\n".join(f"    {line}" for line in work.strip().splitlines())
    code = f"{LOOK}\ndef f():\n    found = left()\n{lines}\n    return found\n"
    limits = Limits(wall_seconds=seconds, scratch_files=files)
    return Hostile(name, code, gives(lambda found: found == []), {}, limits, times=2)


SCRATCH = (
    leaves(
        "closed_folders",
        """
for top in ('/tmp/closed', 'shut'):
    os.makedirs(top + '/a/b/c', exist_ok=True)
    open(top + '/a/b/c/file', 'w').close()
    for part in ('/a/b/c/file', '/a/b/c', '/a/b', '/a', ''):
        os.chmod(top + part, 0)
""",
    ),
    leaves(
        "deep_and_closed",
        """
for _ in range(1500):
    os.mkdir('d')
    os.chdir('d')
for _ in range(1500):
    os.chdir('..')
    os.chmod('d', 0)
""",
    ),
    leaves(
        "wide",
        """
try:
    for n in range(100000):
        open(f'/tmp/{n}', 'w').close()
except OSError:
    pass
""",
        seconds=30,
        files=200_000,
    ),
    leaves(
        "odd_kinds",
        """
import socket
os.mkfifo('/tmp/fifo')
s = socket.socket(socket.AF_UNIX)
s.bind('/tmp/socket')
os.symlink('/tmp/loop', '/tmp/loop')
os.symlink('/', '/tmp/root')
os.symlink('/proc/1', '/tmp/one')
os.link('/tmp/fifo', '/tmp/fifo2')
os.mkfifo('fifo3')
""",
    ),
    leaves(
        "odd_names",
        r"""
for name in (b'\xff\xfe', b'new\nline', b'a' * 255, b' ', b'-rf', b'*', '\u202e'.encode(), b'\x1b[2J'):
    os.mkdir(b'/tmp/' + name)
    open(b'/tmp/' + name + b'/' + name, 'w').close()
""",
    ),
    leaves(
        "scratch_closed",
        """
for folder in ('.', '/tmp', '/dev/shm'):
    try:
        os.chmod(folder, 0)
    except OSError:
        pass
""",
    ),
    leaves(
        "scratch_moved_away",
        """
own = os.getcwd()
try:
    os.rename(own, '/tmp/elsewhere')
    os.symlink('/dev/shm', own)
except OSError:
    pass
""",
    ),
    leaves(
        "open_and_deleted",
        """
import mmap, time
held = open('/tmp/held', 'w+b')
held.truncate(8 << 20)
os.unlink('/tmp/held')
area = mmap.mmap(held.fileno(), 8 << 20)
area[:] = b'x' * (8 << 20)
if os.fork() == 0:
    time.sleep(9999)
""",
    ),
    leaves(
        "shared_memory_closed",
        """
assert os.listdir('/dev/shm') == [], 'something was left'
os.makedirs('/dev/shm/a/b')
open('/dev/shm/a/b/c', 'wb').write(b'x' * (1 << 20))
os.chmod('/dev/shm/a/b', 0)
os.chmod('/dev/shm/a', 0)
""",
    ),
    Hostile(
        "scratch_times_written",
        """
import os
WORD = 0x5EC2E7
def f():
    found = []
    for folder in {os.getcwd(), '/tmp', '/dev/shm', '/dev/mqueue'}:
        try:
            seen = os.stat(folder)
            found += [folder for number in (seen.st_atime_ns, seen.st_mtime_ns) if WORD in (number, number // 10**9)]
            os.utime(folder, ns=(WORD, WORD * 10**9))
        except OSError:
            pass
    return found
""",
        gives(lambda found: found == []),
        times=3,
    ),
    Hostile(
        "scratch_marked",
        """
import ctypes, fcntl, os, struct
GET, SET = 0x80086601, 0x40086602
def f():
    found = []
    for folder in {os.getcwd(), '/tmp', '/dev/shm'}:
        try:
            found += [[folder, name] for name in os.listxattr(folder)]
            os.setxattr(folder, 'user.leak', b'1')
        except OSError:
            pass
        for name in ('system.posix_acl_default', 'system.posix_acl_access'):
            try:
                os.setxattr(folder, name, struct.pack('<I', 2) + b''.join(
                    struct.pack('<HHI', tag, 7, 0xFFFFFFFF) for tag in (1, 4, 32)))
            except OSError:
                pass
        try:
            held = os.open(folder, os.O_RDONLY)
            flags = bytearray(8)
            fcntl.ioctl(held, GET, flags)
            if flags[0] & 0xC0:
                found.append([folder, 'flags', flags[0]])
            fcntl.ioctl(held, SET, bytes([flags[0] | 0xC0]) + bytes(flags[1:]))
        except OSError:
            pass
    return found
""",
        gives(lambda found: found == []),
        times=3,
    ),
    Hostile(
        "scratch_mounted_over",
        TRY
        + """
def f():
    return [t(lambda: os.open('/tmp/x', os.O_CREAT | os.O_RDWR | os.O_DIRECT) and 1 / 0),
            t(lambda: os.symlink('/proc/self/exe', '/tmp/exe') or os.execv('/tmp/run', ['run'])),
            t(lambda: os.mknod('/tmp/null', 0o20666, os.makedev(1, 3)) or open('/tmp/null').read()),
            t(lambda: os.setxattr('/tmp', 'security.capability', b'x')),
            t(lambda: os.setxattr('/tmp', 'trusted.x', b'x'))]
""",
        gives(all_refused),
    ),
    Hostile(
        "scratch_executed",
        TRY
        + """
import shutil, subprocess
def f():
    open('/tmp/run', 'w').write('#!/bin/sh\\necho ran\\n')
    os.chmod('/tmp/run', 0o4755)
    return os.stat('/tmp/run').st_uid != 0
""",
        gives(lambda v: v is True),
        times=2,
    ),
    Hostile(
        "files_are_full_for_the_next",
        """
def f():
    n = 0
    try:
        while n < 400000:
            open(f'/tmp/{n}', 'w').close()
            n += 1
    except OSError:
        pass
    return n
""",
        lambda r: (
            r.value > 500 if r.ok else r.status in {"memory", "timeout"} or "scratch_files" in r.message
        ),
        {},
        Limits(wall_seconds=10),
        times=2,
        embedded=gives(lambda n: n == 0),
    ),
    Hostile(
        "heap_and_scratch_together",
        """
def f():
    n = 0
    try:
        with open('/tmp/x', 'wb') as file:
            while True:
                file.write(b'x' * (1 << 20))
    except OSError:
        pass
    held = []
    while True:
        held.append(bytearray(b'x') * (4 << 20))
""",
        ends("memory"),
        {},
        Limits(wall_seconds=20, memory_bytes=128 << 20),
        times=2,
    ),
)
