"""litellm in a process of its own: stdout stays clean at every log level, no key is logged, no file is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.models.openai_server import Fails, openai_server

pytestmark = [pytest.mark.process, pytest.mark.extra("models")]

KEY = "sk-0123456789abcdef"
ASK = """
import logging, sys, anyio
logging.basicConfig(stream=sys.stderr, level=sys.argv[2])
from alita_mcp.models.roles import RoleModels
from alita_mcp.models.interface import Message
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.settings import Settings
from alita_mcp.errors import ModelError

async def main():
    role_models = RoleModels(
        Settings(model="openai/gpt-4o", model_base_url=sys.argv[1]), patience=Patience(first_pause_s=0.01)
    )
    for _ in range(3):
        try:
            await role_models.plain().complete([Message(role="user", content="hello")], schema={"type": "object"})
        except ModelError as failure:
            logging.error("%s", failure, exc_info=True)

anyio.run(main)
anyio.run(main)
"""


def asked(url: str, level: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", ASK, url, level],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("level", ["DEBUG", pytest.param("WARNING", marks=pytest.mark.exhaustive)])
def test_nothing_is_printed_to_stdout_and_no_key_to_stderr(level: str, tmp_path: Path) -> None:
    answers = [
        "ok",
        Fails(401, message=f"Incorrect API key provided: {KEY}"),
        500,
        "ok",
        Fails(400),
        "ok",
        404,
        "ok",
    ]
    with openai_server(*answers) as (url, transcript):
        done = asked(url, level, tmp_path, OPENAI_API_KEY=KEY)
    assert (done.returncode, done.stdout) == (0, "")
    assert len(transcript.requests) >= len(answers)
    assert KEY not in done.stderr
    assert "did not answer" in done.stderr
    assert "never awaited" not in done.stderr
    assert "Unclosed" not in done.stderr


def test_a_file_in_the_current_folder_does_not_send_keys_elsewhere(tmp_path: Path) -> None:
    with openai_server("ok", "ok") as (elsewhere, heard), openai_server(*["ok"] * 6) as (url, transcript):
        (tmp_path / ".env").write_text(
            f"OPENAI_API_KEY={KEY}\nOPENAI_PROXY={elsewhere}\nHTTP_PROXY={elsewhere}\n"
        )
        done = asked(url, "WARNING", tmp_path, OPENAI_API_KEY="sk-the-persons-own")
    assert done.returncode == 0
    assert heard.requests == []
    assert len(transcript.requests) == 6
    assert {headers["authorization"] for headers in transcript.headers} == {"Bearer sk-the-persons-own"}
