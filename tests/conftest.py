"""Shared fixtures: one event loop back end, a home for each test, and engines that are there or not."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import anyio
import coverage
import hypothesis
import platformdirs
import pytest

from alita_mcp.extras import EXTRAS, find_extra_problem
from alita_mcp.library.opening import open_library
from alita_mcp.library.storage import Storage, open_storage
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import ProbeReport, Sandbox
from alita_mcp.sandbox.wasm import component, process
from alita_mcp.settings import FixedLimits, Settings
from alita_mcp.settings_file import SETTINGS_FILE
from alita_mcp.verification.mutation import mutants, other_inputs
from tests import warm_programs
from tests.postgres_cluster import PostgresServer, find_programs, running_postgres

WORKER = Path(__file__).with_name("worker_program.py")
WASM_WORKER = "alita_mcp.sandbox.wasm.worker.main"
CACHE = {"XDG_CACHE_HOME": platformdirs.user_cache_dir()}
"""Where Linux keeps the component of a checkout: for processes that are shown another home of the user."""
WHOLE_GATES = frozenset(
    {
        "verification",
        "benchmarks",
        "test_starter_tools",
        "test_flow",
        "test_trust",
        "test_updating",
        "test_track_record",
    }
)
"""Folders and modules of tests that measure what the gates find."""
REQUIRED = frozenset(filter(None, os.environ.get("ALITA_TEST_REQUIRE", "").split(",")))
"""Engines that must be there: CI sets all of `SHARED`, so that green cannot mean "nothing ran"."""


NEEDS = {
    "docker_engine": "docker", "bubblewrap": "bubblewrap", "node_tools": "node", "chromium": "browser",
    "postgres_server": "postgres", "postgres_url": "postgres",
    "browser": "process", "ui": "process", "process": "process", "environment": "process", "bare": "process",
}  # fmt: skip
"""Fixtures for what a cheap tier does without, and the mark of a test that uses one."""

SHARED = ("docker", "bubblewrap", "node", "browser", "postgres")
"""Marks whose tests share processes: two for each engine, one for Node.js, the browser and PostgreSQL."""
PACKAGES = frozenset({
    "test_environments_in_sandboxes", "test_environments_killed", "test_hostile_packages", "test_faults",
})  # fmt: skip
"""Modules of tests/sandbox that fill an engine's environments. They share a group with what tests of other folders ask
of that engine, since environments are the engine's and not a process's; the rest of tests/sandbox is the other."""

BACK_ENDS = {"docker": "*/sandbox/docker/*.py", "bubblewrap": "*/sandbox/bubblewrap/*.py"}
"""What nothing covers where the engine is missing."""
RAN: Counter[tuple[str, str]] = Counter()
"""How many tests of each engine passed or were skipped; a few of them pass without it."""

_UNHURRIED: Any = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("same", derandomize=True, max_examples=30, **_UNHURRIED)
hypothesis.settings.register_profile("new", print_blob=True, max_examples=100, **_UNHURRIED)
hypothesis.settings.load_profile("same")
"""Property tests try the same examples in each run: a change is judged by itself. `make test-all` draws new ones."""

os.environ["ALITA_SHARED"] = "off"
"""A server that outlives its test would be found by nobody; tests of the shared one set this aside."""

component.build_folder()
"""It is kept: a test that shows this process another home of the user must not decide it for all that follow."""

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A runner in the background may hand its children an ignored Ctrl-C; the tests that send one need it heard."""


if sys.version_info < (3, 12):  # pragma: no cover
    # There a thread that begins under coverage dies where another begins at that moment and a Python audit hook is
    # installed (CPython's issue 98257); filelock installs two. Later versions are measured without trace functions.
    with mock.patch.object(sys, "addaudithook"):
        import filelock  # noqa: F401

OUR_PROCESS = re.compile(r"\b(alita_mcp\.(?!sandbox)|benchmarks\.|tests\.)\w")
"""In the words of a command that imports the package, and with it what takes seconds; the sandbox alone does not."""


def pytest_configure(config: pytest.Config) -> None:
    """Where tests that start whole processes are left out, none starts one unmarked."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            command = [os.fsdecode(word) for word in arguments[1]]
            if "-I" not in command and OUR_PROCESS.search(" ".join(command)):
                raise AssertionError(f"a test that starts {command[:4]} lacks the mark 'process'")

    if "not process" in config.option.markexpr:
        sys.addaudithook(refuse)


def is_confinement(path: Path) -> bool:
    """Whether tests of this file are about the sandbox itself, not about what is installed or runs in it."""
    return path.parent.name == "sandbox" and path.stem not in PACKAGES


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Collecting makes a million objects and no garbage; looking for some took half of its time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def leave_samples(items: list[pytest.Item]) -> None:
    """Makes the cases of a test marked `sample(n)` exhaustive, but for n of them, evenly spaced."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for same in cases.values():
        mark = same[0].get_closest_marker("sample")
        assert mark is not None
        kept = {place * len(same) // mark.args[0] for place in range(mark.args[0])}
        for place, item in enumerate(same):
            if place not in kept:
                item.add_marker("exhaustive")


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in a hook of its own
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests by their fixtures; those of one engine share two processes, those that import litellm one.

    Tests that need an extra are skipped where it is not installed.
    """
    problems = {extra: find_extra_problem(extra) for extra in EXTRAS}
    leave_samples(items)
    for item in items:
        if hasattr(getattr(item, "module", None), "openai_server"):
            item.add_marker(pytest.mark.extra("models"))
        for extra in {mark.args[0] for mark in item.iter_markers("extra")}:
            if problem := problems[extra]:
                item.add_marker(pytest.mark.skip(reason=f"needs the extra {extra!r}: {problem.reason}"))
        for fixture in NEEDS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(NEEDS[fixture])
        if item.get_closest_marker("embedded_first") and any(map(item.get_closest_marker, BACK_ENDS)):
            item.add_marker("exhaustive")
        group = next((mark for mark in SHARED if item.get_closest_marker(mark)), None)
        if group in BACK_ENDS and is_confinement(item.path):
            group = f"{group}-confinement"
        if not group and not item.get_closest_marker("process"):
            group = "litellm" if hasattr(getattr(item, "module", None), "openai_server") else None
        if group and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(group))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped or (report.passed and report.when == "call"):
        RAN.update((engine, report.outcome) for engine in BACK_ENDS if engine in report.keywords)


@pytest.hookimpl(wrapper=True, trylast=True)  # inside the wrapper that makes the report
def pytest_runtestloop(session: pytest.Session) -> Iterator[object]:
    """Coverage counts the back ends of the engines that are here."""
    ended = yield
    measured = session.config.pluginmanager.getplugin("_cov")
    if measured is not None and (controller := measured.cov_controller) is not None:
        report = controller.combining_cov or controller.cov
        left_out = [
            files for engine, files in BACK_ENDS.items() if RAN[engine, "skipped"] >= RAN[engine, "passed"]
        ]
        report.set_option("report:omit", [*report.get_option("report:omit"), *left_out])
    return ended


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [
        name
        for name in os.environ
        if name.startswith("ALITA_") and name not in ("ALITA_DOCKER_IMAGE", "ALITA_SHARED")
    ]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("XDG_DATA_HOME", "/nowhere")  # the usual home, which may have an alita.toml
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")  # the person's own
    monkeypatch.setenv("ALITA_EMBEDDER", "none")  # tests of search by meaning name another
    monkeypatch.setenv("ALITA_PREPARE", "false")  # a server would prove its starter tools beside each test


@pytest.fixture(autouse=True)
def coverage_of_processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coverage takes half as long again, so it follows only tests with the mark `measured` into their processes."""
    measuring = coverage.Coverage.current()
    if measuring is not None and request.node.get_closest_marker("measured"):
        monkeypatch.setenv("COVERAGE_PROCESS_START", str(measuring.config.config_file))
        monkeypatch.setenv("COVERAGE_FILE", str(request.config.rootpath / ".coverage"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--store",
        choices=("sqlite", "postgres"),
        default="sqlite",
        help="where tests have their library; those of tests/library try both in any case",
    )


@pytest.fixture
def store(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> str:
    chosen: str = pytestconfig.getoption("store")
    if chosen == "postgres" and request.node.get_closest_marker("one_machine"):
        pytest.skip("of one machine's store alone")
    return chosen


@pytest.fixture
def home(tmp_path: Path, store: str, request: pytest.FixtureRequest) -> Path:
    """A home, whose settings name a shared library where the test has one."""
    home = tmp_path / "home"
    if store == "postgres":
        share_library(home, request.getfixturevalue("postgres_url"))
    return home


def share_library(home: Path, url: str) -> None:
    """Makes a home whose library is in PostgreSQL, for all processes that use it."""
    home.mkdir(mode=0o700)
    (home / SETTINGS_FILE).touch(mode=0o600)
    (home / SETTINGS_FILE).write_text(f'library = "{url}"\n', encoding="utf-8")


@contextmanager
def forking(module: str, program: Path) -> Iterator[str]:
    """Where a process forks the program, which has imported the module; a short path, as sockets have it."""
    with tempfile.TemporaryDirectory(prefix="warm-") as folder:
        door = f"{folder}/door"
        command = [sys.executable, "-I", "-X", "utf8", warm_programs.__file__, door, module, str(program)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            yield door
            server.communicate()


@pytest.fixture(scope="session")
def workers_door() -> Iterator[str]:
    """Where worker processes of the embedded sandbox are forked."""
    with forking(WASM_WORKER, WORKER) as door:
        yield door


@pytest.fixture(autouse=sys.platform == "linux")
def warm_workers(workers_door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sandboxes in this process have workers without an import of wasmtime, most of what a start costs."""
    stand_in = [sys.executable, "-I", "-S", warm_programs.__file__, workers_door]
    cold = process.module_command

    def command(module: str, *words: str) -> list[str]:
        return stand_in if module == WASM_WORKER else cold(module, *words)

    monkeypatch.setattr(process, "module_command", command)


@pytest.fixture(autouse=True)
def brief_gates(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer mutants and inputs for tests that are not about the gates: mutation is two thirds of a synthesis."""
    everything = "not exhaustive" not in request.config.option.markexpr
    if everything or request.path.parent.name in WHOLE_GATES or request.path.stem in WHOLE_GATES:
        return
    monkeypatch.setattr(mutants, "MAX_MUTANTS", 12)
    for inputs, count in {"MUTATED": 12, "DICTIONARY": 16, "DRAWN": 12}.items():
        monkeypatch.setattr(other_inputs, inputs, count)


@pytest.fixture(scope="session")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the starter tools, to be copied: that is faster than to publish them for each test."""
    home = tmp_path_factory.mktemp("stocked") / "home"

    async def stock() -> None:
        async with open_library(Settings(home=home)):
            pass

    with ThreadPoolExecutor(1) as elsewhere:  # a loop may be running in this thread
        elsewhere.submit(anyio.run, stock).result(120)
    return home


@pytest.fixture
def settings(home: Path) -> Settings:
    """An answer of `synthesize_tool` is waited for, however slow the machine."""
    return Settings(home=home, limits=FixedLimits(answer_within_s=600))


def skip_or_fail(engine: str, reason: str) -> NoReturn:
    if engine in REQUIRED:
        pytest.fail(f"{engine} is required here, but {reason}", pytrace=False)
    pytest.skip(reason)


def require_isolation(engine: str, sandbox: Sandbox) -> None:
    """Skips (in CI: fails) with what the probe found missing, unless the back end really isolates here."""

    async def probed() -> ProbeReport:
        report = await sandbox.probe()
        await sandbox.aclose()
        return report

    with ThreadPoolExecutor(1) as elsewhere:  # a loop may be running in this thread
        report = elsewhere.submit(anyio.run, probed).result(120)
    failed = "; ".join(f"{probe.name}: {probe.detail}" for probe in report.probes if not probe.passed)
    if not report.isolates:
        skip_or_fail(engine, f"its probe failed: {failed}")


def require_mark(engine: str, config: pytest.Config) -> None:
    """Fails where a tier without this engine met a test that asks for it unmarked."""
    if f"not {engine}" in config.option.markexpr:
        pytest.fail(f"a test that needs {engine} lacks the mark {engine!r}", pytrace=False)


@pytest.fixture(scope="session")
def docker_engine(pytestconfig: pytest.Config) -> None:
    """A Docker engine that isolates and has its base image; pulled here if it can be."""
    require_mark("docker", pytestconfig)
    client = shutil.which("docker")
    if not client or subprocess.run([client, "version"], capture_output=True, check=False).returncode:
        skip_or_fail("docker", "no Docker engine answers")
    settings = Settings()
    have = subprocess.run(
        [str(client), "image", "inspect", settings.docker_image], capture_output=True, check=False
    )
    if have.returncode:
        pull = [str(client), "pull", "--quiet", settings.docker_image]
        subprocess.run(pull, capture_output=True, timeout=600, check=False)
    require_isolation("docker", DockerSandbox(settings))


@pytest.fixture(
    params=["home", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.extra("team")])]
)
def storage(request: pytest.FixtureRequest, home: Path) -> Iterator[Storage]:
    """The storage of one machine, then that of several servers."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    with open_storage(Settings(home=home, library=url)) as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> Iterator[PostgresServer]:
    """A PostgreSQL that the tests of one process share; whoever stops it starts it again."""
    require_mark("postgres", pytestconfig)
    programs = find_programs()
    if programs is None:
        skip_or_fail("postgres", "there is no PostgreSQL (Debian: apt-get install postgresql)")
    with running_postgres(programs) as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of an empty database; of a test before that failed, the server may lie still."""
    postgres_server.start_again()
    url = postgres_server.make_database()
    yield url
    postgres_server.start_again()
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def bubblewrap(pytestconfig: pytest.Config) -> None:
    """A bubblewrap that isolates, cgroup limits included."""
    require_mark("bubblewrap", pytestconfig)
    if not shutil.which("bwrap"):
        skip_or_fail("bubblewrap", "bubblewrap is not installed")
    require_isolation("bubblewrap", BubblewrapSandbox(Settings()))
