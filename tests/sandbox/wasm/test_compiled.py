"""Compiled files: made once, loaded only from where nobody else can write and only as they were made."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.sandbox.wasm.compiled import COMPILER, KEPT_DAYS, Compiled, CompiledFiles, key_for
from alita_mcp.sandbox.wasm.component import Component
from tests.living import alive
from tests.sandbox.wasm.fake_compiler import MODULE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="the fake compiler uses POSIX limits and signals"),
]
PATIENCE_S = 120
NOBODY = 65_534
LONG_AGO = (KEPT_DAYS + 1) * 86_400
as_root = pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="gives files away, which root may")


class Workshop:
    """A folder of compiled files, a component whose compiler does as it is told, and what was told on the way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "cache" / "compiled"
        self.go = folder / "go"
        self.lines: list[str] = []
        self._room = folder
        self.files = CompiledFiles(self.folder, MODULE)

    def component(self, **how: Any) -> Component:
        path = self._room / "component.json"
        path.write_text(json.dumps(how), "utf-8")
        return Component(path=path, sha256="c" * 64)

    def runs(self) -> list[list[int]]:
        """The process and the niceness of each compiler that was started."""
        try:
            text = (self._room / "runs").read_text("utf-8")
        except FileNotFoundError:
            return []
        return [[int(word) for word in line.split()] for line in text.splitlines()]

    async def started(self) -> psutil.Process:
        """The compiler that runs now."""
        with anyio.fail_after(PATIENCE_S):
            while not self.runs():  # noqa: ASYNC110 - another process tells
                await anyio.sleep(0.02)
        return psutil.Process(self.runs()[-1][0])

    async def tell(self, line: str) -> None:
        self.lines.append(line)

    async def once(self, files: CompiledFiles | None = None, **how: Any) -> Compiled:
        with anyio.fail_after(PATIENCE_S):
            return await (files or self.files).compile_once(self.component(**how), self.tell)

    def left(self) -> set[str]:
        """The kinds of files in the folder."""
        return {path.suffix for path in self.folder.iterdir()}


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


async def test_it_is_made_once_for_the_user_alone(workshop: Workshop) -> None:
    first = await workshop.once()
    again = await workshop.once(CompiledFiles(workshop.folder, MODULE))
    assert again == first
    assert len(workshop.runs()) == 1
    assert workshop.folder.stat().st_mode & 0o777 == 0o700
    assert first.path.stat().st_mode & 0o777 == 0o600
    assert workshop.left() == {".cwasm", ".lock"}
    assert workshop.lines[0] == "preparing Python for this machine, once: 0 of about 13 s"


def other_content(made: Compiled) -> None:
    made.path.write_bytes(b"N" + made.path.read_bytes()[1:])


def linked_elsewhere(made: Compiled) -> None:
    theirs = made.path.parents[2] / "theirs"
    made.path.rename(theirs)
    made.path.symlink_to(theirs)


def with_a_second_name(made: Compiled) -> None:
    made.path.parents[2].joinpath("second").hardlink_to(made.path)


def writable_by_others(made: Compiled) -> None:
    made.path.chmod(0o620)


def renamed(old: str, new: str) -> Callable[[Compiled], None]:
    def change(made: Compiled) -> None:
        made.path.rename(made.path.with_name(re.sub(old, new, made.path.name)))

    return change


def given_away(made: Compiled) -> None:
    os.chown(made.path, NOBODY, NOBODY)


FORGERIES = [
    other_content, linked_elsewhere, with_a_second_name, writable_by_others, pytest.param(given_away, marks=as_root),
    pytest.param(renamed("[0-9a-f]{64}", "0" * 64), id="another digest"),
    pytest.param(renamed("[0-9a-f]{32}-", "0" * 32 + "-"), id="another engine, machine or component"),
]  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES)
@pytest.mark.sample(4)
async def test_what_is_not_as_it_was_made_is_thrown_away_and_made_anew(
    workshop: Workshop, forge: Callable[[Compiled], None]
) -> None:
    made = await workshop.once()
    forge(made)
    again = await workshop.once(CompiledFiles(workshop.folder, MODULE))
    assert len(workshop.runs()) == 2
    assert again.path.read_bytes() == b"native code " * 1000
    assert not again.path.is_symlink()
    assert list(workshop.folder.glob(f"{key_for(workshop.component())}-*")) == [again.path]


async def test_a_file_that_changed_since_it_was_checked_is_not_the_checked_one(workshop: Workshop) -> None:
    made = await workshop.once()
    assert made.is_as_checked()
    other_content(made)
    assert not made.is_as_checked()
    made.path.unlink()
    assert not made.is_as_checked()


def group_may_write(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o770)


def a_link(folder: Path) -> None:
    (folder.parent / "mine").mkdir(mode=0o700)
    folder.symlink_to(folder.parent / "mine")


def anothers(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)


def below_what_all_may_write(folder: Path) -> None:
    folder.parent.chmod(0o777)


def below_anothers(folder: Path) -> None:
    os.chown(folder.parent, NOBODY, NOBODY)


EXPOSED = [
    (group_may_write, "others may write to it"), (a_link, "a link or a file"),
    (below_what_all_may_write, "everybody may write to"),
    pytest.param(anothers, "belongs to another user", marks=as_root),
    pytest.param(below_anothers, "belongs to another user", marks=as_root),
]  # fmt: skip


@pytest.mark.parametrize(("expose", "told"), EXPOSED)
async def test_nothing_is_made_or_loaded_where_somebody_else_may_write(
    workshop: Workshop, expose: Callable[[Path], None], told: str
) -> None:
    workshop.folder.parent.mkdir()
    expose(workshop.folder)
    with pytest.raises(SandboxUnavailable, match=told) as refused:
        await workshop.once()
    assert refused.value.hint
    assert workshop.runs() == []


ONE_OF_TWO = """
import sys, anyio
from pathlib import Path
from alita_mcp.sandbox.wasm.compiled import CompiledFiles
from alita_mcp.sandbox.wasm.component import Component

async def silent(line):
    pass

async def main():
    files = CompiledFiles(Path(sys.argv[1]), "tests.sandbox.wasm.fake_compiler")
    print((await files.compile_once(Component(path=Path(sys.argv[2]), sha256="c" * 64), silent)).path)

anyio.run(main)
"""


def other_process(workshop: Workshop, component: Component) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", ONE_OF_TWO, str(workshop.folder), str(component.path)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


@pytest.mark.process
async def test_two_processes_at_once_do_it_once(workshop: Workshop) -> None:
    component = workshop.component(until=str(workshop.go))
    with other_process(workshop, component) as one, other_process(workshop, component) as two:
        await workshop.started()
        workshop.go.touch()
        paths = {one.communicate(timeout=PATIENCE_S)[0], two.communicate(timeout=PATIENCE_S)[0]}
    assert len(paths) == 1
    assert len(workshop.runs()) == 1


@pytest.mark.process
async def test_a_killed_process_takes_its_compiler_with_it_and_leaves_no_lock(workshop: Workshop) -> None:
    component = workshop.component(until=str(workshop.go))
    with other_process(workshop, component) as one:
        compiler = await workshop.started()
        (workshop.folder / f"{key_for(component)}.partial").write_bytes(b"half")
        one.kill()
    with anyio.fail_after(PATIENCE_S):
        while alive(compiler):  # noqa: ASYNC110 - another process ends
            await anyio.sleep(0.02)
    await workshop.once()
    assert len(workshop.runs()) == 2
    assert workshop.left() == {".cwasm", ".lock"}


async def test_a_compiler_that_does_not_end_is_ended(workshop: Workshop) -> None:
    with pytest.raises(SandboxUnavailable, match=r"took more than 1\.5 s"):
        await workshop.once(CompiledFiles(workshop.folder, MODULE, most_seconds=1.5), until=str(workshop.go))
    assert not any(psutil.pid_exists(process) for process, _niceness in workshop.runs())
    assert workshop.left() == {".lock"}


async def test_a_cancelled_caller_ends_the_compiler(workshop: Workshop) -> None:
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            component = workshop.component(until=str(workshop.go))
            tasks.start_soon(workshop.files.compile_once, component, workshop.tell)
            compiler = await workshop.started()
            tasks.cancel_scope.cancel()
    assert not alive(compiler)
    assert workshop.left() == {".lock"}
    assert (await workshop.once()).path.exists()


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"ends": "killed"}, r"its process was ended \(-9\)"),
        ({"room": 5_000}, "File too large"),
        ({"named_for": "something else"}, "not what its compiler wrote"),
    ],
)
async def test_a_compiler_that_fails_or_makes_something_else_is_refused_and_the_next_call_tries_again(
    workshop: Workshop, how: dict[str, Any], told: str
) -> None:
    with pytest.raises(SandboxUnavailable, match=told):
        await workshop.once(**how)
    assert (await workshop.once()).path.exists()
    assert len(list(workshop.folder.glob("*.cwasm"))) == 1


async def test_files_that_nobody_used_for_a_month_are_removed_when_another_is_made(
    workshop: Workshop,
) -> None:
    made = await workshop.once()
    names = {}
    for key in ("a" * 32, "b" * 32):
        names[key] = {f"{key}.json", f"{key}-{'0' * 16}.cwasm", f"{key}-1-{'0' * 64}.cwasm"}
        for path in (workshop.folder / name for name in names[key]):
            path.write_bytes(b"of another engine, some of an earlier release")
            os.utime(path, (made.path.stat().st_mtime - LONG_AGO * key.startswith("b"),) * 2)
    (workshop.folder / "notes.txt").write_text("a person's")
    os.utime(workshop.folder / "notes.txt", (0, 0))
    made.path.unlink()
    again = await workshop.once()
    left = {path.name for path in workshop.folder.iterdir()} - {"compile.lock"}
    assert left == {again.path.name, "notes.txt"} | names["a" * 32]


def test_a_server_loads_neither_the_engine_nor_an_http_client() -> None:
    program = "import sys, alita_mcp.sandbox.wasm.sandbox; print(not {'wasmtime', 'httpcore'}.isdisjoint(sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert ran.stdout == "False\n"


def test_a_component_that_is_not_what_its_record_says_is_not_compiled(tmp_path: Path) -> None:
    wrong, target = tmp_path / "python.wasm", tmp_path / "made"
    wrong.write_bytes(b"\0asm")
    words = [sys.executable, "-c", f"from {COMPILER} import main; main()"]
    told = [str(wrong), "0" * 64, str(target)]
    ours, its = os.pipe()[::-1]
    with subprocess.Popen([*words, *told], stdin=its, stderr=subprocess.PIPE, text=True) as compiler:
        assert "not the file that its record describes" in compiler.communicate(timeout=PATIENCE_S)[1]
    os.close(its)
    os.close(ours)
    assert compiler.returncode == 1
    assert not target.exists()
