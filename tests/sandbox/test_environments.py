"""Packages become locks and environments, or the error that says what is wrong with which of them."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import PackagesRejected, SandboxError, SandboxRefused, UsageError
from alita_mcp.sandbox.packages.environments import EnvironmentBuilder
from alita_mcp.sandbox.packages.lockfile import environment_digest, read_lock, read_requirements
from alita_mcp.sandbox.packages.package_index import package_index
from alita_mcp.settings import Settings
from alita_mcp.values import Lock
from tests.sandbox.package_index import Index, sdist, wheel
from tests.sandbox.trusting_back_end import TrustingBackEnd
from tests.tables import each_case

pytestmark = [pytest.mark.measured, pytest.mark.process]

HASH = "0" * 64


@pytest.fixture
def back_end(tmp_path: Path) -> TrustingBackEnd:
    return TrustingBackEnd(tmp_path / "builds")


@pytest.fixture
def builder(back_end: TrustingBackEnd, at_index: Settings) -> EnvironmentBuilder:
    return EnvironmentBuilder(back_end, at_index)


class Told:
    """Keeps the lines of progress."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def __call__(self, line: str) -> None:
        self.lines.append(line)


async def resolve(builder: EnvironmentBuilder, *packages: str) -> Lock:
    with anyio.fail_after(120):
        return await builder.resolve(packages, Told())


async def test_a_package_and_its_dependency_are_locked_and_installed(
    builder: EnvironmentBuilder, index: Index, back_end: TrustingBackEnd, settings: Settings
) -> None:
    greeting = index.add(*wheel("Greeting", "1.2", {"greeting.py": "def hi(): return 'hi'\n"}))
    index.add(*wheel("greeting", "0.9", {"greeting.py": ""}))
    polite = index.add(
        *wheel("polite_words", "2.0", {"polite/__init__.py": "x = 1\n"}, requires=("greeting>=1",))
    )
    told = Told()
    with anyio.fail_after(120):
        lock = await builder.resolve(("polite-words >= 1",), told)
        environment = await builder.prepare(lock, told)
        again = await builder.prepare(lock, told)

    assert lock.requirements == (
        f"greeting==1.2 --hash=sha256:{greeting}",
        f"polite-words==2.0 --hash=sha256:{polite}",
    )
    assert lock.python == back_end.python
    assert environment == again
    home_id = (settings.home / "environments" / ".uses" / "id").read_text()
    assert environment.digest == environment_digest(lock, "trusting", home_id)
    assert told.lines[0] == "resolving polite-words>=1"
    assert {"resolving greeting", "installing 2 packages", "fetching Greeting", "compiling modules"} <= {
        *told.lines
    }
    assert [request["task"] for request in back_end.builds] == ["resolve", "install"]
    assert back_end.hosts == {f"127.0.0.1:{index.port}"}
    with tarfile.open(fileobj=io.BytesIO(back_end.environments[environment.digest])) as archive:
        members = {member.name: member for member in archive}
    assert {"greeting.py", "polite/__init__.py"} <= members.keys()
    assert any(name.startswith("polite/__pycache__/") for name in members)
    assert {(entry.uid, entry.gid, entry.mtime, entry.uname) for entry in members.values()} == {(0, 0, 0, "")}


async def test_the_same_packages_give_the_same_bytes(
    builder: EnvironmentBuilder, index: Index, back_end: TrustingBackEnd, at_index: Settings
) -> None:
    index.add(*wheel("steady", "1", {"steady/__init__.py": "x = {'a', 'b'}\n", "steady/data.txt": "é"}))
    lock = await resolve(builder, "steady")
    with anyio.fail_after(120):
        digest = (await builder.prepare(lock, Told())).digest
        first = back_end.environments.pop(digest)
        await EnvironmentBuilder(back_end, at_index).prepare(lock, Told())

    assert back_end.environments[digest] == first


@pytest.mark.parametrize(
    ("packages", "told"),
    [
        (("absent",), "absent cannot be resolved: absent was not found"),
        (("only-source",), "only-source==1.0 has no usable wheels"),
        (("good>=7",), "good>=7 cannot be resolved: .*you require good>=7"),
        (("newer",), "newer cannot be resolved: .*Python ?>=3.99"),
        (("liar",), "liar==1 has an invalid package format"),
        (("needs-absent",), "absent was not found in the package registry and .*needs-absent.* depend"),
        (
            ("wants-one", "wants-two"),
            "wants-one, wants-two cannot be resolved: .*wants-two depend on good>=2",
        ),
        (("broken",), "broken"),
        (("escapes",), "escapes"),
    ],
)
@pytest.mark.sample(4)
async def test_what_is_wrong_with_which_package_is_told(
    builder: EnvironmentBuilder, index: Index, tmp_path: Path, packages: tuple[str, ...], told: str
) -> None:
    marker = tmp_path / "ran"
    index.add(*sdist("only_source", "1.0", f"open({str(marker)!r}, 'w')\n"))
    index.add(*wheel("good", "1", {}))
    index.add(*wheel("good", "2", {}))
    index.add(*wheel("needs_absent", "1", {}, requires=("absent",)))
    index.add(*wheel("wants_one", "1", {}, requires=("good<2",)))
    index.add(*wheel("wants_two", "1", {}, requires=("good>=2",)))
    index.add(*wheel("newer", "1", {}, requires_python=">=3.99"))
    index.add("liar-1-py3-none-any.whl", wheel("truth", "1", {})[1])
    index.add("broken-1-py3-none-any.whl", b"no zip at all")
    index.add(*wheel("escapes", "1", {"../../escaped.py": "x = 1"}))

    with pytest.raises(PackagesRejected, match=told), anyio.fail_after(120):
        await builder.prepare(await builder.resolve(packages, Told()), Told())
    assert not marker.exists()
    assert not [path async for path in anyio.Path(tmp_path).rglob("escaped.py")]


async def test_a_package_without_a_sha256_hash_cannot_be_locked(
    builder: EnvironmentBuilder, index: Index
) -> None:
    index.hash_name = "md5"
    filename, content = wheel("weak", "1", {})
    index.hashes[filename] = hashlib.md5(content).hexdigest()
    index.add(filename, content)

    with pytest.raises(PackagesRejected, match="no SHA-256 hash of weak"):
        await resolve(builder, "weak")


@pytest.mark.parametrize("status", [500, 403])
async def test_an_index_that_fails_is_not_the_packages_fault(
    builder: EnvironmentBuilder, index: Index, status: int
) -> None:
    index.status = status
    with pytest.raises(SandboxError, match=f"index could not be reached: .*{status}") as failed:
        await resolve(builder, "anything")
    assert "127.0.0.1" not in failed.value.message


@each_case(
    "package",
    [
        "",
        " ",
        "-e .",
        "--index-url=https://example.org",
        "-r /etc/passwd",
        "./wheels/x.whl",
        "/tmp/x.whl",
        "https://example.org/x.whl",
        "git+https://example.org/x.git",
        "x @ https://example.org/x.whl",
        "x @ file:///etc/passwd",
        "numpy\n--extra-index-url https://example.org",
        "numpy; import os",
        "numpy --hash=sha256:00",
        "nümpy",
        "x" * 201,
    ],
)
def test_what_is_no_plain_requirement_is_refused_by_name(package: str) -> None:
    with pytest.raises(PackagesRejected) as refused:
        read_requirements(["fine", package])
    assert repr(package)[:20] in refused.value.message


@given(st.text(max_size=60))
def test_no_text_becomes_an_option_or_a_second_line(text: str) -> None:
    try:
        requirements = read_requirements([text])
    except PackagesRejected:
        return
    assert len(requirements) == 1
    assert requirements[0][0].isalnum()
    assert "\n" not in requirements[0]
    assert "@" not in requirements[0]


@each_case(
    "line",
    [
        "numpy",
        "numpy==1",
        f"numpy==1 --hash=sha256:{HASH} --index-url=x",
        f"-e x==1 --hash=sha256:{HASH}",
        f"numpy==1 --hash=md5:{HASH}",
        f"numpy==1\n--hash=sha256:{HASH}",
        f"numpy @ https://example.org --hash=sha256:{HASH}",
    ],
)
def test_a_lock_with_a_strange_line_is_refused(line: str) -> None:
    with pytest.raises(PackagesRejected, match="not a valid lock line"):
        read_lock(Lock(requirements=(line,)))


async def test_a_lock_for_another_python_is_refused(builder: EnvironmentBuilder) -> None:
    with pytest.raises(SandboxRefused, match="cp27-elsewhere"):
        await builder.prepare(Lock(python="cp27-elsewhere"), Told())


async def test_an_interrupted_build_leaves_nothing_and_the_next_builds(
    builder: EnvironmentBuilder, back_end: TrustingBackEnd
) -> None:
    back_end.hold, back_end.result = anyio.Event(), b'{"status": 0}\ntar'
    lock = Lock(requirements=(f"a==1 --hash=sha256:{HASH}",), python=back_end.python)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(builder.prepare, lock, Told())
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert back_end.built == {}
        back_end.hold.set()
        environment = await builder.prepare(lock, Told())
    assert back_end.built == {environment.digest: b"tar"}


@pytest.mark.parametrize(
    "result",
    [
        b"",
        b"[]\n",
        b'{"status": 0, "requirements": 7}\n',
        b'{"status": 0, "extra": 7}\n',
        json.dumps({"status": 0, "requirements": [f"a; rm==1 --hash=sha256:{HASH}"]}).encode(),
        json.dumps({"status": 0, "requirements": ["a==1 --hash=sha256:x"]}).encode(),
        json.dumps({"status": 0, "requirements": ["a==1"]}).encode(),
        json.dumps(
            {"status": 0, "requirements": [f"a{n}==1 --hash=sha256:{HASH}" for n in range(301)]}
        ).encode(),
    ],
)
async def test_a_builders_result_is_not_trusted(
    builder: EnvironmentBuilder, back_end: TrustingBackEnd, result: bytes
) -> None:
    back_end.result = result
    with pytest.raises(SandboxError, match="invalid answer"):
        await resolve(builder, "a")


@each_case("url", ["packages", "ftp://packages.example.org", "https://", "https://h:port/", "file:///x"])
def test_what_is_no_index_url_is_the_persons_mistake(settings: Settings, url: str) -> None:
    with pytest.raises(UsageError, match="ALITA_PACKAGE_INDEX"):
        package_index(settings.model_copy(update={"package_index": url}))
