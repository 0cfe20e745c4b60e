"""Control groups and owners: where groups may be made, what is read back, what a killed process left."""

from __future__ import annotations

import subprocess
from pathlib import Path

import anyio
import pytest

from alita_mcp.sandbox.bubblewrap.cgroup import CgroupMissing, Cgroups, write_limit
from alita_mcp.sandbox.owner import ProcessOwner
from alita_mcp.values import Limits

LIMITS = Limits(memory_bytes=64 << 20, processes=9)
GONE = ProcessOwner.this_process()._replace(pid=2**22 - 1)


def v2(root: Path, own: str, delegated: str) -> Cgroups:
    """A cgroup v2 tree as the kernel shows it, as far as files can play it."""
    (root / own).mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpu memory pids")
    (root / delegated / "cgroup.subtree_control").write_text("cpu memory pids")
    (root / delegated / "cgroup.procs").write_text("")
    file = root / "own"
    file.write_text(f"0::/{own}\n")
    return Cgroups(root, file)


def test_a_v2_group_is_made_below_the_nearest_delegated_one(tmp_path: Path) -> None:
    groups = v2(tmp_path, "user.slice/session.scope", "user.slice")
    group = groups.create(LIMITS)
    (folder,) = group.folders
    assert folder.parent == tmp_path / "user.slice"
    assert (folder / "memory.max").read_text() == str(64 << 20)
    assert (folder / "pids.max").read_text() == "9"
    assert not (folder / "memory.swap.max").exists()
    group.admit(4711)
    assert (folder / "cgroup.procs").read_text() == "4711"
    assert group.oom_kills() == 0
    (folder / "memory.events").write_text("oom 1\noom_kill 2\n")
    assert group.oom_kills() == 2


@pytest.mark.parametrize("handed_down", ["", "memory", "cpu pids"])
def test_a_v2_tree_that_hands_nothing_down_has_no_group_for_us(tmp_path: Path, handed_down: str) -> None:
    groups = v2(tmp_path, "user.slice", "user.slice")
    (tmp_path / "user.slice/cgroup.subtree_control").write_text(handed_down)
    with pytest.raises(CgroupMissing, match="delegated"):
        groups.create(LIMITS)
    groups.sweep()


def test_v1_needs_memory_and_processes_and_takes_cpu_where_it_is(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("4:memory:/here\n3:cpu,cpuacct:/\n8:pids:/gone\n0::/\n")
    groups = Cgroups(tmp_path, own)
    with pytest.raises(CgroupMissing, match="memory"):
        groups.create(LIMITS)
    (tmp_path / "memory/here").mkdir(parents=True)
    with pytest.raises(CgroupMissing, match="pids"):
        groups.create(LIMITS)
    assert list((tmp_path / "memory/here").iterdir()) == []
    (tmp_path / "pids").mkdir()
    memory, pids = groups.create(LIMITS).folders
    assert (memory.parent, pids.parent) == (tmp_path / "memory/here", tmp_path / "pids")
    assert (memory / "memory.limit_in_bytes").read_text() == str(64 << 20)
    (tmp_path / "cpu").mkdir()
    assert len(groups.create(LIMITS).folders) == 3


def test_a_limit_that_does_not_hold_is_no_limit(tmp_path: Path) -> None:
    (tmp_path / "pids.max").symlink_to("/dev/null")
    with pytest.raises(CgroupMissing, match=r"pids\.max is None after it was set to 9"):
        write_limit(tmp_path / "pids.max", "9")


def test_only_empty_groups_of_processes_that_are_gone_are_swept(tmp_path: Path) -> None:
    groups = v2(tmp_path, "a", "a")
    names = [f"alita-{owner}-1" for owner in (ProcessOwner.this_process(), GONE, "elsewhere-1-1")] + [
        "alita-odd"
    ]
    for name in names:
        (tmp_path / "a" / name).mkdir()
    groups.sweep()
    assert [name for name in names if not (tmp_path / "a" / name).exists()] == [f"alita-{GONE}-1"]


async def test_removing_a_group_kills_what_is_in_it_first() -> None:
    try:
        group = Cgroups().create(LIMITS)
    except CgroupMissing as missing:
        pytest.skip(f"no control group can be made here: {missing}")
    with subprocess.Popen(["sleep", "600"]) as process:  # noqa: ASYNC220 - returns at once
        group.admit(process.pid)
        with anyio.fail_after(60):
            await group.remove()
        assert process.wait() == -9
    assert not any(folder.exists() for folder in group.folders)


def test_a_scope_of_systemd_carries_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "systemd-run"
    program.touch(0o755)
    v2(tmp_path / "root", "a", "a")
    asked = Cgroups(tmp_path / "root", tmp_path / "root/own", manager=tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    words = asked.scope_command(LIMITS)
    assert words is not None
    assert words[:3] == [str(program), "--user", "--scope"]
    assert {"--property=MemoryMax=67108864", "--property=TasksMax=9", "--property=MemorySwapMax=0"} <= set(
        words
    )
    assert words[-1] == "--"
    program.unlink()
    assert asked.scope_command(LIMITS) is None
    assert Cgroups(tmp_path, tmp_path / "own", manager=tmp_path).scope_command(LIMITS) is None


def test_an_owner_is_gone_only_when_that_is_sure() -> None:
    me = ProcessOwner.this_process()
    assert ProcessOwner.parse(str(me)) == me
    assert not me.is_gone()
    assert GONE.is_gone()
    assert me._replace(started="1").is_gone()
    assert not GONE._replace(machine="another").is_gone()
    assert ProcessOwner.parse("odd") is None
    assert ProcessOwner.parse("") is None
