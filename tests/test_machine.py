"""Words for what the machine refuses: why, where, and what to do; never what would lose a decision of a person."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from alita_mcp.errors import FileRefused
from alita_mcp.machine import edge_error, unusable
from alita_mcp.sandbox.temporary import PREFIX, claim_temporary_folder, remove_temporary_folder

NUMBERS = {
    errno.ENOSPC: "Make room there", errno.EDQUOT: "quota", errno.EFBIG: "ulimit -f",
    errno.EROFS: "readable and writable", errno.EACCES: "readable and writable",
    errno.EMFILE: "ulimit -n", errno.ENFILE: "ulimit -n", errno.EIO: "Nothing was deleted",
}  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=errno.errorcode.get)
def test_an_error_of_the_system_says_why_where_and_what_to_do(number: int, tmp_path: Path) -> None:
    refused = unusable(tmp_path / "file", OSError(number, os.strerror(number)))
    assert os.strerror(number) in refused.message
    assert str(tmp_path / "file") in refused.message
    assert NUMBERS[number] in refused.hint


def test_a_refused_temporary_file_is_said_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    raised = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "alita-task-x"))
    told = edge_error(ExceptionGroup("several", [raised]))
    assert isinstance(told, FileRefused)
    assert told.message == f"No space left on device: {tmp_path / 'alita-task-x'} (TMPDIR)."
    # a write names no file: the folder that takes none is the one
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    told = edge_error(OSError(errno.ENOSPC, "No space left on device"))
    assert isinstance(told, FileRefused)
    assert told.message == f"No space left on device: {tmp_path / 'gone'} (TMPDIR)."


@pytest.mark.parametrize(
    "raised", [OSError(errno.ENOENT, "No such file"), ValueError("x"), KeyboardInterrupt()]
)
def test_a_defect_stays_one(raised: BaseException) -> None:
    assert edge_error(raised) is raised


def test_the_next_process_removes_temporary_files_of_a_killed_one_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = "import os, tempfile; from alita_mcp.sandbox.temporary import claim_temporary_folder as claim;"
    program += "claim(); print(tempfile.mkdtemp(), flush=True); os._exit(9)"
    command, environment = [sys.executable, "-c", program], {**os.environ, "TMPDIR": str(tmp_path)}
    left = Path(
        subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False).stdout.decode().strip()
    )
    assert left.is_relative_to(tmp_path)
    (other := tmp_path / "alita-of-somebody-else").mkdir()
    (link := tmp_path / f"{left.parent.name}x").symlink_to(other)
    claim_temporary_folder()
    mine = Path(tempfile.mkdtemp())
    assert {*tmp_path.iterdir()} == {mine.parent, link, other}
    assert mine.parent.name.startswith(PREFIX)
    assert mine.parent.stat().st_mode & 0o777 == 0o700
    remove_temporary_folder()
    assert not mine.exists()
    assert tempfile.tempdir is None
