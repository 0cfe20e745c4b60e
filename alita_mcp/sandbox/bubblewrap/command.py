"""Command line of bubblewrap: namespaces of its own, a minimal read-only root, no capabilities."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from alita_mcp.sandbox.wire.bundle import command
from alita_mcp.sandbox.wire.link import PACKAGES
from alita_mcp.values import Limits

USER = 65532
"""Outside, when this process is root; inside always."""
OLDEST = (0, 8)
_SHARED_MEMORY = 16 << 20
_PAGE = 4096
_LINKS = ("/lib", "/lib64", "/lib32", "/libx32", "/bin", "/sbin")
_CERTIFICATES = ("/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted")
_UPTIME = ("/proc/uptime", "/proc/stat", "/proc/loadavg")
"""Not readable inside: they tell how long the host has run, which gives the real clock away where it is moved."""
_MOUNT_POINT = "/tmp"  # noqa: S108 - covered in a mount namespace of one process only
WAIT = 'read -r go && exec "$@"'
"""Holds the start until this process has put the shell's number under its limits."""
MOUNT_AND_WAIT = 'read -r go && mount --bind "$1" "$2" && shift 2 && exec "$@"'
DROP = ("setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "--")
"""Drops the rights of root for those of an unused user.

Not the `user` of `subprocess`: with it Python forks this whole process instead of borrowing its memory for the start,
and OpenBLAS, which has something to do at each fork, then waits for its own threads for ever.
"""


class Interpreter(NamedTuple):
    """Python interpreter that the sandbox's user can start."""

    executable: str
    prefix: str
    """A folder to mount besides /usr; empty when it lies there."""


def scratch_bytes(limits: Limits) -> int:
    """Size of /tmp in bytes; never 0, which would mean no limit."""
    return max(limits.scratch_bytes, _PAGE)


def bwrap_command(bwrap: str, python: Interpreter, limits: Limits, packages: str) -> list[str]:
    """The command that becomes a confined supervisor; `packages` is the folder of its environment or empty."""
    prefix = ["--ro-bind", python.prefix, python.prefix] if python.prefix else []
    environment = ["--ro-bind", packages, PACKAGES] if packages else []
    return [
        bwrap, "--unshare-all", "--unshare-user", "--disable-userns", "--uid", str(USER), "--gid", str(USER),
        "--as-pid-1", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--hostname", "tool",
        *_root(), *prefix, *environment,
        "--proc", "/proc", "--dev", "/dev", *(word for place in _UPTIME for word in ("--ro-bind", "/dev/null", place)),
        "--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm",  # noqa: S108 - all inside
        "--remount-ro", "/dev",
        "--size", str(scratch_bytes(limits)), "--tmpfs", "/tmp",  # noqa: S108
        "--chdir", "/tmp",  # noqa: S108
        # bubblewrap's own root is a writable tmpfs without a limit
        "--remount-ro", "/",
        "--", *command(python.executable),
    ]  # fmt: skip


def command_without_privileges(argv: list[str]) -> list[str]:
    """The command with root's rights dropped; other users run it as themselves.

    bubblewrap started as root would map the sandbox's user to root outside, who may write /proc/sys without any
    capability.
    """
    return [*DROP, *argv] if os.geteuid() == 0 else argv


def start_command(python: Interpreter, bwrap: str, limits: Limits, packages: str) -> list[str]:
    """Command that becomes a confined supervisor once a line arrives on stdin, without root's privileges.

    bubblewrap resolves paths as the user it runs as, who cannot look into root's home. So root mounts the folder of
    packages over a public place, in a mount namespace that only this command sees, before the privileges are dropped.
    """
    if not packages or os.geteuid() != 0:
        argv = bwrap_command(bwrap, python, limits, packages)
        return command_without_privileges(["/bin/sh", "-c", WAIT, "sh", *argv])
    words = [packages, _MOUNT_POINT, *DROP, *bwrap_command(bwrap, python, limits, _MOUNT_POINT)]
    return ["unshare", "--mount", "--", "/bin/sh", "-c", MOUNT_AND_WAIT, "sh", *words]


def _root() -> list[str]:
    words = ["--ro-bind", "/usr", "/usr"]
    for place in _LINKS:
        if Path(place).is_symlink():
            words += ["--symlink", str(Path(place).readlink()), place]
        elif Path(place).is_dir():
            words += ["--ro-bind", place, place]
    for place in _CERTIFICATES:
        words += ["--ro-bind-try", place, place]
    return words
