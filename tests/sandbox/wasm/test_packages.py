"""Packages in the embedded sandbox: what of a wheel works inside, what is refused, and what attacks come to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.errors import PackagesRejected, SandboxError
from alita_mcp.sandbox.interface import Environment, Job, RunResult
from alita_mcp.sandbox.packages.cache import EnvironmentGone
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Limits, Lock
from tests.sandbox.environment_homes import InWasm, silent
from tests.sandbox.package_index import Index, wheel

NATIVE_TAG = "cp314-cp314-manylinux_2_28_x86_64"
NATIVE = "cpython-314-x86_64-linux-gnu.so"
FAST: dict[str, str | bytes] = {
    "fast/__init__.py": (
        "try:\n    from fast._speedups import double\nexcept ImportError:\n    from fast.slow import double\n"
    ),
    "fast/slow.py": "def double(x): return 2 * x\n",
    f"fast/_speedups.{NATIVE}": b"\x7fELF",
}
"""A package that does without its native module."""
ALBUM: dict[str, str | bytes] = {
    "album/__init__.py": "from album.inner import word\nTEXT = word()\n",
    "album/inner/__init__.py": "def word(): return 'w'\n",
    "album/data/note.txt": "grün\n",
    "album/tests/__init__.py": "SEEN = 1\n",
    "album/broken.py": "def (:\n",
    "spaced/part/leaf.py": "X = 5\n",
}
READS = """
import album, importlib.metadata, importlib.resources, io, os, pathlib, pkgutil, spaced.part.leaf
import album.tests

def f():
    folder = os.path.dirname(album.__file__)
    note = importlib.resources.files("album").joinpath("data/note.txt")
    refused = []
    for attempt in (
        lambda: open(folder + "/new", "w"), lambda: open(folder + "/data"), lambda: open(folder + "/absent"),
        lambda: os.listdir(folder + "/absent"), lambda: open(folder + "/../../../etc/passwd"),
        lambda: importlib.import_module("album.broken"), lambda: importlib.import_module("album.absent"),
    ):
        try:
            refused.append(str(attempt()))
        except Exception as problem:
            refused.append(type(problem).__name__)
    return {
        "text": [note.read_text("utf-8"), pkgutil.get_data("album", "data/note.txt").decode(),
                 open(folder + "/data/note.txt", encoding="utf-8").read(), io.open(note, "rb").read().decode(),
                 pathlib.Path(folder, "data", "note.txt").read_bytes().decode()],
        "version": importlib.metadata.version("album"),
        "modules": [module.name for module in pkgutil.iter_modules(album.__path__)],
        "listed": sorted(name for name in os.listdir(folder) if name != "__pycache__"),
        "walked": sorted(name for _, _, names in os.walk(folder) for name in names if not name.endswith(".pyc")),
        "kinds": [os.path.isfile(album.__file__), os.path.isdir(folder), os.path.exists(folder + "/absent")],
        "size": os.path.getsize(folder + "/data/note.txt"), "leaf": spaced.part.leaf.X, "seen": album.tests.SEEN,
        "source": open(album.__file__).readline(), "refused": refused,
    }
"""


READ_ONLY = """
import album, os, shutil

def f():
    folder = os.path.dirname(album.__file__)
    note = os.open(folder + "/data/note.txt", os.O_RDONLY)
    os.chdir(folder)
    os.lseek(note, 4, os.SEEK_SET)
    told = [os.read(note, 2), os.getcwd() == folder, sorted(each.name for each in os.scandir("data"))]
    os.chdir("/tmp")
    shutil.copyfile(folder + "/data/note.txt", "own.txt")
    refused = []
    for attempt in (
        lambda: os.mkdir("/opt/new"), lambda: os.remove(album.__file__), lambda: os.rename("own.txt", album.__file__),
        lambda: os.chmod(folder, 0o777), lambda: open(album.__file__, "r+"), lambda: os.rmdir("/opt"),
    ):
        try:
            refused.append(str(attempt()))
        except OSError:
            pass
    return [told[0].decode(), *told[1:], open("own.txt").read(), refused]
"""
WHICH = """
def f():
    found = []
    for name in ("first", "second"):
        try:
            found.append(__import__(name).X)
        except ImportError:
            pass
    return found
"""
NAMES = """
import alita_tool, fine, graphlib, json, sys, wave

def f():
    import tool
    return [fine.X, tool.f is f, "sitecustomize" in sys.modules, hasattr(alita_tool, "secret"), hasattr(wave, "open")]
"""
HIDES = "try:\n    from ._core import x\nexcept ImportError as e:\n    raise ImportError('broken') from e\n"


async def prepared(sandbox: WasmSandbox, *packages: str) -> Environment:
    return await sandbox.prepare(await sandbox.resolve(packages, silent), silent)


async def run(
    sandbox: WasmSandbox, code: str, environment: Environment | None = None, **limits: Any
) -> RunResult:
    job = Job(code=code, function="f", arguments={}, environment=environment, limits=Limits(**limits))
    return await sandbox.run(job)


def damage(folder: Path) -> None:
    """Changes the archive in an environment's folder, which only its owner can enter."""
    (archive,) = folder.iterdir()
    if os.name == "posix":
        assert folder.stat().st_mode & 0o777 == 0o700
    archive.write_bytes(archive.read_bytes()[:-1] + b"?")


class TestPackages(InWasm):
    """One home; an index of hand-made wheels for each test."""

    @pytest.fixture
    def settings(self, shared_home: Path, index: Index) -> Settings:
        return Settings(home=shared_home, package_index=index.url)

    @pytest.mark.slow
    async def test_all_that_reads_files_reads_those_of_packages(
        self, sandbox: WasmSandbox, index: Index
    ) -> None:
        index.add(*wheel("album", "1.2", ALBUM))
        result = await run(sandbox, READS, await prepared(sandbox, "album"))
        assert result.ok, result
        value = result.value
        assert value["text"] == ["grün\n"] * 5
        assert value["version"] == "1.2"
        assert value["modules"] == ["broken", "inner", "tests"]
        assert value["listed"] == ["__init__.py", "broken.py", "data", "inner", "tests"]
        assert value["walked"] == ["__init__.py"] * 3 + ["broken.py", "note.txt"]
        assert value["kinds"] == [True, True, False]
        assert (value["size"], value["leaf"], value["seen"]) == (6, 5, 1)
        assert value["source"] == "from album.inner import word\n"
        assert value["refused"] == [
            "PermissionError", "IsADirectoryError", "FileNotFoundError", "FileNotFoundError", "FileNotFoundError",
            "SyntaxError", "ModuleNotFoundError",
        ]  # fmt: skip

    @pytest.mark.slow
    async def test_files_of_packages_are_files_that_nothing_changes(
        self, sandbox: WasmSandbox, index: Index
    ) -> None:
        index.add(*wheel("album", "1.2", ALBUM))
        result = await run(sandbox, READ_ONLY, await prepared(sandbox, "album"))
        assert result.ok, result
        assert result.value == ["n\n", True, ["note.txt"], "grün\n", []]

    @pytest.mark.slow
    async def test_a_tool_has_the_packages_of_its_lock_and_no_others(
        self, sandbox: WasmSandbox, index: Index
    ) -> None:
        index.add(*wheel("first", "1", {"first.py": "X = 1\n"}))
        index.add(*wheel("second", "1", {"second.py": "X = 2\n"}))
        one, two = await prepared(sandbox, "first"), await prepared(sandbox, "second")
        code = WHICH
        for environment, seen in ((one, [1]), (two, [2]), (None, []), (one, [1]), (None, [])):
            assert (await run(sandbox, code, environment)).value == seen

    @pytest.mark.slow
    async def test_the_modules_in_python_of_a_native_wheel_work(
        self, sandbox: WasmSandbox, index: Index
    ) -> None:
        index.add(*wheel("fast", "1", FAST, tag=NATIVE_TAG))
        environment = await prepared(sandbox, "fast")
        code = "import fast\ndef f(): return [fast.double(4), fast.double.__module__]"
        assert (await run(sandbox, code, environment)).value == [8, "fast.slow"]
        late = await run(sandbox, "import fast\ndef f():\n    from fast import _speedups\n", environment)
        assert (late.status, late.error_type) == ("error", "ImportError")
        assert "fast._speedups is native code, which the embedded sandbox cannot run" in late.message
        assert "Docker or bubblewrap" in late.message

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "files",
        [
            {"core/__init__.py": "from core._core import x\n", f"core/_core.{NATIVE}": b""},
            {"core/__init__.py": HIDES, "core/_core.abi3.so": b""},
            {"core.pyd": b"MZ"},
            {"core/__init__.py": "", f"core/etree.{NATIVE}": b"", "core/html.py": "from core import etree\n"},
        ],
        ids=["import", "hidden import", "module", "all but the package itself"],
    )  # fmt: skip
    async def test_a_package_that_needs_its_native_modules_is_refused_by_name(
        self, sandbox: WasmSandbox, index: Index, files: dict[str, str | bytes]
    ) -> None:
        index.add(*wheel("core", "2.5", files, tag=NATIVE_TAG))
        index.add(*wheel("asks", "1", {"asks.py": "import core\n" + "import core.html\n" * ("core/html.py" in files)},
                         requires=("core",)))  # fmt: skip
        refused = await run(sandbox, "import asks\ndef f(): return 1", await prepared(sandbox, "asks"))
        assert (refused.status, refused.error_type) == ("load_failed", "ImportError")
        assert "is native code, which the embedded sandbox cannot run" in refused.message
        assert "Docker or bubblewrap" in refused.message

    async def test_a_package_that_opens_sockets_is_refused_by_name(self, sandbox: WasmSandbox) -> None:
        with pytest.raises(PackagesRejected, match="which requests and HTTPX cannot do without") as rejected:
            await sandbox.resolve(("requests>=2", "tomli", "HTTPX"), silent)
        assert "Instead use urllib.request" in (rejected.value.hint or "")
        assert "Docker" in (rejected.value.hint or "")

    @pytest.mark.slow
    async def test_a_pure_wheel_is_preferred(self, sandbox: WasmSandbox, index: Index) -> None:
        pure = index.add(*wheel("both", "1", {"both.py": "X = 'pure'\n"}))
        index.add(*wheel("both", "1", {f"both.{NATIVE}": b"\x7fELF"}, tag=NATIVE_TAG))
        lock = await sandbox.resolve(("both",), silent)
        assert lock == Lock(requirements=(f"both==1 --hash=sha256:{pure}",), python="cp314-wasi_wasm32")
        environment = await sandbox.prepare(lock, silent)
        assert (await run(sandbox, "import both\ndef f(): return both.X", environment)).value == "pure"

    @pytest.mark.slow
    async def test_names_of_the_library_and_of_ours_stay_what_they_are(
        self, sandbox: WasmSandbox, index: Index
    ) -> None:
        shadow = "raise SystemExit('the shadow ran')\n"
        names = ("alita_tool", "json", "graphlib", "wave", "tool", "sitecustomize")
        index.add(*wheel("shadows", "1", {f"{name}.py": shadow for name in names} | {"fine.py": "X = 1\n"}))
        code = NAMES
        assert (await run(sandbox, code, await prepared(sandbox, "shadows"))).value == [
            1,
            True,
            False,
            True,
            True,
        ]

    @pytest.mark.slow
    async def test_a_module_that_the_compiler_does_not_survive_harms_only_its_importer(
        self, sandbox: WasmSandbox, index: Index
    ) -> None:
        deep = "x = " + "(" * 90 + "-" * 100_000 + "1" + ")" * 90 + "\n"
        index.add(*wheel("deep", "1", {"deep.py": deep, "shallow.py": "X = 1\n"}))
        environment = await prepared(sandbox, "deep")
        assert (await run(sandbox, "import shallow\ndef f(): return shallow.X", environment)).value == 1
        assert not (await run(sandbox, "import deep\ndef f(): return 1", environment)).ok

    @pytest.mark.slow
    async def test_an_environment_is_its_owners_and_is_checked_before_it_is_used(
        self, sandbox: WasmSandbox, index: Index
    ) -> None:
        index.add(*wheel("kept", "1", {"kept.py": "X = 1\n"}))
        lock = await sandbox.resolve(("kept",), silent)
        environment = await sandbox.prepare(lock, silent)
        folder = Path(environment.location)
        await anyio.to_thread.run_sync(damage, folder)
        with pytest.raises(EnvironmentGone):
            await run(sandbox, "import kept\ndef f(): return kept.X", environment)
        assert not await anyio.Path(folder).exists()
        again = await sandbox.prepare(lock, silent)
        assert (await run(sandbox, "import kept\ndef f(): return kept.X", again)).value == 1

    async def test_a_location_that_the_store_did_not_name_is_not_read(
        self, sandbox: WasmSandbox, tmp_path: Path
    ) -> None:
        with pytest.raises(SandboxError, match="no longer exists"):
            await run(sandbox, "def f(): return 1", Environment(digest="0" * 64, location=str(tmp_path)))
