"""The tools that every new library begins with: proved again by the project's own gates, from their folders."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest
from _pytest.mark import ParameterSet

from alita_mcp.library.opening import open_library
from alita_mcp.library.promotion import Promotion
from alita_mcp.library.versions.files import read_version_folder, unpack
from alita_mcp.library.versions.starter import starter_tools_folder
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, StoredVersion
from alita_mcp.verification.verify import verify

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

FOLDER = starter_tools_folder() or Path("generated_tools")
VERSIONS = sorted(FOLDER.glob("*/v*"))
LONG_S = 300
COMPUTING = {
    "business_days", "calculate", "convert_units", "csv_query", "csv_to_records", "text_statistics",
}  # fmt: skip
COSTLY = {"fetch_csv_and_query", "summarize_text"}
"""Proving one takes minutes on a busy machine; others ask for grants of the same kind, but for the model."""
ASKING = {
    "fetch_csv_and_query": Grants(tools=("http_request", "csv_query")),
    "http_request": Grants(network=("*",)),
    "read_text_file": Grants(workspace="read"),
    "summarize_text": Grants(model=True),
    "write_text_file": Grants(workspace="write"),
}


def stored_in(folder: Path) -> StoredVersion:
    name, version = folder.parent.name, int(folder.name[1:])
    return unpack(read_version_folder(folder, name, version), name, version)


async def read_tool(name: str) -> StoredVersion:
    return stored_in(FOLDER / name / "v1")


PURE = [folder for folder in VERSIONS if folder.parent.name in COMPUTING]


def named(folder: Path) -> str:
    return f"{folder.parent.name}-{folder.name}"


@pytest.fixture
async def sandbox(request: pytest.FixtureRequest, settings: Settings) -> AsyncIterator[Sandbox]:
    if request.param == "docker":
        request.getfixturevalue("docker_engine")
    if request.param == "bubblewrap":
        request.getfixturevalue("bubblewrap")
    kinds = {"wasm": WasmSandbox, "docker": DockerSandbox, "bubblewrap": BubblewrapSandbox}
    opened = kinds[request.param](settings)
    yield opened
    await opened.aclose()


def test_six_compute_and_five_ask_for_grants() -> None:
    asked = {folder.parent.name: stored_in(folder).manifest.grants for folder in VERSIONS}
    assert {name for name, grants in asked.items() if grants.is_pure} == COMPUTING
    assert {name: grants for name, grants in asked.items() if not grants.is_pure} == ASKING


def proofs() -> Iterator[ParameterSet]:
    """Every tool in every sandbox that can run it; the whole suite has what is not the cheapest of them."""
    for folder in VERSIONS:
        for kind in ("wasm", "bubblewrap", "docker"):
            marks = [] if kind == "wasm" else [getattr(pytest.mark, kind)]
            is_costly = kind != "wasm" or folder.parent.name in COSTLY
            marks += [pytest.mark.exhaustive] if is_costly else []
            yield pytest.param(kind, folder, marks=marks, id=f"{kind}-{named(folder)}")


@pytest.mark.sample(3)
@pytest.mark.parametrize(("sandbox", "folder"), [*proofs()], indirect=["sandbox"])
async def test_every_gate_passes_again(folder: Path, sandbox: Sandbox) -> None:
    stored = stored_in(folder)
    pure = stored.manifest.grants.is_pure
    stages: list[str] = []

    async def on_stage(stage: str) -> None:
        stages.append(stage)

    with anyio.fail_after(LONG_S):
        verdict = await verify(stored.draft, sandbox, on_stage, read_tool)
    assert verdict.report.failure is None
    assert verdict.report.trust == stored.manifest.trust == "verified"
    assert verdict.report.deterministic is stored.manifest.deterministic is pure
    assert (verdict.report.examples_passed, verdict.report.examples_total) == (len(stored.examples),) * 2
    assert verdict.contract is not None
    assert verdict.contract.input_schema == stored.manifest.input_schema
    assert verdict.contract.output_schema == stored.manifest.output_schema
    assert {"static", "examples", "determinism"} <= set(stages)


@pytest.mark.parametrize("folder", VERSIONS, ids=named)
def test_a_starter_tool_is_worth_starting_with(folder: Path) -> None:
    stored = stored_in(folder)
    manifest = stored.manifest
    assert admit(manifest) == ()
    assert manifest.packages == ()
    assert manifest.trust == "verified"
    assert len(manifest.use_when) >= 5
    assert len(stored.examples) >= (5 if folder.parent.name in COMPUTING - {"csv_query"} else 8)
    assert any(example.raises for example in stored.examples)
    described = manifest.input_schema["properties"].values()
    assert all(node.get("description") for node in described)


@pytest.mark.sample(2)
@pytest.mark.parametrize("folder", PURE, ids=named)
def test_its_tests_pass_with_plain_pytest_beside_its_code(folder: Path, tmp_path: Path) -> None:
    here = tmp_path / "exported"
    shutil.copytree(folder, here, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_tool.py"],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert f"{len(stored_in(folder).examples)} passed" in done.stdout


async def test_a_new_library_has_them_all_and_those_that_compute_are_callable_and_listed(
    settings: Settings,
) -> None:
    async with open_library(settings) as library:
        entries = {entry.name: entry for entry in library.tools.entries()}
        for folder in VERSIONS:
            assert entries[folder.parent.name].callable_now is (folder.parent.name in COMPUTING)
            assert (await library.read(folder.parent.name)).manifest == stored_in(folder).manifest
        listed = Promotion(100).choose(library.tools.entries())
        assert {entry.name for entry in listed} == COMPUTING


async def test_those_that_ask_are_callable_once_they_are_granted(home: Path) -> None:
    async with open_library(Settings(home=home)) as library:
        for name in ASKING:
            entry = await library.approve(name)
            assert entry.callable_now is (name != "http_request"), name
        await library.approve("http_request", hosts=["api.example.org"])
        listed = Promotion(100).choose(library.tools.entries())
        assert {entry.name for entry in listed} == COMPUTING | ASKING.keys()
        http_request = library.entry("http_request").manifest
        assert library.effective_grants.of(http_request) == Grants(network=("api.example.org",))


@pytest.mark.parametrize("folder", VERSIONS, ids=named)
async def test_each_is_found_by_the_requests_that_it_claims_to_serve(
    folder: Path, settings: Settings
) -> None:
    """By words alone; one of five may be words that the tool says nowhere else, which count for little."""
    async with open_library(settings) as library:
        missed = []
        for wanted in stored_in(folder).manifest.use_when:
            answer = await library.search(wanted, 3)
            if folder.parent.name not in [found.name for found in answer.results]:
                missed.append(wanted)
        assert len(missed) <= 1, missed
