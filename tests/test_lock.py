"""The lock is installed as it stands, whatever was released since: by uv, and by every pip that a Python may bring."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
NEWER = "9999.0"
BUNDLED = "bundled"
"""The pip that `python -m venv` puts there: no network is needed for it."""


def install_locked() -> list[str]:
    """The words with which the Makefile has pip or uv install the lock."""
    (words,) = re.findall(r"^INSTALL_LOCKED := (install .*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return str(words).split()


def locked_here() -> dict[str, str]:
    """Name → version of each locked package that belongs on this platform."""
    lines = re.findall(r"^[\w.\-]+==[^\\\n]+", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    requirements = [Requirement(line) for line in lines]
    return {
        canonicalize_name(each.name): str(each.specifier).removeprefix("==")
        for each in requirements
        if each.marker is None or each.marker.evaluate()
    }


def write_wheel(folder: Path, name: str, version: str, wants: list[str]) -> Path:
    """An empty wheel that asks for what the real one asks for."""
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    files = {
        "METADATA": "\n".join(
            ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *wants, "", ""]
        ),
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(f"{stem}.dist-info/{file}", text)
    return path


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each locked package, a newer release of each, and the lock with these files' hashes."""
    folder = tmp_path_factory.mktemp("index")
    lock = []
    for name, version in locked_here().items():
        real = metadata.metadata(name)
        wants = [
            f"{key}: {value}"
            for key in ("Provides-Extra", "Requires-Dist")
            for value in real.get_all(key) or ()
        ]
        digest = hashlib.sha256(write_wheel(folder, name, version, wants).read_bytes()).hexdigest()
        write_wheel(folder, name, NEWER, wants)
        lock.append(f"{name}=={version} --hash=sha256:{digest}\n")
    (folder / "constraints.txt").write_text("".join(lock))
    return folder


def surroundings(index: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    return own | {
        "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index),
        "UV_NO_CONFIG": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(index),
    }  # fmt: skip


def run_uv(*words: str, environment: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    command = [sys.executable, "-m", "uv", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def run_pip(index: Path, venv: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    command = [str(venv / "bin" / "python"), "-m", "pip", *words, "--dry-run", "--quiet", "--report", "-"]
    return subprocess.run(
        command, capture_output=True, text=True, env=surroundings(index), cwd=index, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "pip",
    [
        BUNDLED,
        *(
            pytest.param(each, marks=pytest.mark.exhaustive)
            for each in ("23.0.1", "23.2.1", "24.0", "newest")
        ),
    ],
)
def test_pip_installs_the_locked_versions_whatever_is_newer(index: Path, tmp_path: Path, pip: str) -> None:
    venv = tmp_path / "venv"
    seed = [] if pip == BUNDLED else ["--without-pip"]
    subprocess.run([sys.executable, "-m", "venv", *seed, str(venv)], check=True)
    if pip != BUNDLED:
        wanted = "pip" if pip == "newest" else f"pip=={pip}"
        run_uv("pip", "install", "--python", str(venv / "bin" / "python"), "--upgrade", wanted)
    done = run_pip(index, venv, install_locked())
    assert done.returncode == 0, done.stderr
    chosen = [each["metadata"] for each in json.loads(done.stdout)["install"]]
    assert {canonicalize_name(each["name"]): each["version"] for each in chosen} == locked_here()


@pytest.mark.slow
def test_uv_installs_the_locked_versions_whatever_is_newer(index: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    run_uv("venv", "--quiet", "--python", sys.executable, str(venv))
    words = ["pip", *install_locked(), "--dry-run", "--python", str(venv / "bin" / "python")]
    said = run_uv(*words, environment=surroundings(index), cwd=index)
    assert dict(re.findall(r"^ \+ (\S+)==(\S+)$", said, re.MULTILINE)) == locked_here()


def test_everything_that_is_locked_is_here_and_agrees() -> None:
    """A lock from which a package is missing would be noticed here: nothing is resolved when it is installed."""
    run_uv("pip", "check", "--python", sys.executable)
