"""What an index says of packages: those that can be relied on, and every reason against the others."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme

from alita_mcp.errors import UsageError
from alita_mcp.research.packages import PackageIndex, open_package_index
from alita_mcp.research.values import PackageFacts
from alita_mcp.settings import Settings
from tests.research.json_server import Answer, Reply, Request, json_server

pytestmark = pytest.mark.anyio
NEW = (datetime.now(UTC) - timedelta(days=300)).date().isoformat()


def project(name: str, first: str = NEW, releases: int = 1) -> dict[str, Any]:
    versions = [f"1.{number}" for number in range(releases)]
    files: list[Any] = [
        {
            "filename": f"{name}-{each}.tar.gz",
            "upload-time": f"{first if each == '1.0' else NEW}T10:00:00Z",
        }
        for each in versions
    ]
    return {"meta": {"api-version": "1.1"}, "name": name, "versions": versions, "files": files}


def index(projects: dict[str, Any]) -> Answer:
    """An index of PEP 691 with those projects."""

    def answer(request: Request) -> Reply:
        _, kind, name, *_ = request.path.split("/")
        if kind != "simple" or name not in projects:
            return Reply(b"<h1>not found</h1>", 404, {"content-type": "text/html"})
        return Reply(projects[name])

    return answer


@asynccontextmanager
async def opened(answer: Answer) -> AsyncIterator[PackageIndex]:
    with anyio.fail_after(60), json_server(answer) as (url, _):
        async with open_package_index(Settings(package_index=f"{url}/simple/")) as packages:
            yield packages


async def test_a_package_that_is_there() -> None:
    async with opened(index({"owlery": project("owlery")})) as packages:
        assert await packages.read_facts("Owlery") == PackageFacts(name="owlery", exists=True)


@pytest.mark.parametrize(
    "name", ["", "owl/../../x", "owl ery", "-owl", "öwl", "owl\n", "x" * 200, "owl?x=1", "https://a.org"]
)
async def test_what_is_no_name_is_not_asked_for(name: str) -> None:
    with anyio.fail_after(60), json_server(index({})) as (url, asked):
        async with open_package_index(Settings(package_index=f"{url}/simple")) as packages:
            facts = await packages.read_facts(name)
    assert asked == []
    assert not facts.exists


async def test_a_package_that_is_not_there_names_the_one_that_may_be_meant() -> None:
    async with opened(index({})) as packages:
        mistyped = await packages.read_facts("reqeusts")
        assert mistyped == PackageFacts(name="reqeusts", exists=False, looks_like="requests")
        assert await packages.read_facts("json") == PackageFacts(name="json", exists=False)


@pytest.mark.parametrize(
    ("name", "first", "releases", "looks_like"),
    [
        ("reqeusts", NEW, 1, "requests"),
        ("reqeusts", NEW, 40, "requests"),
        ("reqeusts", "2019-05-01", 2, "requests"),
        ("reqeusts", "2019-05-01", 12, ""),
        ("jeilyfish", "2019-05-01", 12, "jellyfish"),
        ("requests", NEW, 1, ""),
    ],
)
async def test_a_name_that_resembles_a_known_one_is_told_unless_it_is_old_itself(
    name: str, first: str, releases: int, looks_like: str
) -> None:
    async with opened(index({name: project(name, first, releases)})) as packages:
        assert await packages.read_facts(name) == PackageFacts(name=name, exists=True, looks_like=looks_like)


@pytest.mark.parametrize(
    "answer",
    [
        Reply(b"", 500),
        Reply(b"<html>"),
        Reply({"info": 5}),
        Reply({"files": "none"}),
        Reply([1]),
        Reply(b" " * 9_000_000),
    ],
)
async def test_an_index_that_answers_nonsense_is_an_error(answer: Reply) -> None:
    async with opened(lambda request: answer) as packages:
        with pytest.raises(UsageError, match=r"package_index (answered|sent)"):
            await packages.read_facts("owlery")


@pytest.mark.parametrize(
    "files", [[], [7, None, {"filename": 7}, {"upload-time": []}, {"upload-time": "soon"}]]
)
@pytest.mark.parametrize("versions", [None, 7, [None] * 20])
async def test_strange_projects_establish_nothing(files: list[Any], versions: Any) -> None:
    async with opened(index({"reqeusts": {"files": files, "versions": versions}})) as packages:
        assert (await packages.read_facts("reqeusts")).looks_like == "requests"


async def test_an_index_whose_authority_the_environment_names_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    answer = index({"owlery": project("owlery")})
    with anyio.fail_after(60), json_server(answer, https(authority)) as (url, _):
        settings = Settings(package_index=f"{url}/simple")
        async with open_package_index(settings) as packages:
            with pytest.raises(UsageError, match="did not answer: ConnectError"):
                await packages.read_facts("owlery")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        async with open_package_index(settings) as packages:
            assert (await packages.read_facts("owlery")).exists


def https(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context
