"""What an index says of packages: those that can be relied on, and every reason against the others."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme

from alita_mcp.errors import UsageError
from alita_mcp.research.http_client import open_http_client
from alita_mcp.research.packages import PackageIndex, index_endpoint, open_package_index
from alita_mcp.research.values import PackageFacts
from alita_mcp.settings import Settings
from tests.research.json_server import Answer, Reply, Request, json_server

pytestmark = pytest.mark.anyio
TODAY = date(2026, 6, 1)
Releases = dict[str, list[dict[str, Any]]]


def wheel(version: str, day: str = "2026-02-03", tags: str = "py3-none-any", **more: Any) -> dict[str, Any]:
    return {
        "filename": f"owlery-{version}-{tags}.whl",
        "upload_time_iso_8601": f"{day}T10:00:00.0Z",
        "yanked": False,
        "requires_python": ">=3.9",
        **more,
    }


def source(version: str, day: str = "2026-02-03", **more: Any) -> dict[str, Any]:
    return wheel(version, day, **more) | {"filename": f"owlery-{version}.tar.gz"}


def told(releases: Releases, name: str = "Owlery", vulnerabilities: Any = (), **info: Any) -> Any:
    return {
        "info": {
            "name": name,
            "version": "0",
            "summary": "Owls in order",
            "license": "",
            "classifiers": [],
            **info,
        },
        "releases": releases,
        "vulnerabilities": list(vulnerabilities),
    }


def index(projects: dict[str, Any], simple: dict[str, Any] | None = None) -> Answer:
    """An index with those projects in its own JSON, and by PEP 691 with their files, or with `simple` alone."""

    def answer(request: Request) -> Reply:
        _, kind, name, *_ = request.path.split("/")
        known = projects if kind == "pypi" or simple is None else simple
        if name not in known:
            return Reply(b"<h1>not found</h1>", 404, {"content-type": "text/html"})
        found = known[name]
        if kind == "simple" and simple is None and not isinstance(found, Reply):
            rows = [file for files in found.get("releases", {}).values() for file in files]
            dated = [
                {**row, "upload-time": row["upload_time_iso_8601"]} if isinstance(row, dict) else row
                for row in rows
            ]
            return Reply({"name": name, "files": dated})
        return found if isinstance(found, Reply) else Reply(found)

    return answer


@asynccontextmanager
async def opened(answer: Answer) -> AsyncIterator[PackageIndex]:
    with anyio.fail_after(60), json_server(answer) as (url, _):
        at = index_endpoint(Settings(package_index=f"{url}/simple/"))
        async with open_http_client([at.host_port]) as client:
            yield PackageIndex(client, at, has_pages=False, now=lambda: TODAY)


async def facts_of(releases: Releases, **more: Any) -> PackageFacts:
    async with opened(index({"owlery": told(releases, **more)})) as packages:
        return await packages.read_facts("owlery")


async def test_a_package_without_reasons_against_it() -> None:
    releases = {
        "1.0": [wheel("1.0", "2024-01-01")],
        "1.10": [wheel("1.10"), source("1.10", "2026-02-02")],
        "1.9": [wheel("1.9", "2025-01-01")],
        "2.0rc1": [wheel("2.0rc1", "2026-05-01")],
        "no-version!": [wheel("no-version!")],
    }
    async with opened(index({"owlery": told(releases, license_expression="MIT")})) as packages:
        facts = await packages.read_facts("Owlery")
    assert facts.url.endswith("/simple/owlery/")
    assert facts.model_copy(update={"url": ""}) == PackageFacts(
        name="owlery", exists=True, version="1.10", released_at="2026-02-02", licence="MIT", summary="Owls in order",
        has_wheel=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("info", "licence"),
    [
        ({"license_expression": "Apache-2.0", "license": "x"}, "Apache-2.0"),
        ({"classifiers": ["License :: OSI Approved :: MIT License", 7]}, "MIT License"),
        ({"license": "BSD\n\nCopyright " + "x" * 500}, None),
        ({"license": None}, ""),
        ({"license": {"text": "MIT"}}, ""),
    ],
)
async def test_the_licence_is_taken_from_where_it_stands(info: dict[str, Any], licence: str | None) -> None:
    facts = await facts_of({"1.0": [wheel("1.0")]}, **info)
    assert facts.licence == licence if licence is not None else len(facts.licence) <= 60
    assert "\n" not in facts.licence


@pytest.mark.parametrize(
    ("releases", "version", "problems"),
    [
        ({"1.0": [wheel("1.0")], "1.1": [wheel("1.1", yanked=True, yanked_reason="broken")]}, "1.0", ""),
        ({"1.0": [wheel("1.0", yanked=True)]}, "1.0", "Its authors withdrew (yanked) version 1.0."),
        (
            {"1.0b1": [wheel("1.0b1")], "1.0b2": [wheel("1.0b2")]},
            "",
            "It has only pre-releases, up to 1.0b2.",
        ),
        ({"1.0": []}, "", "It has no files."),
        (
            {"1.0": [wheel("1.0", "2022-05-01")]},
            "1.0",
            "Its last release was on 2022-05-01, more than four years ago.",
        ),
        ({"1.0": [wheel("1.0", "2022-07-01")]}, "1.0", ""),
        (
            {
                "2.0": [wheel("2.0", requires_python=">=3.14")],
                "1.0": [wheel("1.0", requires_python="~=nonsense")],
                "0.9": [wheel("0.9", yanked=True)],
                "0.8": [wheel("0.8", requires_python=None)],
            },
            "2.0",
            "Version 2.0 has no wheel for the sandbox's Python 3.13; 0.8 has one.",
        ),
        (
            {"1.0": [source("1.0")]},
            "1.0",
            "Version 1.0 has no wheel for the sandbox's Python 3.13, nor has an older one.",
        ),
    ],
)
async def test_every_reason_against_a_package_is_told(
    releases: Releases, version: str, problems: str
) -> None:
    facts = await facts_of(releases)
    assert (facts.exists, facts.version, " ".join(facts.problems)) == (True, version, problems)
    assert facts.is_yanked is ("withdrew" in problems)


async def test_what_the_index_says_against_a_package_is_told() -> None:
    known = [{"id": "PYSEC-2026-1"}, {"id": "GHSA-x", "withdrawn": "2026-01-01"}, "nonsense"]
    facts = await facts_of(
        {"1.0": [wheel("1.0")]}, vulnerabilities=known, classifiers=["Development Status :: 7 - Inactive"]
    )
    assert facts.problems == (
        "Its newest release has known vulnerabilities: PYSEC-2026-1.",
        "Its authors call it inactive.",
    )


async def test_wheels_fit_the_sandbox_or_do_not() -> None:
    native = wheel("1.0", tags="cp313-cp313-manylinux_2_17_x86_64")
    async with opened(index({"owlery": told({"1.0": [native]})})) as packages:
        assert (await packages.read_facts("owlery", "cp313-linux_x86_64")).has_wheel
        embedded = await packages.read_facts("owlery", "cp313-wasi_wasm32")
    assert not embedded.has_wheel
    assert "has no wheel" in embedded.problems[0]


@pytest.mark.parametrize(
    "name", ["", "owl/../../x", "owl ery", "-owl", "öwl", "owl\n", "x" * 200, "owl?x=1", "https://a.org"]
)
async def test_what_is_no_name_is_not_asked_for(name: str) -> None:
    with anyio.fail_after(60), json_server(index({})) as (url, asked):
        async with open_package_index(Settings(package_index=f"{url}/simple")) as packages:
            facts = await packages.read_facts(name)
    assert asked == []
    assert not facts.exists
    assert "is not a package name" in facts.problems[0]


async def test_a_package_that_is_not_there_names_the_one_that_may_be_meant() -> None:
    async with opened(index({})) as packages:
        assert (await packages.read_facts("reqeusts")).problems == (
            "The index has no package 'reqeusts'. Did you mean 'requests'?",
        )
        assert (await packages.read_facts("json")).problems == (
            "'json' is a module of Python's standard library; it needs no package.",
            "The index has no package 'json'.",
        )


def imitation(name: str, first: str, releases: int) -> dict[str, Any]:
    files = {
        f"1.{number}": [wheel(f"1.{number}", first if not number else "2026-05-01")]
        for number in range(releases)
    }
    return {name: told(files, name=name)}


@pytest.mark.parametrize(
    ("name", "first", "releases", "looks_like"),
    [
        ("reqeusts", "2026-05-01", 1, "requests"),
        ("reqeusts", "2026-05-01", 40, "requests"),
        ("reqeusts", "2019-05-01", 2, "requests"),
        ("reqeusts", "2019-05-01", 12, ""),
        ("jeilyfish", "2019-05-01", 12, "jellyfish"),
        ("requests", "2026-05-01", 1, ""),
    ],
)
async def test_a_name_that_resembles_a_known_one_is_told_unless_it_is_old_itself(
    name: str, first: str, releases: int, looks_like: str
) -> None:
    async with opened(index(imitation(name, first, releases))) as packages:
        facts = await packages.read_facts(name)
    assert facts.looks_like == looks_like
    assert any("resembles" in problem for problem in facts.problems) is bool(looks_like)


SIMPLE = {
    "meta": {"api-version": "1.4"},
    "name": "owlery",
    "files": [
        {
            "filename": "owlery-1.0-py3-none-any.whl",
            "upload-time": "2026-01-02T00:00:00Z",
            "requires-python": ">=3.9",
        },
        {"filename": "owlery-1.1.tar.gz", "upload-time": "2026-02-02T00:00:00Z", "yanked": "it was broken"},
        {"filename": "owlery-1.1-setup.exe"},
        {"filename": None},
        "nonsense",
    ],
}


async def test_an_index_with_the_simple_interface_alone_is_read() -> None:
    async with opened(index({}, {"owlery": SIMPLE | {"project-status": {"status": "archived"}}})) as packages:
        facts = await packages.read_facts("owlery")
    assert (facts.exists, facts.version, facts.released_at) == (True, "1.0", "2026-01-02")
    assert facts.has_wheel
    assert facts.problems == ("The index calls it archived.",)


async def test_files_that_the_own_json_leaves_out_are_read_by_the_simple_interface() -> None:
    newest = {**told({}, license_expression="MIT"), "urls": [source("1.2")]}
    newest["info"]["version"] = "1.2"
    async with opened(index({"owlery": newest}, {"owlery": SIMPLE})) as packages:
        facts = await packages.read_facts("owlery")
    assert (facts.version, facts.licence, facts.has_wheel) == ("1.0", "MIT", True)
    for simple in ({}, {"owlery": Reply(b"", 500)}, {"owlery": {"files": []}}):
        async with opened(index({"owlery": newest}, simple)) as packages:
            assert (await packages.read_facts("owlery")).version == "1.2"


@pytest.mark.parametrize(
    "answer",
    [
        Reply(b"", 500),
        Reply(b"<html>"),
        Reply({"info": 5}),
        Reply({"files": "none"}),
        Reply([1]),
        Reply(b" " * 9_000_000),
        Reply(told({"1.0": []}, name="another-package")),
    ],
)
async def test_an_index_that_answers_nonsense_is_an_error(answer: Reply) -> None:
    async with opened(lambda request: answer) as packages:
        with pytest.raises(UsageError, match=r"package_index (answered|sent)"):
            await packages.read_facts("owlery")


@pytest.mark.parametrize(
    "project",
    [
        told({"1.0": "none", "2.0": [7, None, {"filename": 7}]}),  # type: ignore[dict-item, list-item]
        {"info": {"name": "owlery", "version": None, "classifiers": 5, "project_urls": 7}, "urls": {}},
        told({"9" * 5_000: [wheel("1.0")]}),
        told({"1.0": [wheel("1.0", yanked="yes", requires_python=7, upload_time_iso_8601=[])]}),
    ],
)
async def test_strange_projects_have_facts_all_the_same(project: Any) -> None:
    async with opened(index({"owlery": project})) as packages:
        assert (await packages.read_facts("owlery")).exists


async def test_an_index_whose_authority_the_environment_names_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    answer = index({"owlery": told({"1.0": [wheel("1.0")]})})
    with anyio.fail_after(60), json_server(answer, https(authority)) as (url, _):
        settings = Settings(package_index=f"{url}/simple")
        async with open_package_index(settings) as packages:
            with pytest.raises(UsageError, match="did not answer: ConnectError"):
                await packages.read_facts("owlery")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        async with open_package_index(settings) as packages:
            assert (await packages.read_facts("owlery")).version == "1.0"


def https(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


async def test_the_default_index_has_pages_for_people() -> None:
    with anyio.fail_after(60), json_server(index({"owlery": told({"1.0": [wheel("1.0")]})})) as (url, asked):
        at = index_endpoint(Settings(package_index=f"{url}/simple"))
        async with open_http_client([at.host_port]) as client:
            packages = PackageIndex(client, at, has_pages=True)
            assert (await packages.read_facts("owlery")).url == f"{url}/project/owlery/"
            assert not (await packages.read_facts("none-such")).exists
    assert [request.path for request in asked] == [
        "/pypi/owlery/json",
        "/simple/owlery/",
        "/pypi/none-such/json",
    ]
