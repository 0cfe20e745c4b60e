"""How the component is built, by a tool that each test scripts; `tests/test_wheel.py` has the real one."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.sandbox.wasm import build, component

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 120
MAKES_SOME = """
import os, pathlib, sys
def script():
    target = sys.argv[sys.argv.index("--output") + 1]
    pathlib.Path(target).write_bytes(os.urandom(100_000))
"""
RUN = """
import runpy, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
names = runpy.run_path(sys.argv[2])
print(names["build"](Path(sys.argv[3])))
"""


def install(folder: Path, tool: str = MAKES_SOME, **versions: str) -> Path:
    """The two tools as `pip` installs them, the first with a program of ours."""
    pinned = dict(each.split("==") for each in build.TOOLS) | versions
    for name, version in pinned.items():
        (folder / f"{name.replace('-', '_')}-{version}.dist-info").mkdir(parents=True)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (folder / f"{name.replace('-', '_')}-{version}.dist-info" / "METADATA").write_text(metadata)
    for package, text in {"componentize_py": tool, "tzdata": ""}.items():
        (folder / package).mkdir()
        (folder / package / "__init__.py").write_text(text)
    return folder


def start(tools: Path, folder: Path, **variables: str) -> subprocess.Popen[str]:
    """A build in a Python that has the standard library and the two tools alone, as the one that packs a wheel."""
    command = [sys.executable, "-I", "-S", "-c", RUN, str(tools), build.__file__, str(folder)]
    return subprocess.Popen(
        command, env={**os.environ, **variables}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def end(process: subprocess.Popen[str]) -> str:
    """What it wrote to stderr, empty where it went well."""
    _out, err = process.communicate(timeout=PATIENCE_S)
    assert bool(process.returncode) == bool(err)
    return err


def record(folder: Path) -> dict[str, Any]:
    """The record of a build, which must speak of the component beside it."""
    words: dict[str, Any] = json.loads((folder / build.RECORD).read_text())
    assert words["sha256"] == hashlib.sha256((folder / build.FILE).read_bytes()).hexdigest()
    return words


def test_a_build_leaves_the_component_and_its_record_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "kept" / "component"
    assert end(start(install(tmp_path / "tools"), folder)) == ""
    assert record(folder) == {
        "sha256": record(folder)["sha256"], "python": build.PYTHON, "tools": list(build.TOOLS),
        "sources": build.source_digest(),
    }  # fmt: skip
    assert sorted(file.name for file in folder.iterdir()) == [build.FILE, build.RECORD]
    assert list(folder.parent.iterdir()) == [folder]


def test_the_tool_sees_the_staged_files_and_nothing_else_of_this_machine(tmp_path: Path) -> None:
    tells = """
import json, os, pathlib, sys
def script():
    words = sys.argv
    seen = {"variables": dict(os.environ), "argv": words, "path": sys.path}
    stage = pathlib.Path(words[words.index("--python-path") + 1])
    seen["staged"] = sorted(str(file.relative_to(stage).as_posix()) for file in stage.rglob("*") if file.is_file())
    packages = pathlib.Path(os.environ["VIRTUAL_ENV"], "lib", "site-packages")
    seen["packages"] = [str(file) for file in packages.iterdir()]
    pathlib.Path(words[words.index("--output") + 1]).write_text(json.dumps(seen))
"""
    tools = install(tmp_path / "tools", tells)
    end(start(tools, tmp_path / "component", PYTHONPATH="/elsewhere", VIRTUAL_ENV="/mine", SECRET="s3cret"))
    seen = json.loads((tmp_path / "component" / build.FILE).read_text())
    ours = {"VIRTUAL_ENV", "TMPDIR", "TMP", "TEMP"}
    # the system's own: what Python sets for its locale and for a program that macOS starts
    system = {"LC_CTYPE", "SYSTEMROOT", "__CF_USER_TEXT_ENCODING"}
    assert ours <= seen["variables"].keys() <= ours | system
    assert seen["packages"] == []
    inside = {f"alita_mcp/sandbox/{name}" for name in build.sources()}
    packages = {
        f"{package}/__init__.py" for package in ("alita_mcp", "alita_mcp/sandbox", "alita_mcp/sandbox/wasm")
    }
    ours_too = {"alita_guest.py", "alita_mcp/program.txt", "tzdata/__init__.py"}
    assert set(seen["staged"]) == inside | packages | ours_too
    assert not any("s3cret" in word or "/mine" in word for word in map(str, seen.values()))


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("def script():\n    print('wrong guest')\n    return 3", "status 3 and made no component:\nwrong guest"),
        ("def script():\n    pass", "status 0 and made no component"),
        ("def script():\n    print('x' * 10_000_000)\n    return 1", "xxx"),
    ],
)  # fmt: skip
def test_a_tool_that_fails_is_quoted_and_leaves_nothing(tool: str, said: str, tmp_path: Path) -> None:
    err = end(start(install(tmp_path / "tools", tool), tmp_path / "kept" / "component"))
    assert "BuildFailed: componentize-py==0.25.1 ended with status" in err
    assert said in err
    assert len(err) < 10_000
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_tool_that_is_missing_or_of_another_version_is_named_before_anything_is_made(
    tmp_path: Path,
) -> None:
    other = install(tmp_path / "other", **{"componentize-py": "0.1"})
    wrong = (
        "is built with componentize-py==0.25.1, and {} of it is installed. It has wheels for Linux with glibc"
    )
    assert wrong.format("0.1") in end(start(other, tmp_path / "component"))
    (empty := tmp_path / "empty").mkdir()
    assert wrong.format("no version") in end(start(empty, tmp_path / "component"))
    assert not (tmp_path / "component").exists()


def test_a_folder_without_a_record_is_no_build(tmp_path: Path) -> None:
    folder = tmp_path / "component"
    folder.mkdir()
    (folder / build.FILE).write_text("half")
    assert end(start(install(tmp_path / "tools"), folder)) == ""
    assert record(folder)


def test_the_digest_names_every_source_and_tool(tmp_path: Path) -> None:
    before = build.source_digest()
    assert {"wire/strict_json.py", "wasm/guest/entry.py", "wasm/guest/alita.wit"} <= set(build.sources())
    copy = tmp_path / "sandbox"
    programs = Path(build.__file__).parents[2] / "runs"
    shutil.copytree(programs, tmp_path / "runs")
    for name, file in build.sources().items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(file.read_bytes())
    (copy / "wasm" / "build.py").write_bytes(Path(build.__file__).read_bytes())
    (copy / "wasm" / "guest" / "waiting.py").write_text("")

    def digest() -> str:
        code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['source_digest']())"
        command = [sys.executable, "-I", "-S", "-c", code, str(copy / "wasm" / "build.py")]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert digest() != before
    (copy / "wasm" / "guest" / "waiting.py").write_bytes(
        build.sources()["wasm/guest/waiting.py"].read_bytes()
    )
    assert digest() == before
    (tmp_path / "runs" / "guest" / "script.py").write_text("")
    assert digest() != before


def test_a_checkout_without_a_build_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component, "build_folder", lambda: tmp_path)
    with pytest.raises(SandboxUnavailable, match="was not built") as raised:
        component.find_component()
    assert "make component" in str(raised.value.hint)
    (tmp_path / build.RECORD).write_text(json.dumps({"sha256": "abc"}))
    found = component.find_component()
    assert (found.path, found.sha256) == (tmp_path / build.FILE, "abc")


def test_the_pins_are_the_same_wherever_they_stand() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    assert tuple(hook["dependencies"]) == build.TOOLS
    groups = project["dependency-groups"]
    pinned = {
        each.partition(";")[0].strip() for each in (*groups["dev"], *groups["test"]) if isinstance(each, str)
    }
    assert set(build.TOOLS) <= pinned
    locked = {
        f"{each['name']}=={each['version']}"
        for each in tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    }
    assert set(build.TOOLS) <= locked


def test_the_licences_of_what_the_component_holds_are_in_the_repository() -> None:
    folder = ROOT / "licenses"
    named = {word.strip("`") for word in (folder / "README.md").read_text().split() if word.endswith(".txt`")}
    assert named == {file.name for file in folder.glob("*.txt")}
    assert "PYTHON SOFTWARE FOUNDATION LICENSE" in (folder / "CPython.txt").read_text()
    assert "LLVM Exceptions" in (folder / "Apache-2.0-LLVM-exception.txt").read_text()
    assert "licenses/*" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license-files"]
