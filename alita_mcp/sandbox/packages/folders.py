"""Store of environments as folders; each is unpacked aside and renamed into place when complete."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from anyio import to_thread

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.packages.cache import Store
from alita_mcp.sandbox.packages.tar import FOLDER_MODE, plain_entries

_PARTIAL = ".partial-"


class Folders(Store):
    """Store of environments: a folder per digest below `root`, readable by everybody where `mode` says so."""

    def __init__(self, root: Path, mode: int = FOLDER_MODE) -> None:
        self._root = root
        self._mode = mode

    def find(self, digest: str) -> str | None:
        """The folder of a digest, when it is complete."""
        folder, _ = self._places(digest)
        return str(folder) if folder.is_dir() else None

    async def has_environment(self, digest: str) -> str | None:
        """The folder of an environment that was stored completely."""
        return self.find(digest)

    async def store_environment(self, digest: str, tar: bytes) -> str:
        """Unpacks a tar; a folder that is there already stays."""
        return await to_thread.run_sync(self._unpack, digest, tar)

    async def drop_environment(self, digest: str) -> bool:
        """Removes a folder; it cannot be found from the first instant on."""
        await to_thread.run_sync(self._drop, digest)
        return True

    def _unpack(self, digest: str, tar: bytes) -> str:
        folder, partial = self._places(digest)
        try:
            shutil.rmtree(partial, ignore_errors=True)  # of a builder that was killed
            partial.mkdir(parents=True)
            unpack(tar, partial)
            partial.chmod(self._mode)
            partial.rename(folder)
        except OSError as problem:
            if not folder.is_dir():
                raise SandboxError(f"Cannot store the environment in {self._root}: {problem}.") from problem
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return str(folder)

    def _drop(self, digest: str) -> None:
        folder, partial = self._places(digest)
        shutil.rmtree(partial, ignore_errors=True)
        try:
            folder.rename(partial)
        except FileNotFoundError:
            return
        except OSError as problem:
            raise SandboxError(f"The environment {folder} cannot be removed: {problem}.") from problem
        shutil.rmtree(partial, ignore_errors=True)

    def _places(self, digest: str) -> tuple[Path, Path]:
        """Where an environment lies, and where it is made and removed."""
        return self._root / digest, self._root / f"{_PARTIAL}{digest}"


def unpack(tar: bytes, folder: Path) -> None:
    """Writes the files of a tar below a folder, readable by all users under any umask; errors as `plain_entries`."""
    for entry, content in plain_entries(tar):
        target = folder / entry.name
        if content is None:
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            shutil.copyfileobj(content, file)
        target.chmod(entry.mode)
    for made, _folders, _files in os.walk(folder):
        Path(made).chmod(FOLDER_MODE)
