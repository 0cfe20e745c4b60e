"""Packages that attack are refused or do no harm, through the real builder of each back end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest

from alita_mcp.errors import PackagesRejected, SandboxError
from alita_mcp.sandbox.interface import Job
from alita_mcp.sandbox.packages.environments import EnvironmentBuilder
from alita_mcp.settings import Settings
from tests.sandbox.environment_homes import InBubblewrap, InDocker, InWasm, Packaging, builder_of, silent
from tests.sandbox.hostile_packages import HOSTILE_PACKAGES, LOOK, SAMPLE, SLOW, HostilePackage
from tests.sandbox.package_index import Index, serving, wheel

pytestmark = pytest.mark.no_cover

WAIT_SECONDS = 300


def each_of(packages: Iterable[HostilePackage]) -> pytest.MarkDecorator:
    """Parametrizes a test by packages; `make test-all` alone runs those that are slow everywhere."""
    marks = dict.fromkeys(SLOW, pytest.mark.exhaustive)
    return pytest.mark.parametrize(
        "hostile", [pytest.param(it, id=it.name, marks=marks.get(it.name, ())) for it in packages]
    )


async def harm_nobody(hostile: HostilePackage, sandbox: Packaging, index: Index) -> None:
    hostile.offer(index)
    with anyio.fail_after(WAIT_SECONDS):
        if hostile.rejected:
            with pytest.raises(PackagesRejected) as rejected:
                await sandbox.prepare(await sandbox.resolve((hostile.package,), silent), silent)
            assert hostile.rejected in rejected.value.message
        else:
            environment = await sandbox.prepare(await sandbox.resolve((hostile.package,), silent), silent)
            job = Job(code=LOOK, function="look", arguments={}, environment=environment)
            found = (await sandbox.run(job)).value
            assert (found["ran"], found["shadowed"], found["links"]) == ([], [], []), found
            assert set(found["files"]) == set(hostile.files)
            assert "alita-packages" not in found["python"]
    assert not any([await anyio.Path(path).exists() for path in ("/tmp/climbed.py", "/tmp/absolute_ran.py")])


class HostileIndexes:
    """Subclasses give the fixtures `sandbox` and `shared_home`: one uv for all of these tests."""

    @pytest.fixture
    def settings(self, shared_home: Path, index: Index) -> Settings:
        return Settings(home=shared_home, package_index=index.url)

    @pytest.fixture
    def hasty(self, sandbox: Packaging, settings: Settings) -> EnvironmentBuilder:
        """Gives up on a silent index after a second."""
        return builder_of(sandbox, settings, fetch_seconds=1)

    async def test_a_file_whose_content_changes_after_the_lock_is_not_installed(
        self, sandbox: Packaging, index: Index
    ) -> None:
        name, content = wheel("swapped", "1", {"swapped.py": "x = 1"})
        index.add(name, content)
        with anyio.fail_after(WAIT_SECONDS):
            lock = await sandbox.resolve(("swapped",), silent)
            index.files[name] = wheel("swapped", "1", {"swapped.py": "x = 2"})[1]
            for told in (index.hashes[name], hashlib.sha256(index.files[name]).hexdigest()):
                index.hashes[name] = told  # the index may tell the old hash or the new one
                with pytest.raises(PackagesRejected, match="does not have the hash of the lock"):
                    await sandbox.prepare(lock, silent)

    async def test_an_index_that_redirects_elsewhere_leads_nowhere(
        self, sandbox: Packaging, index: Index, hasty: EnvironmentBuilder
    ) -> None:
        name, content = wheel("moved", "1", {"moved.py": "x = 1\n"})
        index.add(name, content)
        with serving() as elsewhere, anyio.fail_after(WAIT_SECONDS):
            elsewhere.add(name, content)
            other = urlsplit(elsewhere.url).netloc
            index.redirects[f"/files/{name}"] = f"http://{other}/files/{name}"
            with pytest.raises(SandboxError, match="index could not be reached"):
                await hasty.prepare(await hasty.resolve(("moved",), silent), silent)
            index.redirects = {"/simple/moved/": f"http://{other}/simple/moved/"}
            with pytest.raises(SandboxError, match="index could not be reached"):
                await hasty.resolve(("moved",), silent)
            assert elsewhere.requests == []


class MoreHostileIndexes(HostileIndexes):
    """What the builder itself decides, in whatever it runs."""

    async def test_a_name_in_another_spelling_is_the_same_package(
        self, sandbox: Packaging, index: Index
    ) -> None:
        index.add(*wheel("Odd_Name", "1", {"odd.py": "x = 1\n"}))
        with anyio.fail_after(WAIT_SECONDS):
            locks = [await sandbox.resolve((name,), silent) for name in ("odd-name", "ODD.name", "Odd__Name")]
        assert locks[0] == locks[1] == locks[2]
        assert locks[0].requirements[0].startswith("odd-name==1 --hash=sha256:")

    async def test_a_page_that_links_to_another_host_leads_nowhere(
        self, sandbox: Packaging, index: Index, hasty: EnvironmentBuilder
    ) -> None:
        name, content = wheel("linked", "1", {"linked.py": "x = 1\n"})
        index.add(name, content)
        with serving() as elsewhere, anyio.fail_after(WAIT_SECONDS):
            elsewhere.add(name, content)
            index.files_at = f"http://{urlsplit(elsewhere.url).netloc}"
            with pytest.raises(SandboxError, match="index could not be reached"):
                await hasty.prepare(await hasty.resolve(("linked",), silent), silent)
            assert elsewhere.requests == []

    @pytest.mark.exhaustive
    async def test_a_download_that_is_cut_short_is_the_indexs_fault(
        self, sandbox: Packaging, index: Index, hasty: EnvironmentBuilder
    ) -> None:
        name, content = wheel("cut", "1", {"cut.py": "x = 1\n" * 10_000})
        index.add(name, content)
        with anyio.fail_after(WAIT_SECONDS):
            lock = await hasty.resolve(("cut",), silent)
            index.cut = frozenset({f"/files/{name}"})
            with pytest.raises(SandboxError, match="index could not be reached"):
                await hasty.prepare(lock, silent)
            index.cut = frozenset()
            await hasty.prepare(lock, silent)

    async def test_an_index_that_stays_silent_is_given_up(
        self, sandbox: Packaging, index: Index, hasty: EnvironmentBuilder
    ) -> None:
        index.add(*wheel("slow", "1", {"slow.py": "x = 1\n"}))
        index.silent = frozenset({"/simple/slow/"})
        with anyio.fail_after(WAIT_SECONDS), pytest.raises(SandboxError, match="index could not be reached"):
            await hasty.resolve(("slow",), silent)


class EachPackage(MoreHostileIndexes):
    @each_of(HOSTILE_PACKAGES)
    async def test_a_package_that_attacks_harms_nobody(
        self, sandbox: Packaging, index: Index, hostile: HostilePackage
    ) -> None:
        await harm_nobody(hostile, sandbox, index)


@pytest.mark.exhaustive
@pytest.mark.docker
class TestHostilePackagesInDocker(InDocker, EachPackage):
    """Through containers and volumes."""


@pytest.mark.exhaustive
@pytest.mark.bubblewrap
class TestEachHostilePackageInBubblewrap(InBubblewrap, EachPackage):
    """Through namespaces and folders."""


@pytest.mark.bubblewrap
class TestHostilePackagesInBubblewrap(InBubblewrap, HostileIndexes):
    """Through namespaces and folders."""

    @each_of(it for it in HOSTILE_PACKAGES if it.name in SAMPLE)
    async def test_a_package_that_attacks_harms_nobody(
        self, sandbox: Packaging, index: Index, hostile: HostilePackage
    ) -> None:
        await harm_nobody(hostile, sandbox, index)


@pytest.mark.slow
class TestHostilePackagesInWasm(InWasm, EachPackage):
    """Through this machine's uv and archives."""
