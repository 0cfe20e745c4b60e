"""Packages in, a lock with hashes and a built environment out; pip does both in a sandbox that sees the index only."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from importlib import resources
from typing import Any, Protocol

import anyio
from anyio import to_thread
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from pydantic import Field, ValidationError

from alita_mcp.errors import PackagesRejected, SandboxError, SandboxRefused
from alita_mcp.sandbox.builder import PROXY, BuilderFailed
from alita_mcp.sandbox.package_index import PackageIndex, package_index, trusted_authorities
from alita_mcp.sandbox.pip_failure import failure_of
from alita_mcp.sandbox.pip_payload import pip_payload
from alita_mcp.sandbox.seam import Environment, Progress
from alita_mcp.sandbox.wire import PACKAGES
from alita_mcp.settings import Settings
from alita_mcp.values import Lock, Value

MAX_PACKAGES = 30
MAX_REQUIREMENT = 200
MAX_LOCKED = 300
BUILD_SECONDS = 300.0
BUILD_MEMORY_BYTES = 512 << 20
BUILD_SCRATCH_BYTES = 1 << 30
_LOCK_LINE = re.compile(
    r"([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)==([A-Za-z0-9.!+_-]{1,80}) --hash=sha256:[0-9a-f]{64}"
)
_COLLECTING = re.compile(r"Collecting ([A-Za-z0-9._-]{1,100})")


class BackEnd(Protocol):
    """What a sandbox must offer for environments to be built in it and for it."""

    @property
    def kind(self) -> str:
        """Part of an environment's digest."""
        ...

    async def python_tag(self) -> str:
        """Python and platform inside."""
        ...

    async def run_builder(  # noqa: PLR0913 - all of a builder's bounds, by name
        self, program: str, payload: bytes, *, hosts: frozenset[str], wall_seconds: float, memory_bytes: int,
        scratch_bytes: int, on_line: Callable[[str], Awaitable[None]],
    ) -> bytes:  # fmt: skip
        """Bytes of the program's result file; the program reaches `hosts` only.

        Raises:
            BuilderFailed: it ended without a result.
        """
        ...

    async def has_environment(self, digest: str) -> str | None:
        """The location of an environment stored completely."""
        ...

    async def store_environment(self, digest: str, tar: bytes) -> str:
        """Keeps an environment; its location."""
        ...


class Resolved(Value):
    """One package as pip's report names it."""

    name: str = Field(pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$", max_length=200)
    version: str = Field(max_length=80)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")

    @property
    def line(self) -> str:
        """The lock's line for it."""
        return f"{canonicalize_name(self.name)}=={Version(self.version)} --hash=sha256:{self.sha256}"


class Answer(Value):
    """The first line of a builder's result."""

    status: int
    notes: tuple[str, ...] = ()
    packages: tuple[Resolved, ...] = Field(default=(), max_length=MAX_LOCKED)


class EnvironmentBuilder:
    """Resolves packages and builds environments for one back end; one build per digest at a time."""

    def __init__(self, back_end: BackEnd, settings: Settings) -> None:
        self._back_end = back_end
        self._settings = settings
        self._building: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """Exact versions and hashes; errors as in the seam."""
        wanted = read_requirements(packages)
        python = await self._back_end.python_tag()
        if not wanted:
            return Lock(python=python)
        await progress(f"resolving {', '.join(wanted)}")
        answer, _ = await self._build({"task": "resolve", "packages": wanted}, progress, wanted)
        try:
            lines = sorted(package.line for package in answer.packages)
        except InvalidVersion as strange:
            raise PackagesRejected(
                f"The index offers a package with no proper version: {strange}."
            ) from strange
        return Lock(requirements=tuple(lines), python=python)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The environment for a lock, built at most once; errors as in the seam."""
        names = read_lock(lock)
        python = await self._back_end.python_tag()
        if lock.python != python:
            raise SandboxRefused(
                f"The packages are locked for {lock.python!r}, the {self._back_end.kind} sandbox has {python!r}.",
                hint="Make the tool anew with update=true, or use the sandbox that it was made in.",
            )
        digest = environment_digest(lock, self._back_end.kind)
        async with self._building[digest]:
            location = await self._back_end.has_environment(digest)
            if location is None:
                count = len(lock.requirements)
                await progress(f"installing {count} package{'s' * (count != 1)}")
                request = {"task": "install", "requirements": lock.requirements, "place": PACKAGES}
                _, tar = await self._build(request, progress, names)
                location = await self._back_end.store_environment(digest, tar)
        return Environment(digest=digest, location=location)

    async def _build(
        self, request: dict[str, Any], progress: Progress, packages: Sequence[str]
    ) -> tuple[Answer, bytes]:
        index = package_index(self._settings)
        payload = await to_thread.run_sync(self._payload, request, index)
        program = resources.files("alita_mcp.sandbox").joinpath("builder_program.py").read_text("utf-8")

        verb = "resolving" if request["task"] == "resolve" else "fetching"

        async def on_line(line: str) -> None:
            if found := _COLLECTING.match(line):
                await progress(f"{verb} {found[1]}")

        try:
            result = await self._back_end.run_builder(
                program,
                payload,
                hosts=index.hosts,
                wall_seconds=BUILD_SECONDS,
                memory_bytes=BUILD_MEMORY_BYTES,
                scratch_bytes=BUILD_SCRATCH_BYTES,
                on_line=on_line,
            )
        except BuilderFailed as failed:
            raise _no_result(failed, packages) from failed
        answer, tar = _read_answer(result)
        if answer.status:
            raise failure_of(answer.notes, packages)
        return answer, tar

    def _payload(self, request: dict[str, Any], index: PackageIndex) -> bytes:
        whole = request | {"index_url": index.url, "trusted_host": index.trusted_host, "proxy": PROXY}
        return pip_payload(whole, trusted_authorities(self._settings))


def read_requirements(packages: Sequence[str]) -> list[str]:
    """The requirements in their canonical spelling.

    Raises:
        PackagesRejected: one is no plain requirement; the message names it.
    """
    if len(packages) > MAX_PACKAGES:
        raise PackagesRejected(
            f"{len(packages)} packages are more than the {MAX_PACKAGES} that a tool may have."
        )
    return [_read_requirement(package) for package in packages]


def _read_requirement(text: str) -> str:
    hint = "Write a name with an optional version range, as in 'numpy>=2,<3'."
    if len(text) > MAX_REQUIREMENT:
        raise PackagesRejected(f"{text[:40]!r}… is longer than {MAX_REQUIREMENT} characters.", hint=hint)
    try:
        requirement = Requirement(text)
    except InvalidRequirement as invalid:
        raise PackagesRejected(f"{text!r} is not a package requirement.", hint=hint) from invalid
    if requirement.url:
        raise PackagesRejected(f"{text!r} names a URL; only packages of the index are taken.", hint=hint)
    return str(requirement)


def read_lock(lock: Lock) -> list[str]:
    """Names of the packages of a lock.

    Raises:
        PackagesRejected: a line is not what `resolve` writes.
    """
    names: list[str] = []
    for line in lock.requirements:
        found = _LOCK_LINE.fullmatch(line)
        if not found or found[1] in names or len(names) >= MAX_LOCKED:
            raise PackagesRejected(f"{line[:100]!r} is not a line of a lock.")
        names.append(found[1])
    return names


def environment_digest(lock: Lock, kind: str) -> str:
    """Names an environment: equal locks for the same Python in the same kind of sandbox share one."""
    return hashlib.sha256(f"{lock.text}{lock.python}\n{kind}\n".encode()).hexdigest()


def _read_answer(result: bytes) -> tuple[Answer, bytes]:
    head, _, tar = result.partition(b"\n")
    try:
        return Answer.model_validate_json(head), tar
    except ValidationError as broken:
        raise SandboxError(f"The builder gave no proper answer: {broken.error_count()} errors.") from broken


def _no_result(failed: BuilderFailed, packages: Sequence[str]) -> Exception:
    last = failed.output[-1] if failed.output else ""
    if failed.exit_code is None or "No space left" in last:
        return PackagesRejected(
            f"{', '.join(packages)[:200]} could not be installed: {failed.message} {last}".strip(),
            hint="Use fewer or smaller packages.",
        )
    return SandboxError(f"{failed.message} {last}".strip())
