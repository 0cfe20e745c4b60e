"""Grants: what a person may grant, the secrets file, then what is granted, to which version, and until when."""

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
from alita_mcp.errors import InvalidArguments, SandboxError, ToolUnavailable, UsageError
from alita_mcp.library.grants.approving import with_hosts
from alita_mcp.library.grants.effective_grants import how_to_grant, in_words
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


# --- what a person may grant


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        (["*"], "every host"),
        (["*.org"], "different owners"),
        (["*.co.uk"], "different owners"),
        (["https://api.example.org"], "not a host"),
        (["api.example.org/path"], "not a host"),
        (["user@api.example.org"], "not a host"),
        (["127.0.0.1"], "not a host"),
        (["2130706433"], "not a host"),
        (["0x7f.0x1"], "not a host"),
        (["[::1]"], "not a host"),
        (["api.*.example.org"], "not a host"),
        ([""], "not a host"),
        ([f"h{n}.example.org" for n in range(31)], "at most 30"),
    ],
)
def test_hosts_that_nobody_can_grant_are_refused(hosts: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_hosts(Grants(network=("*",)), hosts)


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
        assert caught.value.hint == how_to_grant(manifest)
        await library.approve("fetch_rates")
        assert listed(library) == {"plain_tool", "fetch_rates"}
        assert library.callable_entry("fetch_rates").callable_now
        assert library.effective_grants.of(manifest) == WIDE


async def test_open_hosts_are_those_that_a_person_names_and_a_whole_approval_names_none(
    settings: Settings,
) -> None:
    async with open_library(settings, starters=no_starters) as library:
        asked = Grants(network=("*", "a.example.org"), model=True)
        manifest = await library.publish(simple("fetch_any", grants=asked), expected_version=0)
        await library.approve("fetch_any")
        assert library.effective_grants.of(manifest) is None
        with pytest.raises(ToolUnavailable, match="hosts that you name") as caught:
            library.callable_entry("fetch_any")
        assert "--network HOST" in caught.value.hint
        assert (await library.approve("fetch_any", hosts=["B.example.org"])).callable_now
        assert library.effective_grants.of(manifest) == Grants(network=("b.example.org",), model=True)
        assert listed(library) == {"fetch_any"}


async def test_a_new_version_is_not_covered_by_the_approval_of_another(settings: Settings) -> None:
    narrow, wider = Grants(network=("api.example.org",)), Grants(network=("api.example.org",), model=True)
    async with open_library(settings, starters=no_starters) as library:
        first = await library.publish(simple("fetch_rates", grants=narrow), expected_version=0)
        await library.approve("fetch_rates")
        for number, grants in enumerate((wider, narrow), 1):
            made = simple("fetch_rates", answer=f"v{number}", grants=grants)
            later = await library.publish(made, expected_version=number)
            assert library.effective_grants.of(later) is None
            assert library.entry("fetch_rates").manifest == first
        assert not (await library.rollback("fetch_rates", 3)).callable_now
        assert (await library.rollback("fetch_rates", 1)).callable_now


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


@pytest.mark.parametrize("inside", ["home", "secrets_file"])
async def test_a_workspace_through_which_a_tool_could_grant_itself_rights_is_refused(
    tmp_path: Path, inside: str
) -> None:
    folder = tmp_path / "files"
    (folder / "home").mkdir(parents=True)
    places = {
        "home": folder / "home",
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
