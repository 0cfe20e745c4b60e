"""Attestation of a sandbox: facts that the supervisor collects about its process before it changes anything."""

from __future__ import annotations

import os
import resource
import sys
import sysconfig

from alita_mcp.sandbox.runner.supervisor.hardening import has_no_new_privileges

_STATUS = ("Uid", "Gid", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "Seccomp")
_MEMORY = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_PROCESSES = ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")
_ROOT = ("/", "/usr", "/var/tmp")
"""Folders that must be read-only. Anybody may write to the last by its mode: there only the file system can refuse."""
_OOM = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


def facts() -> dict[str, object]:
    """Collects all facts as plain JSON; numbers stay as the kernel writes them."""
    scratch = os.statvfs("/tmp")
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    # programs and wheels for glibc do not run beside a Python that was built on musl
    musl = "_musl" if "musl" in getattr(sys.implementation, "_multiarch", "") else ""
    with open("/proc/self/status") as file:
        pairs = [line.partition(":") for line in file]
    with open("/proc/net/dev") as file:
        interfaces = sorted(line.partition(":")[0].strip() for line in file if ":" in line)
    return {
        "pid": os.getpid(),
        "status": {name: value.strip() for name, _, value in pairs if name in _STATUS},
        "no_new_privileges": has_no_new_privileges(),
        "interfaces": interfaces,
        "root_read_only": all(_is_read_only(folder) for folder in _ROOT if os.path.isdir(folder)),
        "scratch_bytes": scratch.f_blocks * scratch.f_frsize,
        "scratch_files": scratch.f_files,
        "memory_limit": _first_line(_MEMORY),
        "process_limit": _first_line(_PROCESSES),
        "core_limit": resource.getrlimit(resource.RLIMIT_CORE)[1],
        "python_tag": f"cp{sys.version_info[0]}{sys.version_info[1]}-{platform}{musl}",
    }


def oom_kills() -> int | None:
    """Number of processes that the kernel killed here for lack of memory; None where it cannot be read."""
    for path in _OOM:
        try:
            with open(path) as file:
                for line in file:
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        except OSError:
            continue
    return None


def _is_read_only(folder: str) -> bool:
    """Whether the mount says so and a file cannot be made there; gVisor leaves the flag out of `statvfs`."""
    # of the mount that the folder lies on: the deepest one, and of several in one place the last
    point, options = "", ""
    with open("/proc/self/mountinfo") as file:
        for line in file:
            place, its = line.split()[4:6]
            if len(place) >= len(point) and f"{folder}/".startswith(f"{place.rstrip('/')}/"):
                point, options = place, its
    if "ro" not in options.split(","):
        return False
    path = os.path.join(folder, f".{os.urandom(8).hex()}")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        return True
    os.unlink(path)
    return False


def _first_line(paths: tuple[str, ...]) -> str | None:
    for path in paths:
        try:
            with open(path) as file:
                return file.readline().strip()
        except OSError:
            continue
    return None
