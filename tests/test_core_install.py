"""The core alone, installed from the lock without an extra: demo, `alita doctor` and tests of the main job pass."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from alita_mcp.extras import EXTRAS, PACKAGES

ROOT = Path(__file__).parents[1]
PATIENCE_S = 400
NEVER = (*(package for packages in PACKAGES.values() for package in packages), "openai", "lxml", "tokenizers")
"""Packages of the extras, and some that they bring."""
MAIN_JOB = (
    "tests/server/test_without_extras.py",
    "tests/library/test_search.py::test_six_tools_answer_their_own_needs_and_no_others",
    "tests/library/test_search.py::test_what_is_published_is_found_at_once_and_what_is_gone_is_not",
    "tests/server/test_flow.py::test_an_agent_brings_a_tool_that_no_one_had",
    "tests/server/test_flow.py::test_run_tool_gives_exactly_what_a_direct_call_gives",
    "tests/server/test_malformed.py::test_every_line_of_stdin_is_answered",
    "tests/server/test_http.py::test_the_token_lets_in_and_the_health_check_needs_none",
    "tests/sandbox/wasm/test_packages.py::TestPackages::test_a_tool_has_the_packages_of_its_lock_and_no_others",
)
"""Search, a tool made of code, its calls, packages in the embedded sandbox, stdio and HTTP, and what is not here."""

WITH_AN_ENGINE = "test_calls_of_one_tool_share_a_worker_and_nothing_else"

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("core")]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the core and what its tests need."""
    folder = tmp_path_factory.mktemp("core")
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
    export = [uv, "export", "--quiet", "--locked", "--no-emit-project", "--no-dev", "--group", "test"]
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    for command in (
        [*export, "--format", "requirements-txt", "--output-file", str(folder / "core.txt")],
        [uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)],
        [uv, "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--python", str(python),
         "--requirement", str(folder / "core.txt")],
    ):  # fmt: skip
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, done.stderr
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    (packages / "alita.pth").write_text(f"{ROOT}\n")
    (installed,) = Path(sysconfig.get_path("purelib")).glob("alita_mcp_server-*.dist-info")
    shutil.copytree(installed, packages / installed.name)
    return python


def run(core: Path, home: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [str(core), *words],
        cwd=ROOT,
        env={**environment, "ALITA_HOME": str(home), **settings},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def alita(core: Path, home: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return run(core, home, "-m", "alita_mcp.cli.main", *words, **settings)


def passing(core: Path, home: Path, *words: str) -> str:
    """The output of tests in the environment of the core, which all pass."""
    done = run(core, home, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-cov", *words)
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    return done.stdout


def test_no_package_of_an_extra_is_there(core: Path, home: Path) -> None:
    ask = f"from importlib.util import find_spec; print([each for each in {NEVER!r} if find_spec(each)])"
    assert run(core, home, "-c", ask).stdout == "[]\n"


def test_the_demo_passes(core: Path, home: Path) -> None:
    done = alita(core, home, "demo")
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]


def test_doctor_says_of_each_extra_how_it_is_added(core: Path, home: Path) -> None:
    done = alita(core, home, "doctor", "--json", ALITA_SANDBOX="wasm")
    assert done.returncode == 0, done.stderr
    extras = json.loads(done.stdout)["extras"]
    assert {*extras} == {*EXTRAS, "all"}
    for extra in EXTRAS:
        assert not extras[extra]["here"]
        assert extras[extra]["problem"].endswith("is not installed")
        assert f"{ROOT}[{extra}]" in extras[extra]["command"]
    assert f"{ROOT}[all]" in extras["all"]["command"]


def test_a_task_without_the_packages_of_its_model_ends_with_one_hint(core: Path, home: Path) -> None:
    done = alita(core, home, "solve", "count to three", ALITA_MODEL="openai/x")
    assert done.returncode == 9
    error, hint = done.stderr.splitlines()
    assert "ALITA_MODEL='openai/x' needs the extra 'models': litellm is not installed." in error
    assert hint.startswith("hint: To add it: ")
    assert not done.stdout


def test_the_main_job_works(core: Path, home: Path) -> None:
    output = passing(core, home, "-m", "not postgres", *MAIN_JOB)
    (passed,) = re.findall(r"(\d+) passed", output)
    assert int(passed) >= 14
    assert "skipped" not in output, output


@pytest.mark.docker
def test_so_does_docker(core: Path, home: Path) -> None:
    passing(core, home, f"tests/sandbox/test_docker.py::TestDocker::{WITH_AN_ENGINE}")


@pytest.mark.bubblewrap
def test_so_does_bubblewrap(core: Path, home: Path) -> None:
    name = "test_dataclasses_go_in_and_come_out_as_objects"
    passing(core, home, f"tests/sandbox/test_bubblewrap.py::TestBubblewrap::{name}")
