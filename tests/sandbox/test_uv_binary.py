"""The uv that a sandbox gets: this machine's where it runs there, else the pinned wheel and nothing else."""

from __future__ import annotations

import platform
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import anyio
import pytest
from packaging.requirements import Requirement

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.packages.environments import EnvironmentBuilder
from alita_mcp.sandbox.packages.package_index import PackageIndex
from alita_mcp.sandbox.packages.uv_binary import (
    PINNED_VERSION,
    fetch_static_uv,
    machine_of,
    own_uv,
    runs_own_uv,
)
from alita_mcp.settings import Settings
from tests.sandbox.environment_homes import silent
from tests.sandbox.package_index import Index, wheel
from tests.sandbox.trusting_back_end import TrustingBackEnd

HERE = f"cp311-linux_{platform.machine()}"
MUSL = f"{HERE}_musl"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="this machine's uv runs in no sandbox")


@pytest.fixture
def static(index: Index) -> dict[str, str]:
    """The hash of a wheel with this machine's uv, on the index; for a sandbox that says that it has musl."""
    own = own_uv()
    assert own is not None
    files = {f"uv-{PINNED_VERSION}.data/scripts/uv": own.read_bytes()}
    filename, content = wheel("uv", PINNED_VERSION, files, tag="py3-none-any", compression=zipfile.ZIP_STORED)
    return {platform.machine(): index.add(filename, content)}


@pytest.fixture
def back_end(tmp_path: Path) -> TrustingBackEnd:
    back_end = TrustingBackEnd(tmp_path / "builds")
    back_end.python = MUSL
    return back_end


@on_linux
async def test_this_machines_uv_goes_where_it_runs_and_nowhere_else(index: Index) -> None:
    assert runs_own_uv(HERE)
    assert not any(runs_own_uv(tag) for tag in (MUSL, "cp311-linux_riscv64"))
    assert (machine_of(HERE), machine_of(MUSL)) == (platform.machine(), platform.machine())
    at = PackageIndex(url=index.url, hosts=frozenset())
    with pytest.raises(SandboxError, match="no uv for the sandbox's Python on 'riscv64'"):
        await fetch_static_uv("riscv64", at)


def test_the_pinned_version_is_one_that_the_package_may_be_installed_with() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    requirements = {one.name: one for one in map(Requirement, project["dependencies"])}
    assert requirements["uv"].specifier.contains(PINNED_VERSION)
    assert requirements["uv"].specifier.contains(version("uv"))


@pytest.mark.slow
@on_linux
async def test_a_fetched_uv_builds_an_environment_and_the_indexs_password_goes_to_the_index_alone(
    back_end: TrustingBackEnd, settings: Settings, index: Index, static: dict[str, str]
) -> None:
    index.add(*wheel("plain", "1", {"plain.py": "x = 1\n"}))
    with_user = index.url.replace("http://", "http://ada:se%3Acret@")
    at_index = settings.model_copy(update={"package_index": with_user})
    builder = EnvironmentBuilder(back_end, at_index, static_uvs=static)
    with anyio.fail_after(120):
        await builder.prepare(await builder.resolve(("plain",), silent), silent)
        await EnvironmentBuilder(back_end, at_index, static_uvs=static).resolve(("plain",), silent)
    assert {headers.get("Authorization") for headers in index.headers[:2]} == {"Basic YWRhOnNlOmNyZXQ="}
    assert [request["task"] for request in back_end.builds] == ["resolve", "install", "resolve"]


@pytest.mark.slow
async def test_a_uv_that_was_replaced_is_not_taken(
    back_end: TrustingBackEnd, at_index: Settings, static: dict[str, str]
) -> None:
    other = dict.fromkeys(static, "0" * 64)
    with anyio.fail_after(120), pytest.raises(SandboxError, match="does not have the hash of the lock"):
        await EnvironmentBuilder(back_end, at_index, static_uvs=other).resolve(("plain",), silent)
    assert back_end.environments == {}


@pytest.mark.slow
async def test_an_index_without_uv_is_the_sandboxs_failure_and_says_what_to_put_there(
    back_end: TrustingBackEnd, at_index: Settings, index: Index, static: dict[str, str]
) -> None:
    index.files.clear()
    with anyio.fail_after(120), pytest.raises(SandboxError, match=r"uv was not found") as failed:
        await EnvironmentBuilder(back_end, at_index, static_uvs=static).resolve(("plain",), silent)
    assert f"uv {PINNED_VERSION} for musllinux must be on the index" in failed.value.hint
