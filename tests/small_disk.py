"""A small disk of its own, to be filled; only root can mount one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import skip_or_fail


@contextmanager
def small_disk(folder: Path, size: str = "1m") -> Iterator[Callable[[str], object]]:
    """Puts a small disk there; gives what mounts it again with other options."""
    if os.geteuid() != 0:
        skip_or_fail("bubblewrap", "only root can mount a small disk")
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", folder], check=True)
    try:
        yield lambda options: subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Takes all that is left on a disk; returns the file that holds it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return filler
