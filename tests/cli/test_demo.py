"""The demo as a newcomer starts it: on a machine with neither Docker nor bubblewrap, without keys and network."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.cli.demo import tools as demo_tools
from alita_mcp.cli.demo.steps import STEPS, DemoFailed, Scene, play
from alita_mcp.settings import Settings
from tests.cli.conftest import PATIENCE_S
from tests.conftest import CACHE

DEMO = [sys.executable, "-m", "alita_mcp.cli.main", "demo"]


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment in which no engine, no proxy and no key can be found."""
    temporary, empty = tmp_path / "tmp", tmp_path / "bin"
    temporary.mkdir()
    empty.mkdir()
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": str(empty),
        "HOME": str(tmp_path / "nobody"),
        **CACHE,
        "TMPDIR": str(temporary),
        "DOCKER_HOST": "tcp://127.0.0.1:9",
        "http_proxy": nowhere,
        "https_proxy": nowhere,
        "ALITA_HOME": str(tmp_path / "untouched"),
        "ALITA_POLICY": "locked",
        **{name: value for name, value in os.environ.items() if name.startswith(("COV", "SYSTEMROOT"))},
    }


def left_behind(environment: dict[str, str]) -> list[str]:
    home = Path(environment["ALITA_HOME"])
    return [path.name for path in Path(environment["TMPDIR"]).iterdir()] + (
        [home.name] if home.exists() else []
    )


@pytest.mark.measured
@pytest.mark.exhaustive
def test_the_demo_holds_on_a_bare_machine_and_leaves_nothing_behind(bare: dict[str, str]) -> None:
    done = subprocess.run(DEMO, env=bare, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    titles = re.findall(rf"^\[(\d+)/{STEPS}\] ", done.stdout, re.MULTILINE)
    assert titles == [str(number + 1) for number in range(STEPS)]
    for told in (
        "fit: none",
        "created check_iban v1: verified, 9/9 tests pass",
        "· examples",
        "list_changed",
        '{"result": true}',
        'case {"year": 1900}, expected 28, got 29',
        "the file's content is nowhere in the answer",
        "fit: possible, check_iban",
        f"All {STEPS} steps held",
    ):
        assert told in done.stdout
    assert "\x1b" not in done.stdout
    assert "Traceback" not in done.stderr
    assert left_behind(bare) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_stopped_demo_leaves_no_folder_and_no_server(bare: dict[str, str]) -> None:
    with subprocess.Popen(
        DEMO, env=bare, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line.startswith("[3/"):
                break
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130
    assert err.endswith("error: Interrupted.\n")
    assert "Traceback" not in err
    assert left_behind(bare) == []
    assert servers_using(bare["TMPDIR"]) == []


def servers_using(folder: str) -> list[str]:
    """Processes whose environment names a home in this folder."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"ALITA_HOME={folder}".encode() in environment.read_bytes():
                found.append(environment.parent.name)
        except OSError:
            continue  # gone, or another user's
    return found


@pytest.mark.process
async def test_the_demo_fails_where_a_step_does_not_do_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {**demo_tools.GOOD, "code": demo_tools.GOOD["code"].replace("== 1", "== 2")}
    scene = Scene()
    with pytest.raises(DemoFailed, match="rejected"):
        await play(tmp_path, Settings(home=tmp_path), "wasm", scene, good=broken)
    assert [step["ok"] for step in scene.steps] == [True, True, False]


def test_the_hostile_tool_would_pass_if_nothing_stopped_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("k" * 32, encoding="utf-8")
    (tmp_path / "note").write_text("buy milk", encoding="utf-8")
    space: dict[str, Any] = {}
    tool = demo_tools.thief(str(tmp_path / "secret"), str(tmp_path / "note"))
    exec(tool["code"], space)
    results = [space["read_note"](**test["arguments"]) for test in tool["tests"]]
    assert results == ["buy milk", "k" * 32]
