"""Confinement of a worker on Linux: no network, user, capabilities, dumps or needless system calls.

Order matters: namespaces while there is one thread, the user while there are capabilities, the filter last.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Any

from alita_mcp.sandbox.runner.supervisor import hardening
from alita_mcp.sandbox.wasm.worker.system_calls import worker_filter

USER = 65532
"""Whom a worker that was started by root becomes; no system gives this number to anybody."""
OPEN_FILES = 64
COMPLAINT_BYTES = 64 << 10
"""What may be written to files: there is one, stderr."""
_NEW_USER, _NEW_OTHERS = 0x10000000, 0x40000000 | 0x08000000 | 0x04000000
"""CLONE_NEWUSER; CLONE_NEWNET, CLONE_NEWIPC and CLONE_NEWUTS."""
_PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, _PR_GET_DUMPABLE = 24, 47, 4, 3
_CAPABILITIES_V3 = 0x20080522
_MOST_CAPABILITIES = 64
_SHOWN = ("Uid", "Gid", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Threads")
_libc = ctypes.CDLL(None, use_errno=True)


def confine(compiled: Path) -> dict[str, Any]:
    """Drops these rights; returns what is in force."""
    descriptors = _descriptors(compiled.stat())
    alone = _libc.unshare(_NEW_OTHERS) == 0
    for number in range(_MOST_CAPABILITIES):
        _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    _become_nobody()
    own_network = alone or _libc.unshare(_NEW_USER | _NEW_OTHERS) == 0
    _libc.capset((ctypes.c_uint32 * 2)(_CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)())
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    hardening.lower_limit(resource.RLIMIT_CORE, 0)
    hardening.lower_limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    hardening.lower_limit(resource.RLIMIT_FSIZE, COMPLAINT_BYTES)
    hardening.prctl(hardening.PR_SET_DUMPABLE, 0)
    interfaces = Path("/proc/self/net/dev").read_text().splitlines()[2:]
    found = {
        "own_network": own_network,
        "interfaces": [line.partition(":")[0].strip() for line in interfaces],
        "descriptors": descriptors,
        "dumpable": _libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0),
        "core_bytes": resource.getrlimit(resource.RLIMIT_CORE)[1],
    }
    with Path("/proc/self/status").open(
        "rb", buffering=0
    ) as status:  # read when no file can be opened any more
        hardening.install_filter(worker_filter(os.uname().machine))
        lines = status.read(1 << 16).decode().splitlines()
    shown = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return found | {"status": {name: shown.get(name, "") for name in _SHOWN}}


def _become_nobody() -> None:
    """Who was root is no one, where that is allowed; all that is needed is open or mapped by now."""
    if os.geteuid() == 0:
        with suppress(OSError):
            os.setgroups([])
            os.setresgid(USER, USER, USER)
            os.setresuid(USER, USER, USER)


def _descriptors(compiled: os.stat_result) -> list[int]:
    """Those that are open, but for the engine's own of the file that instances get their memory from."""
    found = []
    for number in range(OPEN_FILES):
        with suppress(OSError):
            reads = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
            if not (reads and os.path.samestat(os.fstat(number), compiled)):
                found.append(number)
    return found
