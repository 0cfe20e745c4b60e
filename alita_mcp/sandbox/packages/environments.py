"""Builder of package environments: locks packages with hashes and installs them by uv, in a builder sandbox."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from anyio import to_thread
from packaging.version import InvalidVersion

from alita_mcp.errors import PackagesRejected, SandboxRefused
from alita_mcp.sandbox.interface import Environment, Progress
from alita_mcp.sandbox.packages.cache import EnvironmentCache
from alita_mcp.sandbox.packages.index_builder import BackEnd, IndexBuilder
from alita_mcp.sandbox.packages.lockfile import environment_digest, read_lock, read_requirements
from alita_mcp.sandbox.packages.package_index import package_index
from alita_mcp.sandbox.packages.tar import PROGRAM_MODE, tar_of_file
from alita_mcp.sandbox.packages.uses import KEPT, Uses
from alita_mcp.sandbox.packages.uv_binary import (
    NAME_INSIDE,
    PINNED,
    UvBinary,
    Wheel,
    fetch_program,
    find_uv,
    own_uv,
)
from alita_mcp.sandbox.wire.link import PACKAGES
from alita_mcp.settings import Settings
from alita_mcp.values import Lock


class EnvironmentBuilder(EnvironmentCache):
    """Resolves packages and builds environments for one back end; one build per digest at a time."""

    def __init__(
        self,
        back_end: BackEnd,
        settings: Settings,
        *,
        wheels: Mapping[str, Wheel] = PINNED,
        index: IndexBuilder | None = None,
    ) -> None:
        super().__init__(back_end.store, Uses(settings.home, back_end.kind), KEPT)
        self._back_end = back_end
        self._settings = settings
        self._index = index or IndexBuilder(back_end, settings)
        self._wheels = wheels
        self._uv_binary: UvBinary | None = None

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """Exact versions and hashes; errors as in the interface."""
        wanted = read_requirements(packages)
        python = await self._back_end.python_tag()
        if not wanted:
            return Lock(python=python)
        await progress(f"resolving {', '.join(wanted)}")
        request = {"task": "resolve", "packages": wanted, "uv": f"{PACKAGES}/{NAME_INSIDE}"}
        answer, _ = await self._index.ask(request, wanted, progress, await self._uv(python, progress))
        try:
            lines = sorted(package.line for package in answer.packages)
        except InvalidVersion as strange:
            raise PackagesRejected(
                f"The index offers a package with an invalid version: {strange}."
            ) from strange
        return Lock(requirements=tuple(lines), python=python)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The environment for a lock, built at most once; errors as in the interface."""
        names = read_lock(lock)
        python = await self._back_end.python_tag()
        if lock.python != python:
            raise SandboxRefused(
                f"The packages are locked for {lock.python!r}, the {self._back_end.kind} sandbox has {python!r}.",
                hint="Submit the tool again with update=true, or use the sandbox it was made in.",
            )

        async def install() -> bytes:
            count = len(lock.requirements)
            await progress(f"installing {count} package{'s' * (count != 1)}")
            request = {
                "task": "install",
                "requirements": lock.requirements,
                "place": PACKAGES,
                "uv": f"{PACKAGES}/{NAME_INSIDE}",
            }
            uv = await self._uv(python, progress) if lock.requirements else None
            _, tar = await self._index.ask(request, names, progress, uv)
            return tar

        digest = environment_digest(lock, self._back_end.kind, await self.home_id())
        return await self.obtain(digest, tuple(names), install)

    async def _uv(self, python: str, progress: Progress) -> Environment | None:
        """The environment that is uv itself, so that it crosses into the sandbox's store once."""
        if self._uv_binary is None:
            self._uv_binary = await to_thread.run_sync(lambda: find_uv(python, self._wheels, own=own_uv()))
        binary = self._uv_binary

        async def make() -> bytes:
            if binary.file is not None:
                program = await to_thread.run_sync(binary.file.read_bytes)
            else:
                assert binary.wheel is not None  # noqa: S101 - find_uv gives a file or a wheel
                await progress("fetching uv")
                program = await fetch_program(binary.wheel, package_index(self._settings))
            return await to_thread.run_sync(tar_of_file, NAME_INSIDE, program, PROGRAM_MODE)

        words = f"uv {binary.identity}\n{self._back_end.kind}\n{await self.home_id()}\n"
        return await self.obtain(hashlib.sha256(words.encode()).hexdigest(), ("uv",), make)
