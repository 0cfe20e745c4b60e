"""The command that adds an extra fits the way in which the server was installed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from alita_mcp.extras import DISTRIBUTION, EXTRAS, PACKAGES, Installation

PYTHON = "/opt/it/bin/python"
FOLDER = {"url": "file:///home/me/my%20check%20out", "dir_info": {}}
EDITABLE = {**FOLDER, "dir_info": {"editable": True}}
WHEEL = {"url": "file:///tmp/alita_mcp_server-0.1.0-py3-none-any.whl", "archive_info": {}}
REPOSITORY = {"url": "https://example.org/alita.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}


def installed(prefix: Path, direct_url: dict[str, Any], *, has_pip: bool = True) -> Installation:
    return Installation(prefix, PYTHON, direct_url, has_pip, present=("web",))


@pytest.mark.skipif(os.name == "nt", reason="its shells quote otherwise")
@pytest.mark.parametrize(
    ("direct_url", "requirement"),
    [
        ({}, "alita-mcp-server[models]"),
        (FOLDER, "/home/me/my check out[models]"),
        (WHEEL, f"alita-mcp-server[models] @ {WHEEL['url']}"),
        (REPOSITORY, "alita-mcp-server[models] @ git+https://example.org/alita.git@abc"),
    ],
)
def test_pip_is_told_where_the_server_came_from(
    tmp_path: Path, direct_url: dict[str, Any], requirement: str
) -> None:
    line = installed(tmp_path, direct_url).command("models")
    assert shlex.split(line) == [PYTHON, "-m", "pip", "install", requirement]


def test_brackets_and_blanks_are_quoted_for_the_shell(tmp_path: Path) -> None:
    line = installed(tmp_path, FOLDER).command("models", "search", "team", "web")
    assert line.endswith("'/home/me/my check out[all]'" if os.name != "nt" else '[all]"')


def test_an_editable_checkout_stays_one(tmp_path: Path) -> None:
    words = shlex.split(installed(tmp_path, EDITABLE).command("web"))
    assert words[-2:] == ["--editable", "/home/me/my check out[web]"]


def test_an_environment_without_pip_is_served_by_uv(tmp_path: Path) -> None:
    words = shlex.split(installed(tmp_path, FOLDER, has_pip=False).command("web"))
    assert words[1:] == ["pip", "install", "--python", PYTHON, "/home/me/my check out[web]"]


def test_a_tool_of_uv_keeps_the_extras_that_it_has(tmp_path: Path) -> None:
    (tmp_path / "uv-receipt.toml").touch()
    words = shlex.split(installed(tmp_path, FOLDER).command("models"))
    assert words == ["uv", "tool", "install", "/home/me/my check out[models,web]"]


def test_what_is_broken_is_installed_again(tmp_path: Path) -> None:
    assert "--force-reinstall" in installed(tmp_path, {}).command("web", repair=True)
    (tmp_path / "uv-receipt.toml").touch()
    assert "--reinstall" in installed(tmp_path, {}).command("web", repair=True)


def test_the_packages_are_those_of_the_project_file() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    named = {
        extra: {Requirement(line).name for line in lines}
        for extra, lines in project["optional-dependencies"].items()
    }
    named["models"].remove("keyring")  # without it keys are kept in a file
    named["team"] = {
        name for name in named["team"] if not name.startswith("opentelemetry")
    }  # only `OTEL_…` asks for it
    assert {extra: {name.replace("-", "_") for name in named.pop(extra)} for extra in EXTRAS} == {
        extra: set(packages) for extra, packages in PACKAGES.items()
    }
    assert set(named) == {"all", "embeddings"}


def distribution(folder: Path, name: str, version: str, module: str) -> None:
    """An installed distribution of one module."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(module)


ASK = """
import sys
from alita_mcp.extras import extra_imports, find_extra_problem
from alita_mcp.errors import ExtraMissing
print(find_extra_problem("models"))
try:
    with extra_imports("models"):
        import litellm
    print("imported")
except ExtraMissing as broken:
    print(broken)
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("version", "module", "cheap", "tried", "is_broken"),
    [
        ("1.101.0", "def broken(:", "None", "cannot be imported (SyntaxError", True),
        ("1.101.0", "import no_such_module", "None", "cannot be imported (ModuleNotFoundError", True),
        ("1.101.0", "", "None", "imported", False),
    ],
)
def test_an_extra_that_is_damaged_is_told_apart(
    tmp_path: Path, version: str, module: str, cheap: str, tried: str, is_broken: bool
) -> None:
    distribution(tmp_path, "litellm", version, module)
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    found, imported = done.stdout.splitlines()
    assert cheap in found
    assert tried in imported
    assert ("reinstall" in imported) == is_broken


def core_of(lock: dict[str, Any], environment: dict[str, str]) -> set[str]:
    """The distributions that the lock installs with the core alone."""
    from packaging.markers import Marker

    packages: dict[str, list[dict[str, Any]]] = {}
    for package in lock["package"]:
        packages.setdefault(package["name"], []).append(package)
    found: set[str] = set()
    waiting = [{"name": DISTRIBUTION, "extra": []}]
    asked: set[tuple[str, str]] = set()
    while waiting:
        wanted = waiting.pop()
        for package in packages[wanted["name"]]:
            found.add(wanted["name"])
            optional = package.get("optional-dependencies", {})
            for part in ("", *wanted.get("extra", [])):
                if (wanted["name"], part) in asked:
                    continue
                asked.add((wanted["name"], part))
                waiting += [
                    each
                    for each in (optional.get(part, []) if part else package.get("dependencies", []))
                    if "marker" not in each or Marker(each["marker"]).evaluate(environment)
                ]
    return found


def test_the_core_is_light() -> None:
    lock = tomllib.loads((Path(__file__).parents[1] / "uv.lock").read_text())
    linux = {
        "python_full_version": "3.11.7", "python_version": "3.11", "implementation_name": "cpython",
        "platform_python_implementation": "CPython", "os_name": "posix", "sys_platform": "linux",
        "platform_system": "Linux", "platform_machine": "x86_64",
    }  # fmt: skip
    core = core_of(lock, linux)
    assert 40 < len(core) <= 59, sorted(core)
    assert not core & {name.replace("_", "-") for packages in PACKAGES.values() for name in packages}
