"""In an installation two benchmarks stand inside the package: there is no `benchmarks` beside it then."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import benchmarks

pytestmark = pytest.mark.process

HERE = Path(benchmarks.__file__).parent
IMPORT_ALL = """
import importlib, pkgutil, sys
sys.modules["benchmarks"] = None
import installed.benchmarks as found
for module in pkgutil.walk_packages(found.__path__, "installed.benchmarks."):
    if ".peer_drivers." in module.name:  # each runs where its peer is installed
        continue
    importlib.import_module(module.name)
    print(module.name)
"""


def test_the_benchmarks_of_a_wheel_can_be_imported_from_inside_another_package(tmp_path: Path) -> None:
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed" / "__init__.py").touch()
    place = tmp_path / "installed" / "benchmarks"
    shutil.copytree(HERE / "calls", place / "calls", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "start.py"):
        shutil.copyfile(HERE / name, place / name)
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {"installed.benchmarks.start", "installed.benchmarks.calls.timing"} <= set(done.stdout.split())
