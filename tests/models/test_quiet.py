"""litellm in a process of its own: stdout stays clean at every log level, no key is logged, no file is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.models.openai_server import Fails, Reply, Request, openai_server

pytestmark = [pytest.mark.process, pytest.mark.extra("models")]

KEY = "sk-0123456789abcdef"
ASK = """
import gc, logging, sys, anyio
logging.basicConfig(stream=sys.stderr, level=sys.argv[2])
from alita_mcp.errors import ModelError
from alita_mcp.models.interface import Message
from alita_mcp.models.roles import RoleModels
from alita_mcp.settings import Settings

async def ask(question):
    try:
        await question
    except ModelError as failure:
        logging.error("%s", failure, exc_info=True)

async def main():
    model = RoleModels(Settings(model="openai/gpt-4o", model_base_url=sys.argv[1])).default_model()
    for _ in range(3):
        await ask(model.complete([Message(role="user", content="hello")], schema={"type": "object"}))

anyio.run(main)
anyio.run(main)
assert gc.isenabled()
assert gc.get_freeze_count() > 100_000, "garbage was looked for during the import"
"""


@pytest.mark.parametrize("level", ["DEBUG", pytest.param("WARNING", marks=pytest.mark.exhaustive)])
def test_nothing_is_printed_no_key_is_logged_and_a_file_sends_no_key_elsewhere(
    level: str, tmp_path: Path
) -> None:
    def answer(request: Request) -> Reply:
        match request.number % 3:
            case 1:
                return Fails(401, message=f"Incorrect API key provided: {KEY}")
            case 2:
                return Fails(404, message="no such model")
            case _:
                return "ok"

    with openai_server("ok", "ok") as (elsewhere, heard), openai_server(answer) as (url, transcript):
        (tmp_path / ".env").write_text(
            f"OPENAI_API_KEY=x\nOPENAI_PROXY={elsewhere}\nHTTP_PROXY={elsewhere}\n"
        )
        done = subprocess.run(
            [sys.executable, "-W", "error::ResourceWarning", "-c", ASK, url, level],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OPENAI_API_KEY": KEY},
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2_000:]
    assert heard.requests == []
    assert len(transcript.requests) == 6
    assert {headers.get("authorization") for headers in transcript.headers} == {f"Bearer {KEY}"}
    assert KEY not in done.stderr
    assert done.stderr.count("did not answer") >= 4
    assert "never awaited" not in done.stderr
    assert "Unclosed" not in done.stderr
