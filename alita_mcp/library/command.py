"""Command line that calls `alita` for a given home from any shell."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from alita_mcp.settings import absolute_home, default_home

_NAMED = "`alita "


def alita_command(home: Path) -> str:
    """The command up to its subcommand: with its full path where shells may not find it, and a home of its own."""
    home, usual = absolute_home(home), None
    with suppress(RuntimeError):  # there may be no home folder of the user
        usual = default_home().absolute()
    words = [*_program(), *([] if home == usual else ["--home", str(home)])]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def spell_commands(text: str, alita: str) -> str:
    """A message with every command that it names in backticks as it is called here."""
    return text.replace(_NAMED, f"`{alita} ")


def _program() -> list[str]:
    """`alita` where a shell of the person's finds this very one; else its path, or the interpreter with the module."""
    folder = Path(sys.executable).parent
    ours = shutil.which("alita", path=str(folder))
    if ours is None:
        return [sys.executable, "-P", "-m", "alita_mcp.cli.main"]
    places = os.get_exec_path()
    if sys.prefix != sys.base_prefix:  # whose own folder stands there only as long as it is active
        places = [place for place in places if Path(place) != folder]
    found = shutil.which("alita", path=os.pathsep.join(places))
    return ["alita"] if found is not None and Path(found).resolve() == Path(ours).resolve() else [ours]
