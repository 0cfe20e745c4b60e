"""The command that answers name: it works from any shell, for the home that is meant."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import alita_mcp
from alita_mcp.library.command import alita_command, spell_commands
from alita_mcp.settings import default_home
from tests.cli.conftest import PATIENCE_S, Alita
from tests.cli.test_approving import changed

ROOT = Path(alita_mcp.__file__).parents[1]
ODD = 'it\'s a "home" $HOME `id` with spaces; \u00e9'
SHELLS = [shell for name in ("sh", "bash", "dash", "zsh", "fish") if (shell := shutil.which(name))]


def in_shell(shell: str, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """As a person's shell runs it: without our environment, and from elsewhere."""
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [shell, "-c", command],
        env=bare,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="quotes as POSIX shells read them")
@pytest.mark.parametrize("shell", SHELLS)
def test_a_named_command_finds_its_library_from_any_shell(tmp_path: Path, shell: str) -> None:
    home = tmp_path / ODD
    (made,) = changed(home, "one")
    said = in_shell(shell, f"{alita_command(home)} show asker --json", tmp_path)
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["manifest"]["digest"] == made.digest


def test_the_home_is_named_where_it_is_not_the_default_and_before_the_environments(
    alita: Alita, home: Path, tmp_path: Path
) -> None:
    assert "--home" not in alita_command(default_home())
    assert alita_command(tmp_path).endswith(f" --home {tmp_path}")
    changed(tmp_path / "other", "one")
    changed(home, "two")
    found = alita("--home", str(tmp_path / "other"), "show", "asker", "--source", "--json").json
    assert "return 'one'" in found["source"]


@pytest.mark.skipif(os.name != "posix", reason="symbolic links in PATH")
def test_the_short_word_stands_where_shells_find_this_very_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = Path(sys.executable).parent / "alita"
    monkeypatch.setenv("PATH", f"{ours.parent}{os.pathsep}/usr/bin")
    assert alita_command(default_home()) == str(ours), (
        "an active virtual environment is not the person's shell"
    )
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin")
    (tmp_path / "alita").write_text("#!/bin/sh\n")
    (tmp_path / "alita").chmod(0o755)
    assert alita_command(default_home()) == str(ours), "another command of that name is not ours"
    (tmp_path / "alita").unlink()
    (tmp_path / "alita").symlink_to(ours)
    assert alita_command(default_home()) == "alita"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "alita").unlink()
    assert alita_command(default_home()) == f"{tmp_path / 'python'} -P -m alita_mcp.cli.main"


def test_only_commands_in_backticks_are_spelled_out() -> None:
    text = "alita says: `alita enable x` or `alita`; nothing of alita's."
    assert (
        spell_commands(text, "/opt/alita --home /h")
        == "alita says: `/opt/alita --home /h enable x` or `alita`; nothing of alita's."
    )
