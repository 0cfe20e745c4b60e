"""Health: the doctor's findings, and of keys and clients what may be shown."""

from __future__ import annotations

import html
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from alita_mcp.app import open_app
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import read_settings
from tests.conftest import CACHE
from tests.in_process import IN_PROCESS
from tests.web.visiting import visiting

KEY = "sk-0123456789abcdefghij"
TOKEN = "a-token-of-more-than-sixteen"


@pytest.fixture(autouse=True)
def machine(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of which only the settings are known; returns the folder of its person."""
    person = tmp_path / "person"
    person.mkdir()
    known = {"HOME": str(person), "ALITA_HOME": str(settings.home), "ALITA_SANDBOX": IN_PROCESS}
    for name, value in (CACHE | known).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(person)
    return person


@asynccontextmanager
async def opened() -> AsyncIterator[httpx.AsyncClient]:
    async with open_app(read_settings(), admit=admit) as app, visiting(app) as browser:
        yield browser


async def test_keys_are_named_and_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "ALITA_MODEL": "openai/gpt-x",
        "ALITA_MODEL_JUDGE": "anthropic/claude-x base_url=http://me:pass-word-9@localhost:1/v1",
        "ALITA_TOKEN": TOKEN,
        "ALITA_PACKAGE_INDEX": "https://me:pass-word-9@index.example.org/simple",
        "OPENAI_API_KEY": KEY,
        "BRAVE_API_KEY": KEY,
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    async with opened() as browser:
        page = html.unescape((await browser.get("/ui/health")).text)
    for piece in (
        "openai/gpt-x",
        '<span class="badge ok">present</span> OPENAI_API_KEY',
        '<span class="badge ">none</span> ANTHROPIC_API_KEY',
        "alita.toml",
        '<span class="badge ok">present</span> BRAVE_API_KEY',
        '<span class="badge ">none</span> TAVILY_API_KEY',
    ):
        assert piece in page, piece
    assert [secret for secret in (KEY, TOKEN, "pass-word-9") if secret in page] == []


async def test_wired_clients_are_shown(machine: Path) -> None:
    wired, broken = machine / ".cursor", machine / ".gemini"
    for folder, text in ((wired, '{"mcpServers": {"alita": {"command": "x"}}}'), (broken, "{")):
        folder.mkdir()
        name = "mcp.json" if folder == wired else "settings.json"
        (folder / name).write_text(text, encoding="utf-8")
    (machine / ".qwen").mkdir()
    async with opened() as browser:
        page = (await browser.get("/ui/health")).text
    assert '<span class="badge ok">wired</span>' in page
    assert '<span class="badge bad">unreadable</span>' in page
    assert "alita install qwen-code" in page


@pytest.mark.slow
async def test_the_findings_are_those_of_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "DOCKER_HOST": "tcp://127.0.0.1:9",
        "PATH": "/nowhere",
        "ALITA_SANDBOX": "wasm",
        "ALITA_POLCIY": "ask",
    }.items():
        monkeypatch.setenv(name, value)
    async with opened() as browser:
        found = (await browser.get("/ui/health?check=all")).text
    for piece in (
        "Tools run in: wasm",
        "did you mean ALITA_POLICY?",
        "reads no file of the host",
        "extra models",
    ):
        assert piece in found


@pytest.mark.slow
async def test_a_settings_file_that_broke_after_the_start_is_said() -> None:
    async with opened() as browser:
        (read_settings().home / "alita.toml").write_text("policy = \n", encoding="utf-8")
        assert (await browser.get("/ui/health")).status_code == 200
        failed = await browser.get("/ui/health?check=all")
    assert "alita.toml is not valid TOML" in failed.text
