from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from alita_mcp.settings import Settings
from benchmarks.calls import baselines, memory, peer_images, peers, timing

HERE = Path(__file__).parent
GONE = "000000000000-1-1"


def words(behaviour: str) -> list[str]:
    return [sys.executable, str(HERE / "scripted_peer.py"), behaviour]


def silent(_line: str) -> None:
    pass


async def test_a_driver_is_asked_once_for_each_call_and_its_own_clock_counts(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with peers.started("peer", words("adds"), tmp_path) as driver:
            assert driver.versions == {"scripted": "1.0"}
            assert [await driver.call() for _ in range(3)] == [0.25] * 3


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("fails", "peer: OSError: no engine"),
        ("babbles", "peer printed"),
        ("silent", "peer ended: last words of a peer"),
    ],
)
async def test_a_peer_that_does_not_start_says_why(behaviour: str, reason: str, tmp_path: Path) -> None:
    with anyio.fail_after(60), pytest.raises(timing.ContenderFailed, match=reason):
        async with peers.started("peer", words(behaviour), tmp_path):
            pass


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [("errs", "answered"), ("raises", "ValueError: odd"), ("ends", "it was too much")],
)
async def test_a_peer_that_fails_a_call_says_why(behaviour: str, reason: str, tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with peers.started("peer", words(behaviour), tmp_path) as driver:
            with pytest.raises(timing.ContenderFailed, match=reason):
                await driver.call()


async def test_a_driver_that_stays_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    before = memory.descendants()
    with anyio.fail_after(60):
        async with peers.started("peer", words("stays"), tmp_path) as driver:
            await driver.call()
            started = memory.descendants() - before
            assert len(started) == 2
        while any(memory.resident_bytes(pid) for pid in started):  # noqa: ASYNC110 - nobody tells
            await anyio.sleep(0.01)


def test_a_driver_times_what_its_peer_does_and_hides_what_it_prints(tmp_path: Path) -> None:
    shutil.copy(peers.DRIVERS / "json_lines.py", tmp_path)
    script = tmp_path / "driver.py"
    script.write_text(
        "import contextlib, subprocess, sys\n"
        "from json_lines import serve\n"
        "@contextlib.contextmanager\n"
        "def opened():\n"
        "    print('hello from the peer')\n"
        "    yield lambda program: subprocess.run([sys.executable, '-c', program], capture_output=True).stdout\n"
        "serve('packaging', opened())\n"
    )
    lines = json.dumps({"a": 2, "b": 3}) + "\n" + "no JSON\n"
    done = subprocess.run(
        [sys.executable, str(script)], input=lines, capture_output=True, text=True, check=True, timeout=60
    )
    ready, answer, failed = map(json.loads, done.stdout.splitlines())
    assert ready["ready"] is True
    assert set(ready["versions"]) == {"packaging"}
    assert answer["answer"] == 5
    assert answer["seconds"] > 0
    assert "JSONDecodeError" in failed["failed"]
    assert "hello from the peer" in done.stderr


def wheel(folder: Path) -> str:
    """A distribution that installs without an index."""
    path = folder / "quiet_peer-1.0-py3-none-any.whl"
    meta = "quiet_peer-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("quiet_peer.py", "")
        archive.writestr(f"{meta}/METADATA", "Metadata-Version: 2.1\nName: quiet-peer\nVersion: 1.0\n")
        archive.writestr(f"{meta}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{meta}/RECORD", "")
    return str(path)


@pytest.mark.exhaustive
async def test_an_environment_is_made_once_and_again_when_the_first_try_broke_off(tmp_path: Path) -> None:
    told: list[str] = []
    requirement, cache = wheel(tmp_path), tmp_path / "cache"
    with anyio.fail_after(300):
        python = await peers.installed(requirement, cache, told.append)
        assert await peers.installed(requirement, cache, told.append) == python
        assert len(told) == 1
        (python.parent.parent / "installed").unlink()
        await peers.installed(requirement, cache, told.append)
    assert len(told) == 2
    question = [str(python), "-c", "import quiet_peer"]
    assert (await anyio.run_process(question)).returncode == 0


@pytest.mark.exhaustive
async def test_a_peer_that_cannot_be_installed_or_started_is_reported_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    missing = peers.Peer("no such peer", str(tmp_path / "no-such.whl"), "none.py", "", "bubblewrap")
    contained = peers.Peer("peer with an engine", wheel(tmp_path), "none.py", "plain", "docker")
    with anyio.fail_after(300):
        async with peers.opened((missing, contained), "image", tmp_path / "cache", silent) as found:
            assert found.calls == {}
    assert "no-such.whl" in found.missing["no such peer"]
    assert found.missing["peer with an engine"] == "no Docker engine answers"
    figures = peers.figures(timing.Measured(), found, (missing, contained))
    assert set(figures) == {"no such peer", "peer with an engine"}
    assert all("missing" in each for each in figures.values())


def test_our_share_is_of_the_back_end_of_the_same_kind() -> None:
    peer = peers.Peer("peer", "peer", "peer.py", "", "bubblewrap")
    measured = timing.Measured({"docker": [1.0], "bubblewrap": [2.0], "peer": [8.0]})
    found = peers.figures(measured, peers.OpenedPeers(), (peer,))
    assert found["peer"]["ratio"] == 0.25
    assert found["peer"]["compared_with"] == "bubblewrap"
    assert found["peer"]["median_s"] == 8.0


def test_every_peer_has_a_driver() -> None:
    assert {peer.driver for peer in peers.PEERS} == {
        path.name for path in peers.DRIVERS.glob("*.py") if path.stem not in {"__init__", "json_lines"}
    }


async def test_one_run_waits_for_another_that_makes_the_same_folder(tmp_path: Path) -> None:
    order: list[str] = []
    entered = anyio.Event()

    async def first() -> None:
        async with peer_images.locked(tmp_path / "folder"):
            entered.set()
            await anyio.sleep(0.1)
            order.append("first")

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await entered.wait()
            async with peer_images.locked(tmp_path / "folder"):
                order.append("second")
    assert order == ["first", "second"]


async def test_a_command_that_fails_is_reported_by_its_last_line() -> None:
    program = "import sys; print('first', file=sys.stderr); sys.exit('the reason')"
    with anyio.fail_after(60), pytest.raises(timing.ContenderFailed, match="the reason"):
        await peer_images.succeed([sys.executable, "-c", program])


@contextmanager
def removed_afterwards(run: str) -> Iterator[None]:
    try:
        yield
    finally:
        peer_images.remove(run)


def images(run: str) -> str:
    return baselines.client_output(
        ["docker", "images", "--quiet", "--filter", f"label={peer_images.LABEL}={run}"]
    )


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
async def test_a_derived_image_and_its_containers_are_removed_and_nobody_elses(
    settings: Settings, tmp_path: Path
) -> None:
    run, other = "test-derived-image", "test-other-image"
    with removed_afterwards(run), removed_afterwards(other), anyio.fail_after(300):
        name = await peer_images.built("plain", settings.docker_image, run, tmp_path, silent)
        assert await peer_images.built("plain", settings.docker_image, run, tmp_path, silent) == name
        await peer_images.built("plain", settings.docker_image, other, tmp_path, silent)
        argv = ["docker", "run", "--detach", "--interactive", "--network", "none", name]
        number = (await anyio.to_thread.run_sync(baselines.client_output, argv)).strip()
        inside = ["docker", "exec", number, "python", "-c", "print(6 * 7)"]
        assert (await anyio.to_thread.run_sync(baselines.client_output, inside)).strip() == "42"
        await anyio.to_thread.run_sync(peer_images.remove, run)
        assert await anyio.to_thread.run_sync(images, run) == ""
        assert await anyio.to_thread.run_sync(images, other) != ""
        assert await anyio.to_thread.run_sync(baselines.client_output, ["docker", "inspect", number]) == ""


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
async def test_what_a_killed_run_left_is_removed_by_the_next(settings: Settings, tmp_path: Path) -> None:
    from alita_mcp.sandbox.owner import ProcessOwner

    alive = str(ProcessOwner.this_process())
    dead = str(ProcessOwner.this_process()._replace(started="1"))
    with removed_afterwards(alive), removed_afterwards(dead), anyio.fail_after(300):
        for run in (alive, dead):
            await peer_images.built("plain", settings.docker_image, run, tmp_path, silent)
        await anyio.to_thread.run_sync(peer_images.sweep)
        assert await anyio.to_thread.run_sync(images, alive) != ""
        assert await anyio.to_thread.run_sync(images, dead) == ""


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
async def test_an_image_that_cannot_be_built_is_reported(tmp_path: Path) -> None:
    with anyio.fail_after(300):
        with pytest.raises(timing.ContenderFailed, match="docker build"):
            await peer_images.built("plain", "alita-bench-no-such:image", GONE, tmp_path, silent)
        with pytest.raises(timing.ContenderFailed, match="does not start a python3"):
            await peer_images.built("jupyter", "alita-bench-no-such:image", GONE, tmp_path, silent)
