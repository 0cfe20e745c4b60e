"""Choice of the uv program for a sandbox: the installed one where it runs there, else a pinned static one."""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import anyio

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.packages.package_index import PackageIndex
from alita_mcp.sandbox.packages.uv_failure import failure_of

NAME_INSIDE = "uv"
"""The program's path below the folder that a sandbox sees its environment in."""
MUSL = "_musl"
"""How the tag of a Python ends that was built on musl instead of glibc."""
PINNED_VERSION = "0.13.9"
PINNED: Mapping[str, str] = {
    "x86_64": "2c45530751517d6c3bbc69a19473f6effe47cce047bede01ffd8af7ea7b36b25",
    "aarch64": "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe",
}
"""SHA-256 of the wheels whose program is statically linked, so that it runs in every Linux of its machine."""


def machine_of(python_tag: str) -> str:
    """The machine in a tag: `x86_64` of `cp311-linux_x86_64` and of `cp311-linux_x86_64_musl`."""
    return python_tag.partition("-linux_")[2].removesuffix(MUSL)


def runs_own_uv(python_tag: str) -> bool:
    """Whether this machine's own uv runs beside a sandbox's Python."""
    is_same_machine = sys.platform == "linux" and platform.machine() == machine_of(python_tag)
    return is_same_machine and not python_tag.endswith(MUSL) and own_uv() is not None


def own_uv() -> Path | None:
    """The uv that was installed with this package."""
    import uv

    try:
        return Path(uv.find_uv_bin())
    except FileNotFoundError:
        return None


async def fetch_static_uv(machine: str, index: PackageIndex, pinned: Mapping[str, str] = PINNED) -> bytes:
    """The static program for a machine, which this machine's own uv fetches from the package index.

    Raises:
        SandboxError: none is known for the machine, or the index has none of the pinned hash, or does not answer.
    """
    own, sha256 = own_uv(), pinned.get(machine)
    if own is None or sha256 is None:
        raise SandboxError(
            f"There is no uv for the sandbox's Python on {machine!r}.",
            hint=f"Packages need uv beside this program, and a sandbox on {' or '.join(pinned)}.",
        )
    with tempfile.TemporaryDirectory(prefix="alita-uv-") as folder:
        lock = anyio.Path(folder, "lock")
        await lock.write_text(f"uv=={PINNED_VERSION} --hash=sha256:{sha256}\n", "utf-8")
        argv = [
            own, "pip", "install", "--no-config", "--no-cache", "--color", "never", "--no-deps", "--require-hashes",
            "--only-binary", ":all:", "--python-platform", f"{machine}-unknown-linux-musl", "--python", sys.executable,
            "--default-index", index.url, "--target", folder, "--requirements", lock,
        ]  # fmt: skip
        ended = await anyio.run_process([str(word) for word in argv], check=False)
        if ended.returncode:
            failure = failure_of(ended.stderr.decode("utf-8", "replace").splitlines(), ["uv"])
            hint = f"uv {PINNED_VERSION} for musllinux must be on the index, or name another in ALITA_PACKAGE_INDEX."
            raise SandboxError(failure.message, hint=hint)
        return await anyio.Path(folder, "bin", "uv").read_bytes()
