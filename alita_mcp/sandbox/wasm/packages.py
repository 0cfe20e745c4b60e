"""Environments of the embedded sandbox, each an archive of the files and bytecode of a lock's wheels.

Nothing of a wheel runs on the host. The modules are compiled inside, where a wheel's native modules are missed, too.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from weakref import WeakKeyDictionary

from anyio import to_thread

from alita_mcp.errors import PackagesRejected
from alita_mcp.sandbox.interface import Environment, Job, Progress, RunResult
from alita_mcp.sandbox.packages.cache import EnvironmentGone
from alita_mcp.sandbox.packages.environments import EnvironmentBuilder
from alita_mcp.sandbox.packages.folders import Folders
from alita_mcp.sandbox.packages.tar import plain_entries, tar_of_file
from alita_mcp.sandbox.wasm.build import PYTHON
from alita_mcp.sandbox.wire.frames import Kind
from alita_mcp.sandbox.wire.link import MAX_ORDER_BYTES, PACKAGES, Worker
from alita_mcp.settings import Settings
from alita_mcp.values import Limits

PYTHON_TAG = f"cp{PYTHON.replace('.', '')}-wasi_wasm32"
MAX_FILES_BYTES = 256 << 20
MAX_FILE_BYTES = 32 << 20
_BATCH_BYTES = 2 << 20
_BATCH_MODULES = 200
_TESTS = {"test", "tests"}
"""Folders whose modules are compiled at their import, which is rare."""
_FILE = ".zip"
_NATIVE = re.compile(r"(?P<module>[^/.]+)(?:\.[^/]*)?\.(?:so|pyd)$")
_LARGE = Limits(wall_seconds=120, cpu_seconds=120, memory_bytes=768 << 20, result_bytes=MAX_ORDER_BYTES)
_COMPILE = f"""
import base64, importlib.util, marshal, warnings

warnings.simplefilter("ignore")
HEAD = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)  # never compared with its source

def compile_modules(sources):
    return {{
        importlib.util.cache_from_source(path): base64.b64encode(HEAD + code).decode()
        for path, source in sources.items() if (code := bytecode_of(path, source))
    }}

def bytecode_of(path, source):
    try:
        code = compile(source.encode("latin-1"), "{PACKAGES}/" + path, "exec", dont_inherit=True, optimize=0)
    except Exception:
        return b""  # its import tells why
    return marshal.dumps(code)
"""
RunApart = Callable[[Job, "Archive"], Awaitable[RunResult]]
"""Runs a job with an archive of packages that is stored nowhere yet."""


class Archive:
    """Packages of one environment as workers load them: a zip of files, bytecode and an index."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.sha256 = hashlib.sha256(content).hexdigest()


NO_PACKAGES = Archive(b"")


class HostEnvironments(EnvironmentBuilder):
    """Builder of environments with the uv of this machine."""

    async def _uv(self, python: str, progress: Progress) -> None:
        """Nothing: it need not cross into a sandbox."""


class PackageStore(Folders):
    """Store of archives, from which workers load them."""

    def __init__(self, settings: Settings, run_apart: RunApart) -> None:
        super().__init__(settings.home / "environments", mode=0o700)
        self._run_apart = run_apart
        self._given: WeakKeyDictionary[Worker, str] = WeakKeyDictionary()

    async def has_environment(self, digest: str) -> str | None:
        """The folder of an environment that was stored completely and is what was stored."""
        location = self.find(digest)
        if location is not None and await to_thread.run_sync(_read_archive, Path(location)) is None:
            await self.drop_environment(digest)
            return None
        return location

    async def store_environment(self, digest: str, tar: bytes) -> str:
        """Compiles the modules of an environment inside and keeps all of it as an archive; its folder.

        Raises:
            PackagesRejected: a package is too large.
            SandboxError: the tar holds what no environment holds, or the disk refuses.
        """
        files = await to_thread.run_sync(_read_files, tar)
        code: dict[str, bytes] = {}
        for batch in _batches(files):
            code |= await self._compile(batch)
        archive = await to_thread.run_sync(_pack, files, code)
        # the only file of the environment's folder, named by its digest
        return await super().store_environment(
            digest, tar_of_file(f"{archive.sha256}{_FILE}", archive.content)
        )

    async def give_packages(self, worker: Worker, archive: Archive) -> None:
        """Makes a worker have these packages and no others, whatever it is told to load next."""
        if self._given.get(worker, NO_PACKAGES.sha256) == archive.sha256:
            return
        self._given.pop(worker, None)
        await worker.order(Kind.PACKAGES, {}, archive.content)
        self._given[worker] = archive.sha256

    async def archive_of(self, environment: Environment | None) -> Archive:
        """The archive of an environment.

        Raises:
            EnvironmentGone: it is not there, or is not what was stored.
        """
        if environment is None:
            return NO_PACKAGES
        if self.find(environment.digest) == environment.location:
            archive = await to_thread.run_sync(_read_archive, Path(environment.location))
            if archive is not None:
                return archive
        raise EnvironmentGone(f"The environment {environment.digest!r} no longer exists.")

    async def _compile(self, sources: dict[str, str]) -> dict[str, bytes]:
        """The bytecode of these sources, by the paths where Python looks for it."""
        job = Job(
            code=_COMPILE, function="compile_modules", arguments={"sources": sources}, limits=_LARGE, fresh=True
        )  # fmt: skip
        result = await self._run_apart(job, NO_PACKAGES)
        if result.status == "crashed":
            return {}  # what the compiler does not survive is compiled at its import
        if not result.ok:
            names = ", ".join(sorted({path.partition("/")[0] for path in sources}))[:200]
            raise PackagesRejected(
                f"The modules of {names} could not be compiled: {result.message[:200] or result.status}.",
                hint="Use smaller packages, or the standard library.",
            )
        # code inside gave these paths: only those where Python looks for the bytecode of these sources are kept
        tag = f".cpython-{PYTHON.replace('.', '')}.pyc"
        places = map(PurePosixPath, sources)
        paths = {str(place.parent / "__pycache__" / (place.stem + tag)) for place in places}
        return {path: base64.b64decode(code) for path, code in result.value.items() if path in paths}


def _read_archive(folder: Path) -> Archive | None:
    """The archive in a folder; None where it is not what was stored."""
    for file in folder.glob(f"*{_FILE}"):
        archive = Archive(file.read_bytes())
        if archive.sha256 == file.stem:
            return archive
    return None


def _read_files(tar: bytes) -> dict[str, bytes]:
    """The files of an environment but for bytecode, by path.

    Raises:
        PackagesRejected: they are too large.
        SandboxError: the tar holds what no environment holds.
    """
    files: dict[str, bytes] = {}
    total = 0
    for entry, content in plain_entries(tar):
        if content is None or "__pycache__" in entry.name:
            continue
        total += entry.size
        if entry.size > MAX_FILE_BYTES or total > MAX_FILES_BYTES:
            raise PackagesRejected(
                f"The packages take more room than an environment may have: {entry.name!r}.",
                hint="Use smaller packages.",
            )
        files[entry.name] = content.read()
    return files


def _batches(files: dict[str, bytes]) -> Iterator[dict[str, str]]:
    """The sources in parts that one call compiles."""
    batch: dict[str, str] = {}
    size = 0
    for path, content in files.items():
        if not path.endswith(".py") or _TESTS & set(path.split("/")):
            continue
        if batch and (size + len(content) > _BATCH_BYTES or len(batch) >= _BATCH_MODULES):
            yield batch
            batch, size = {}, 0
        batch[path] = content.decode("latin-1")
        size += len(content)
    if batch:
        yield batch


def _pack(files: dict[str, bytes], code: dict[str, bytes]) -> Archive:
    """The archive; equal files give equal bytes.

    Raises:
        PackagesRejected: it is too large for a worker.
    """
    natives = []  # modules that exist as native code only
    for path in files:
        if match := _NATIVE.search(path):
            stem = path[: match.start()] + match["module"]
            if f"{stem}.py" not in files and f"{stem}/__init__.py" not in files:
                natives.append(stem.replace("/", "."))
    tree: dict[str, Any] = {}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted((files | code).items()):
            *folders, name = path.split("/")
            place = tree
            for folder in folders:
                place = place.setdefault(folder, {})
            place[name] = len(content)
            archive.writestr(zipfile.ZipInfo(f"files/{path}"), content, zipfile.ZIP_DEFLATED)
        index = json.dumps({"tree": tree, "natives": natives})
        archive.writestr(zipfile.ZipInfo("index"), index, zipfile.ZIP_DEFLATED)
    if buffer.tell() > MAX_ORDER_BYTES:
        raise PackagesRejected(
            "The packages take more room than an environment may have.",
            hint="Use smaller packages.",
        )
    return Archive(buffer.getvalue())
