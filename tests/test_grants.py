"""Grants: hostile files first, then what a person granted, to which version, and until when."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.app.broker_factory import BrokerFactory
from alita_mcp.app.secrets_file import SecretsFile
from alita_mcp.errors import InvalidArguments, LibraryError, SandboxError, ToolUnavailable, UsageError
from alita_mcp.library.grants.effective_grants import how_to_grant, in_force, in_words, missing
from alita_mcp.library.grants.grants_file import MAX_BYTES, GrantsFile, read_grants_file
from alita_mcp.library.grants.hosts import covers
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.library.promotion import Promotion
from alita_mcp.library.versions.files import manifest_of
from alita_mcp.models.interface import LanguageModel
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.owners import ClientIdentity
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, StoredVersion
from alita_mcp.verification.rehearsal.origin import _FIXED, FILES
from tests.library.factory import no_starters, simple
from tests.tables import each_case

ROOT = Path(__file__).resolve().parents[1]

WIDE = Grants(
    network=("api.example.org",), workspace="read", model=True, tools=("slugify",), secrets=("token",)
)
WAIT_S = 60


def write_json(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def listed(library: Library) -> set[str]:
    return {entry.name for entry in Promotion(20).choose(library.tools.entries())}


# --- the grants file, as strangers and the tired write it


@pytest.mark.parametrize(
    ("document", "field", "said"),
    [
        ({"*": {}}, "'*'", "everybody"),
        ({"fetch": {"network": ["*"]}}, "network", "every host"),
        ({"fetch": {"network": ["*.org"]}}, "network", "different owners"),
        ({"fetch": {"network": ["*.co.uk"]}}, "network", "different owners"),
        ({"fetch": {"network": ["https://api.example.org"]}}, "network", "not a host"),
        ({"fetch": {"network": ["api.example.org/path"]}}, "network", "not a host"),
        ({"fetch": {"network": ["user@api.example.org"]}}, "network", "not a host"),
        ({"fetch": {"network": ["127.0.0.1"]}}, "network", "not a host"),
        ({"fetch": {"network": ["2130706433"]}}, "network", "not a host"),
        ({"fetch": {"network": ["0x7f.0x1"]}}, "network", "not a host"),
        ({"fetch": {"network": ["[::1]"]}}, "network", "not a host"),
        ({"fetch": {"network": ["api.*.example.org"]}}, "network", "not a host"),
        ({"fetch": {"network": [""]}}, "network", "not a host"),
        ({"fetch": {"network": "api.example.org"}}, "network", "array"),
        ({"fetch": {"network": [f"h{n}.example.org" for n in range(31)]}}, "network", "at most 30"),
        ({"fetch": {"tools": ["*"]}}, "tools", "no tool's name"),
        ({"fetch": {"secrets": ["*"]}}, "secrets", "no secret's name"),
        ({"fetch": {"model": "yes"}}, "model", "boolean"),
        ({"fetch": {"model": 1}}, "model", "boolean"),
        ({"fetch": {"workspace": "admin"}}, "workspace", "'none', 'read' or 'write'"),
        ({"fetch": {"digest": "sha256:abc"}}, "digest", "pattern"),
        ({"fetch": {"any_version": True, "digest": f"sha256:{64 * '0'}"}}, "fetch", "not for both"),
        ({"fetch": {"shell": True}}, "shell", "not permitted"),
        ({"fetch": None}, "fetch", "object"),
        ({"Fetch!": {}}, "Fetch!", "no tool's name"),
        ([], "list", "object of tools"),
    ],
)
def test_a_grants_file_that_does_not_fit_is_refused_naming_file_tool_and_field(
    tmp_path: Path, document: Any, field: str, said: str
) -> None:
    path = write_json(tmp_path / "grants.json", document)
    with pytest.raises(UsageError) as caught:
        read_grants_file(path)
    assert str(path) in caught.value.message
    assert field in caught.value.message
    assert said in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"fetch": {}, "fetch": {"model": true}}', "stands twice"),
        (b'{"fetch": {"model": false, "model": true}}', "stands twice"),
        (b" " * (MAX_BYTES + 1), "larger than"),
    ],
)
def test_a_grants_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "grants.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said):
        GrantsFile(path)


async def test_a_server_does_not_start_with_a_grants_file_that_is_missing_or_does_not_fit(
    home: Path, tmp_path: Path
) -> None:
    for path in (tmp_path / "nowhere.json", tmp_path, write_json(tmp_path / "grants.json", {"*": {}})):
        with pytest.raises(UsageError, match="grants file"):
            async with open_library(Settings(home=home, grants_file=path), starters=no_starters):
                raise AssertionError("it opened")


# --- the secrets file


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o644, 0o660, 0o666, 0o610, 0o777])
def test_secrets_that_others_can_use_are_refused(tmp_path: Path, mode: int) -> None:
    path = write_json(tmp_path / "secrets.json", {"token": "hunter2-hunter2"})
    path.chmod(mode)
    with pytest.raises(UsageError, match=f"others can access it .mode {mode:o}") as caught:
        SecretsFile(path)
    assert "chmod 600" in caught.value.hint


@each_case(
    "content, words",
    [
        (b"hunter2-hunter2", "line 1 is not JSON"),
        (b'{"token": "hunter2-hunter2"', "line 1 is not JSON"),
        (b'{"a": "hunter2-hunter2",\n"b" "hunter2-hunter2"}', "line 2 is not JSON"),
        (b"A=hunter2-hunter2\r\nA=hunter2-other\r\n", "lines such as NAME=value are not read"),
        ("\ufeff{}".encode("utf-16-le"), "not UTF-8 text"),
        (
            b'{"a": "hunter2-hunter2",\n "b": "x-and-longer",\n "a": "hunter2-other"}',
            "'a' 2 times (lines 1, 3)",
        ),
        (b'\xef\xbb\xbf{\r\n"a": "hunter2-hunter2",\r\n"a" : "hunter2-hunter2"\r\n}', "(lines 2, 3)"),
        (b'{"token": ["hunter2-hunter2"]}', ""),
        (b'{"token": ""}', ""),
        (b'{"token": "abc"}', ""),
        (b'{"../x": "hunter2-hunter2"}', ""),
        (b'["hunter2-hunter2"]', ""),
        (b" " * ((1 << 20) + 1), ""),
    ],
)
def test_a_secrets_file_is_refused_with_what_is_wrong_and_without_a_value(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "secrets.json"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(UsageError) as caught:
        SecretsFile(path)
    assert words in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:  # the chain is printed too when somebody logs it
        assert "hunter2" not in str(error)
        error = error.__cause__


def test_a_secrets_file_of_another_system_is_read_and_names_keep_their_case(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    path.write_bytes(
        b'\xef\xbb\xbf{\r\n"token": "hunter2-hunter2",\r\n"TOKEN": "another-and-longer"\r\n}\r\n'
    )
    path.chmod(0o600)
    assert SecretsFile(path).values() == {"token": "hunter2-hunter2", "TOKEN": "another-and-longer"}


async def test_a_missing_secret_is_named_with_what_is_wrong_with_the_file(
    settings: Settings, tmp_path: Path
) -> None:
    path = write_json(tmp_path / "secrets.json", {"token": "hunter2-hunter2"})
    path.chmod(0o600)
    set_up = settings.model_copy(update={"secrets_file": path})
    async with broker_factory(set_up, Grants(secrets=("TOKEN",))) as (opened, stored):
        (lack,) = opened.lacks(stored.manifest.grants)
        assert lack.endswith("add it to ALITA_SECRETS_FILE")
        path.write_text('{"TOKEN": "hunter2-hunter2", "TOKEN": "hunter2-other"}', encoding="utf-8")
        (lack,) = opened.lacks(stored.manifest.grants)
        assert "it names 'TOKEN' 2 times (lines 1, 1)" in lack


def test_a_missing_secrets_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="secrets file"):
        SecretsFile(tmp_path / "nowhere.json")
    with pytest.raises(UsageError, match=r"not a regular file|directory"):
        SecretsFile(tmp_path)


def test_secrets_are_read_again_when_their_file_changes_and_not_at_all_once_it_is_open_to_others(
    tmp_path: Path,
) -> None:
    path = write_json(tmp_path / "secrets.json", {"token": "hunter2-hunter2"})
    path.chmod(0o600)
    opened = SecretsFile(path)
    assert opened.values() == {"token": "hunter2-hunter2"}
    write_json(path, {"token": "another-and-longer"})
    assert opened.values() == {"token": "another-and-longer"}
    path.chmod(0o644)
    assert opened.values() == {}
    path.chmod(0o600)
    assert opened.values() == {"token": "another-and-longer"}
    path.unlink()
    assert opened.values() == {}
    assert "hunter2" not in repr(vars(opened))
    assert SecretsFile(None).values() == {}


# --- what covers what


@pytest.mark.parametrize(
    ("granted", "asked", "covered"),
    [
        ("api.example.org", "api.example.org", True),
        ("api.example.org", "API.example.org", True),
        ("api.example.org", "www.example.org", False),
        ("*.example.org", "api.example.org", True),
        ("*.example.org", "a.b.example.org", True),
        ("*.example.org", "*.b.example.org", True),
        ("*.example.org", "*.example.org", True),
        ("*.example.org", "example.org", False),
        ("*.example.org", "evilexample.org", False),
        ("*.example.org", "*.org", False),
        ("*.example.org", "*", False),
        ("api.example.org", "*.example.org", False),
        ("*.b.example.org", "*.example.org", False),
        ("api.example.org", "api.example.org:8443", False),
        ("api.example.org", "api.example.org:443", True),
        ("api.example.org:8443", "api.example.org:8443", True),
        ("api.example.org:8443", "api.example.org", False),
        ("*", "api.example.org", False),
        ("api.example.org", "not a host", False),
        ("not a host", "not a host", False),
    ],
)
def test_a_granted_host_covers_what_it_stands_for_and_no_more(
    granted: str, asked: str, covered: bool
) -> None:
    assert covers(granted, asked) is covered


@pytest.mark.parametrize(
    "lacking",
    [
        {"network": ()},
        {"network": ("www.example.org",)},
        {"workspace": "none"},
        {"model": False},
        {"tools": ("other_tool",)},
        {"secrets": ()},
    ],
)
def test_whoever_lacks_one_right_lacks_the_grant(lacking: dict[str, Any]) -> None:
    filed = WIDE.model_copy(update=lacking)
    assert in_force(WIDE, approved=False, filed=filed) is None
    assert len(missing(WIDE, approved=False, filed=filed)) == 1
    assert in_force(WIDE, approved=True, filed=filed) == WIDE


def test_nobody_gets_more_than_is_asked_for() -> None:
    generous = Grants(network=("*.example.org",), workspace="write", model=True, secrets=("a", "b"))
    asked = Grants(network=("api.example.org",), workspace="read", secrets=("a",))
    assert in_force(asked, approved=False, filed=generous) == asked
    assert in_force(Grants(), approved=False, filed=generous) == Grants()


def test_open_hosts_are_those_that_the_file_names_and_approval_alone_names_none() -> None:
    asked = Grants(network=("*", "a.example.org"), model=True)
    named = Grants(network=("b.example.org", "a.example.org"), model=True)
    assert in_force(asked, approved=True, filed=None) is None
    assert "hosts that you name" in missing(asked, approved=True, filed=None)[0]
    granted = in_force(asked, approved=False, filed=named)
    assert granted is not None
    assert set(granted.network) == {"a.example.org", "b.example.org"}
    assert in_force(asked, approved=False, filed=Grants(network=("b.example.org",), model=True)) is None
    approved = in_force(asked, approved=True, filed=Grants(network=("c.example.org",)))
    assert approved is not None
    assert approved.network == ("a.example.org", "c.example.org")


def test_grants_in_words_leave_nothing_out() -> None:
    assert in_words(WIDE) == (
        "network api.example.org", "workspace read", "model", "tool slugify", "secret token",
    )  # fmt: skip
    assert in_words(Grants()) == ()
    assert in_words(Grants(network=("*",))) == ("network (hosts that you name)",)


# --- in the library


async def test_an_unapproved_tool_is_neither_listed_nor_callable_and_the_message_says_how_to_approve(
    settings: Settings,
) -> None:
    async with open_library(settings, starters=no_starters) as library:
        manifest = await library.publish(simple("fetch_rates", grants=WIDE), expected_version=0)
        await library.publish(simple("plain_tool"), expected_version=0)
        assert listed(library) == {"plain_tool"}
        with pytest.raises(ToolUnavailable) as caught:
            library.callable_entry("fetch_rates")
        for word in ("network api.example.org", "workspace read", "model", "tool slugify", "secret token"):
            assert word in caught.value.message
        assert "alita approve fetch_rates" in caught.value.hint
        assert "ALITA_GRANTS_FILE" in caught.value.hint
        assert caught.value.hint == how_to_grant(manifest)
        await library.approve("fetch_rates")
        assert listed(library) == {"plain_tool", "fetch_rates"}
        assert library.callable_entry("fetch_rates").callable_now
        assert library.effective_grants.of(manifest) == WIDE


async def test_the_line_that_the_message_proposes_is_a_grants_file_that_grants_it(
    settings: Settings, tmp_path: Path
) -> None:
    for asked in (WIDE, Grants(network=("*", "a.example.org"), workspace="write")):
        async with open_library(
            settings.model_copy(update={"home": tmp_path / asked.workspace}), starters=no_starters
        ) as library:
            manifest = await library.publish(simple("fetch_rates", grants=asked), expected_version=0)
        line = json.loads(how_to_grant(manifest).partition("as in ")[2].rstrip("."))
        filed = GrantsFile(write_json(tmp_path / "grants.json", line))
        assert filed.grants_for(manifest) is None
        filed.bind_with(lambda _name, _line, digest=manifest.digest: digest)  # type: ignore[misc]
        granted = filed.grants_for(manifest)
        assert granted is not None
        assert in_force(asked, approved=False, filed=granted) is not None


async def test_changes_of_the_file_are_noticed_without_a_restart_and_announced(
    home: Path, tmp_path: Path
) -> None:
    path = write_json(tmp_path / "grants.json", {})
    async with open_library(Settings(home=home, grants_file=path), starters=no_starters) as library:
        manifest = await library.publish(simple("fetch_rates", grants=WIDE), expected_version=0)
        changed = anyio.Event()
        library.on_change(changed.set)
        write_json(path, {"fetch_rates": WIDE.model_dump(mode="json")})
        with anyio.fail_after(WAIT_S):
            await changed.wait()
        assert listed(library) == {"fetch_rates"}
        assert library.callable_entry("fetch_rates").callable_now
        write_json(path, {"fetch_rates": {"model": True}})
        assert library.effective_grants.of(manifest) is None  # at once: a call does not wait for the watcher
        with pytest.raises(ToolUnavailable):
            library.callable_entry("fetch_rates")


async def test_a_file_that_is_spoiled_later_grants_nothing_and_the_message_says_so(
    home: Path, tmp_path: Path
) -> None:
    line = {**WIDE.model_dump(mode="json"), "any_version": True}
    path = write_json(tmp_path / "grants.json", {"fetch_rates": line})
    async with open_library(Settings(home=home, grants_file=path), starters=no_starters) as library:
        await library.publish(simple("fetch_rates", grants=WIDE), expected_version=0)
        await library.publish(simple("ask_model", grants=Grants(model=True)), expected_version=0)
        await library.approve("ask_model")
        assert library.callable_entry("fetch_rates").callable_now
        path.write_text('{"fetch_rates": {"network": ["*"]}}', encoding="utf-8")
        with pytest.raises(ToolUnavailable, match="every host"):
            library.callable_entry("fetch_rates")
        assert library.callable_entry("ask_model").callable_now
        path.unlink()
        with pytest.raises(ToolUnavailable, match="cannot be used"):
            library.callable_entry("fetch_rates")


async def test_a_new_version_that_asks_for_more_is_not_covered_and_one_that_asks_for_less_is(
    home: Path, tmp_path: Path
) -> None:
    line = {"network": ["*.example.org"], "any_version": True}
    path = write_json(tmp_path / "grants.json", {"fetch_rates": line})
    narrow, wider = Grants(network=("api.example.org",)), Grants(network=("api.example.org",), model=True)
    async with open_library(Settings(home=home, grants_file=path), starters=no_starters) as library:
        first = await library.publish(simple("fetch_rates", grants=narrow), expected_version=0)
        assert library.entry("fetch_rates").callable_now
        second = await library.publish(simple("fetch_rates", grants=wider), expected_version=1)
        assert library.entry("fetch_rates").manifest == first
        await library.rollback("fetch_rates", 2)
        with pytest.raises(ToolUnavailable, match="model"):
            library.callable_entry("fetch_rates")
        assert library.effective_grants.of(first) == narrow
        assert library.effective_grants.of(second) is None
        assert (await library.rollback("fetch_rates")).callable_now


async def test_a_digest_binds_a_grant_to_one_version(home: Path, tmp_path: Path) -> None:
    path = write_json(tmp_path / "grants.json", {})
    asked = Grants(model=True)
    async with open_library(Settings(home=home, grants_file=path), starters=no_starters) as library:
        first = await library.publish(simple("ask_model", grants=asked), expected_version=0)
        write_json(path, {"ask_model": {"model": True, "digest": first.digest}})
        assert library.effective_grants.of(first) == asked
        second = await library.publish(simple("ask_model", answer="other", grants=asked), expected_version=1)
        assert second.digest != first.digest
        assert library.effective_grants.of(second) is None
        assert library.entry("ask_model").manifest == first
        assert not (await library.rollback("ask_model", 2)).callable_now


async def test_a_line_without_a_digest_is_for_the_version_that_was_current_when_it_was_first_read(
    home: Path, tmp_path: Path
) -> None:
    asked, path = Grants(model=True), write_json(tmp_path / "grants.json", {})
    settings = Settings(home=home, grants_file=path)
    async with open_library(settings, starters=no_starters) as library:
        first = await library.publish(simple("ask_model", grants=asked), expected_version=0)
        write_json(path, {"ask_model": {"model": True}})
        assert library.effective_grants.of(first) == asked
        second = await library.publish(simple("ask_model", answer="other", grants=asked), expected_version=1)
        assert library.effective_grants.of(second) is None
        assert library.entry("ask_model").manifest == first
        await library.rollback("ask_model", 2)
    async with open_library(settings, starters=no_starters) as library:
        assert library.effective_grants.of(second) is None
        assert library.effective_grants.of(first) == asked
        write_json(path, {"ask_model": {"model": True, "workspace": "read"}})
        assert library.effective_grants.of(second) == asked
        assert [row.detail["digest"] for row in library.journal(9, "grants line bound")] == [
            second.digest,
            first.digest,
        ]


async def test_a_line_for_a_name_that_does_not_exist_yet_grants_nothing_to_what_comes(
    home: Path, tmp_path: Path
) -> None:
    asked, path = Grants(model=True), write_json(tmp_path / "grants.json", {"ask_model": {"model": True}})
    settings = Settings(home=home, grants_file=path)
    async with open_library(settings, starters=no_starters) as library:
        first = await library.publish(simple("ask_model", grants=asked), expected_version=0)
        assert library.effective_grants.of(first) is None
    async with open_library(settings, starters=no_starters) as library:
        assert library.effective_grants.of(first) is None
        write_json(path, {"ask_model": {"model": True, "any_version": True}})
        assert library.effective_grants.of(first) == asked


async def test_every_line_that_grants_is_journalled_once_as_the_files(home: Path, tmp_path: Path) -> None:
    digest = f"sha256:{64 * 'a'}"
    lines = {
        "ask_model": {"model": True, "any_version": True},
        "ask_other": {"model": True, "digest": digest},
    }
    settings = Settings(home=home, grants_file=write_json(tmp_path / "grants.json", lines))
    for _ in range(2):
        async with open_library(settings, starters=no_starters) as library:
            rows = library.journal(9, "grants line bound")
    assert sorted((row.name, row.detail["from"], row.detail["digest"]) for row in rows) == [
        ("ask_model", "grants_file", "every version"),
        ("ask_other", "grants_file", digest),
    ]


def test_lines_that_could_not_be_bound_grant_nothing_until_they_are(tmp_path: Path) -> None:
    path, busy = write_json(tmp_path / "grants.json", {}), [True]
    manifest = manifest_of(simple("ask_model", grants=Grants(model=True)), 1)

    def bind(_name: str, _line: str) -> str:
        if busy:
            raise LibraryError("The catalogue is locked.", hint="Try again.")
        return manifest.digest

    filed = GrantsFile(path)
    filed.bind_with(bind)
    write_json(path, {"ask_model": {"model": True}})
    filed.refresh()
    assert (filed.grants_for(manifest), filed.problem) == (None, "The catalogue is locked.")
    busy.clear()
    filed.refresh()
    assert (filed.grants_for(manifest), filed.problem) == (Grants(model=True), "")


async def test_approval_of_the_current_version_does_not_let_another_one_run(settings: Settings) -> None:
    async with open_library(settings, starters=no_starters) as library:
        first = await library.publish(simple("ask_model", grants=WIDE), expected_version=0)
        second = await library.publish(simple("ask_model", grants=Grants(model=True)), expected_version=1)
        await library.approve("ask_model")
        assert library.effective_grants.of(second) == Grants(model=True)
        assert library.effective_grants.of(first) is None
        await library.revoke("ask_model")
        assert library.effective_grants.of(second) is None


async def test_a_tool_with_grants_is_not_exported_to_where_nobody_enforces_them(settings: Settings) -> None:
    async with open_library(settings, starters=no_starters) as library:
        await library.publish(simple("ask_model", grants=Grants(model=True)), expected_version=0)
        with pytest.raises(UsageError, match="asks for grants"):
            await library.export("ask_model")
        assert not list((library.home / "exports").glob("*"))


# --- what stands behind the doors


def stored_tool(name: str, grants: Grants) -> StoredVersion:
    made = simple(name, grants=grants)
    return StoredVersion(
        manifest=manifest_of(made, 1),
        code=made.draft.code,
        lock=made.lock,
        examples=made.draft.examples,
        report=made.report,
    )


class Calling:
    """The flow of a call, as the tests want it to end."""

    def __init__(self, result: RunResult | Exception) -> None:
        self.result = result
        self.calls: list[tuple[str, dict[str, Any], tuple[str, ...], str]] = []

    async def __call__(
        self, name: str, arguments: dict[str, Any], chain: tuple[str, ...], identity: ClientIdentity
    ) -> RunResult:
        self.calls.append((name, arguments, chain, identity.owner))
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@asynccontextmanager
async def broker_factory(
    settings: Settings, grants: Grants, model: LanguageModel | None = None, call: Calling | None = None
) -> AsyncIterator[tuple[BrokerFactory, StoredVersion]]:
    """A library with one approved tool, and what stands behind its doors."""
    calling = call or Calling(RunResult(status="ok", value=1))
    async with open_library(settings, starters=no_starters) as library:
        manifest = await library.publish(simple("asking_tool", grants=grants), expected_version=0)
        await library.approve("asking_tool")
        opened = BrokerFactory(settings, library, model, calling)
        yield opened, await library.read(manifest.name)


def elsewhere(settings: Settings) -> Settings:
    """The same settings with another, empty library."""
    return settings.model_copy(update={"home": settings.home.with_name(f"home-{secrets.token_hex(4)}")})


async def asked(opened: BrokerFactory, stored: StoredVersion, door: str, **words: Any) -> Any:
    broker = opened.broker_for(stored)
    assert broker is not None
    with anyio.fail_after(WAIT_S):
        return await broker.answer(door, words)


async def test_a_pure_tool_has_no_broker_and_an_unapproved_one_gets_none(settings: Settings) -> None:
    async with broker_factory(settings, WIDE) as (opened, stored):
        assert opened.broker_for(stored_tool("pure_tool", Grants())) is None
        with pytest.raises(ToolUnavailable, match="nobody approved: model"):
            opened.broker_for(stored_tool("other_tool", Grants(model=True)))
        assert opened.broker_for(stored) is not None
    # another body of the same name is another digest
    async with broker_factory(elsewhere(settings), Grants(model=True)) as pair:
        with pytest.raises(ToolUnavailable):
            pair[0].broker_for(stored_tool("asking_tool", WIDE))


async def test_the_model_answers_and_its_failures_tell_the_tool_nothing(settings: Settings) -> None:
    model = ScriptedModel(["Short."])
    async with broker_factory(settings, Grants(model=True), model) as (opened, stored):
        words = {"prompt": "Sum up.", "system": "Be brief.", "max_tokens": 5, "temperature": 0.0}
        assert await asked(opened, stored, "complete", **words) == "Short."
        assert [(turn.role, turn.content) for turn in model.asked[0]] == [
            ("system", "Be brief."),
            ("user", "Sum up."),
        ]
        with pytest.raises(RuntimeError, match="the model did not answer") as caught:
            await asked(opened, stored, "complete", prompt="again")
        assert "script" not in str(caught.value)
    async with broker_factory(elsewhere(settings), Grants(model=True)) as (opened, stored):
        with pytest.raises(RuntimeError, match="ALITA_MODEL"):
            await asked(opened, stored, "complete", prompt="x")


async def test_only_the_granted_secret_is_in_reach_and_results_do_not_show_it(
    settings: Settings, tmp_path: Path
) -> None:
    path = write_json(tmp_path / "secrets.json", {"token": "hunter2-hunter2", "other": "s3cret-s3cret"})
    path.chmod(0o600)
    set_up = settings.model_copy(update={"secrets_file": path})
    async with broker_factory(set_up, Grants(secrets=("token", "missing"))) as (opened, stored):
        assert await asked(opened, stored, "secret", name="token") == "hunter2-hunter2"
        with pytest.raises(PermissionError, match="other"):
            await asked(opened, stored, "secret", name="other")
        with pytest.raises(RuntimeError, match="ALITA_SECRETS_FILE"):
            await asked(opened, stored, "secret", name="missing")
        broker = opened.broker_for(stored)
        assert broker is not None
        assert "s3cret" not in repr(vars(broker))
        shown = broker.redact_result(RunResult(status="ok", value={"a": ["Bearer hunter2-hunter2"]}))
        assert shown.value == {"a": ["Bearer [secret]"]}


async def test_a_called_tool_goes_through_the_flow_of_calls_with_the_chain_that_led_to_it(
    settings: Settings,
) -> None:
    grants = Grants(tools=("slugify", "asking_tool"))
    call = Calling(RunResult(status="ok", value=[1]))
    async with broker_factory(settings, grants, call=call) as (opened, stored):
        broker = opened.broker_for(stored, ("outer_tool",), ClientIdentity(owner="anyone"))
        assert broker is not None
        words = {"name": "slugify", "arguments": {"text": "x"}}
        assert await broker.answer("call_tool", words) == [1]
        assert call.calls == [("slugify", {"text": "x"}, ("outer_tool", "asking_tool"), "anyone")]
        with pytest.raises(RuntimeError, match="cannot call themselves"):
            await broker.answer("call_tool", {"name": "asking_tool", "arguments": {}})
        with pytest.raises(PermissionError, match="word_count"):
            await broker.answer("call_tool", {"name": "word_count", "arguments": {}})
    for failure, error in [
        (InvalidArguments("text is missing."), ValueError),
        (RunResult(status="error", error_type="ValueError", message="empty"), ValueError),
        (RunResult(status="timeout", message="30 s"), RuntimeError),
        (ToolUnavailable("slugify is disabled."), ToolUnavailable),
        (SandboxError("the engine is gone."), RuntimeError),
    ]:
        async with broker_factory(elsewhere(settings), grants, call=Calling(failure)) as (opened, stored):
            with pytest.raises(error):
                await asked(opened, stored, "call_tool", name="slugify", arguments={})


@pytest.mark.parametrize("inside", ["home", "grants_file", "secrets_file"])
async def test_a_workspace_through_which_a_tool_could_grant_itself_rights_is_refused(
    tmp_path: Path, inside: str
) -> None:
    folder = tmp_path / "files"
    (folder / "home").mkdir(parents=True)
    places = {
        "home": folder / "home",
        "grants_file": write_json(folder / "grants.json", {}),
        "secrets_file": write_json(folder / "secrets.json", {}),
    }
    places["secrets_file"].chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(folder, target_is_directory=True)
    apart = {"home": tmp_path / "apart"} | {inside: places[inside]}
    for workspace in (folder, link):
        settings = Settings(workspace=workspace, **apart)
        with pytest.raises(UsageError, match=f"ALITA_{inside.upper()}.*ALITA_WORKSPACE"):
            async with open_library(settings, starters=no_starters) as library:
                BrokerFactory(settings, library, None, Calling(RunResult(status="ok")))


async def test_a_workspace_that_is_no_folder_or_lies_in_the_library_is_refused(
    home: Path, tmp_path: Path
) -> None:
    for workspace, said in ((tmp_path / "nowhere", "not a folder"), (home / "generated_tools", "ALITA_HOME")):
        settings = Settings(home=home, workspace=workspace)
        with pytest.raises(UsageError, match=said):
            async with open_library(settings, starters=no_starters) as library:
                BrokerFactory(settings, library, None, Calling(RunResult(status="ok")))


# --- what the documents say


def test_the_samples_of_the_rehearsal_stand_in_its_document() -> None:
    document = (ROOT / "docs" / "rehearsal.md").read_text(encoding="utf-8")
    for name, text in FILES.items():
        assert name in document
        assert name == "sample.html" or f"\n{text}```\n" in document
    for path in _FIXED:
        assert f"`{path}`" in document
