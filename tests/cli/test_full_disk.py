"""A disk that is full or may not be written, too few open files: reading goes on, writing says where and what to do."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Alita, Said
from tests.in_process import IN_PROCESS
from tests.small_disk import fill, small_disk

DOUBLE = {
    "name": "double_it",
    "description": "Doubles a number.",
    "code": "def double_it(number: int) -> int:\n    return number * 2\n",
    "tests": [{"arguments": {"number": n}, "expected": 2 * n} for n in (0, 2, 5)],
}
READS = {
    "status": ("status",),
    "list": ("list",),
    "search": ("search", "count the words of a text"),
    "show": ("show", "calculate"),
    "log": ("log",),
    "run": ("run", "calculate", '{"expression": "1/3 + 1/6"}'),
    "runs": ("runs",),
    "memory": ("memory",),
}
WRITES = {
    "disable": ("tool", "disable", "calculate"),
    "pin": ("tool", "pin", "calculate"),
    "export": ("tool", "export", "calculate"),
    "synthesize": ("synthesize", "{request}"),
    "delete": ("tool", "delete", "calculate"),
}
DANGEROUS = re.compile(r"\baside\b|\b[Rr]emove\b|\brm\b|\b[Dd]elete\b")
"""No advice about a disk says that of the home or its catalogue: what people decided would be lost."""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="mounts a disk")]


@pytest.fixture
def disk(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], object]]:
    """The library on a disk of its own, used once by this release and closed; it is not full yet."""
    with small_disk(tmp_path / "disk", "6m") as remount:
        shutil.copytree(home, tmp_path / "disk" / "home")
        monkeypatch.setenv("ALITA_HOME", str(tmp_path / "disk" / "home"))
        yield remount


@pytest.fixture
def say(
    alita: Alita, disk: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Alita:
    """Runs a command on that library."""
    monkeypatch.setenv("ALITA_HOME", str(tmp_path / "disk" / "home"))
    request = tmp_path / "request.json"
    request.write_text(json.dumps(DOUBLE))

    def run(*words: str) -> Said:
        return alita(*(word.replace("{request}", str(request)) for word in words))

    assert run("run", *READS["run"][1:]).status == 0
    return run


def test_on_a_full_disk_reading_goes_on_and_writing_changes_nothing(say: Alita, tmp_path: Path) -> None:
    before = say("list").out
    home = tmp_path / "disk" / "home"
    filler = fill(tmp_path / "disk")
    for name, words in READS.items():
        said = say(*words)
        assert said.status == 0, (name, said.err)
        assert "Traceback" not in said.err
    for name, words in WRITES.items():
        said = say(*words)
        assert said.status == 7, (name, said.out, said.err)
        assert f"No space left on device: {home}" in said.err, name
        assert "Make room there" in said.err
        assert not DANGEROUS.search(said.err), said.err
        assert "Traceback" not in said.err
    assert say("list").out == before
    filler.unlink()
    assert list(home.rglob(".staging*")) == []
    for words in WRITES.values():
        said = say(*words)
        assert said.status == 0, said.err


def test_a_read_only_home_is_said_and_left_alone(
    say: Alita, disk: Callable[[str], object], tmp_path: Path
) -> None:
    disk("ro")
    for words in ({**READS, **WRITES}[name] for name in ("search", "run", "disable", "synthesize")):
        said = say(*words)
        assert said.status == 7
        assert f"Read-only file system: {tmp_path / 'disk' / 'home'}" in said.err
        assert not DANGEROUS.search(said.err), said.err
    disk("rw")
    assert say("list").status == 0


def limited(limit: str, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command as a process for which a limit was set by the shell."""
    command = f'ulimit {limit} && exec "$0" -m alita_mcp.cli.main "$@"'
    environment = {"PATH": "/usr/bin:/bin", "ALITA_HOME": str(home), "ALITA_SANDBOX": IN_PROCESS}
    return subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**environment, "PYTHONPATH": str(ROOT), "ALITA_EMBEDDER": "none"},
    )


@pytest.mark.process
def test_too_few_open_files_are_said_first_with_the_number_that_is_needed(home: Path) -> None:
    said = limited("-n 60", home, "list")
    assert said.returncode == 0
    assert "8 workers need 160 open files, and 60 are allowed: run `ulimit -n 160` first." in said.stderr
    assert limited("-n 4096", home, "list").stderr == "11 tools\n"


@pytest.mark.process
def test_no_open_file_left_is_an_error_with_the_command_that_allows_more(home: Path) -> None:
    said = limited("-n 12", home, "list")
    assert said.returncode == 7
    assert "Too many open files: " in said.stderr
    assert "ulimit -n" in said.stderr
    assert "Traceback" not in said.stderr
    assert limited("-n 4096", home, "list").returncode == 0
