"""The hook of a client around shell commands, with the real server and with hostile ones: it helps, or is silent."""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import StdioServerParameters

from alita_mcp.clients.skills import plugin_files
from alita_mcp.server.transports.local.endpoint import proof
from alita_mcp.server.transports.local.hook import MAX_COMMAND, inline_programs
from tests.server.connections import client_of
from tests.server.local.conftest import User
from tests.server.local.scripted_server import listening
from tests.server.processes import ENTRY, PATIENCE_S
from tests.tables import each_case

HOOK = "from alita_mcp.server.transports.local import hook; hook.WITHIN_S = {within}; hook.main()"
MEAN = """\
import statistics
factor = {}
print(statistics.mean([factor * value for value in (3, 4.5, 6.25, 9)]))"""
WORKING_DAYS = """\
from datetime import date, timedelta
day, count = date(2026, 3, 2), 0
while day <= date(2026, 4, 17):
    if day.weekday() < 5:
        count += 1
    day += timedelta(days=1)
print(count)"""


def event(command: str, name: str = "PreToolUse", **more: Any) -> bytes:
    """What Claude Code writes to a hook."""
    tool = {"tool_name": "Bash", "tool_input": {"command": command, **more}}
    return json.dumps({"hook_event_name": name, "session_id": "s", "cwd": "/", **tool}).encode()


def heredoc(code: str) -> str:
    return f"python3 - <<'EOF'\n{code}\nEOF"


async def ask_hook(user: User, said: bytes, within: float = PATIENCE_S, **settings: str) -> str:
    """What the hook writes; it ends well in any case."""
    command = [sys.executable, "-c", HOOK.format(within=within)]
    env = user.environment(**settings)
    with anyio.fail_after(PATIENCE_S):
        done = await anyio.run_process(command, input=said, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def context(said: str, name: str = "PreToolUse") -> str:
    output = json.loads(said)["hookSpecificOutput"]
    assert output.keys() == {
        "hookEventName",
        "additionalContext",
    }  # nothing that allows or denies the command
    assert output["hookEventName"] == name
    return str(output["additionalContext"])


@pytest.mark.process
async def test_a_verified_tool_is_named_and_a_program_that_comes_back_becomes_one(stocked_user: User) -> None:
    user = stocked_user
    target = StdioServerParameters(command=ENTRY[0], args=list(ENTRY[1:]), env=user.environment())
    async with client_of(target, "modern") as connection:
        await connection.tools()
        about = {"description": "Count the business days between two dates"}
        said = await ask_hook(user, event(heredoc(WORKING_DAYS), **about))
        assert "verified `business_days` does this" in context(said)
        assert await ask_hook(user, event("python3 -c 'import app; print(app.__version__)'", **about)) == ""
        assert await ask_hook(user, event(heredoc(WORKING_DAYS), **about), hook="off") == ""

        after = [await ask_hook(user, event(heredoc(MEAN.format(n)), "PostToolUse")) for n in (1, 2, 2, 3, 4)]
        assert [bool(each) for each in after] == [False, False, False, True, False]
        assert "ran 3 times" in context(after[3], "PostToolUse")
        for number in (5, 6):
            ran = await connection.client.call_tool("run_code", {"code": MEAN.format(number)})
        assert ran.structured_content is not None
        ids = json.loads(ran.structured_content["keep"].partition("from_run ")[2])
        assert len(ids) == 6
        made = await connection.make(
            {"name": "scaled_mean", "description": "Mean of scaled values.", "from_run": ids}
        )
        assert made["status"] == "created", made
        answer = await connection.client.call_tool(
            "run_tool", {"name": "scaled_mean", "arguments": {"factor": 5}}
        )
        assert not answer.is_error, answer


@pytest.mark.process
async def test_where_no_server_runs_nothing_is_said_and_none_is_started(user: User) -> None:
    assert await ask_hook(user, event(heredoc(WORKING_DAYS))) == ""
    assert user.servers() == []


@pytest.mark.process
async def test_the_installed_hook_imports_nothing_from_the_project(user: User) -> None:
    planted = "import pathlib; pathlib.Path(__file__).with_name('imported').touch()"
    for name in ("json.py", "alita_mcp.py", "sitecustomize.py"):
        (user.folder / name).write_text(planted, encoding="utf-8")
    configuration = user.folder / ".mcp.json"
    hooks = json.loads(plugin_files(configuration)[user.folder / "hooks" / "hooks.json"])
    command = shlex.split(hooks["hooks"]["PreToolUse"][0]["hooks"][0]["command"])
    configuration.write_text(
        '{"mcpServers": {"alita": {"env": {"ALITA_HOME": "/nowhere"}}}}', encoding="utf-8"
    )
    env = {**user.environment(), "PYTHONPATH": str(user.folder)}
    done = await anyio.run_process(command, input=event(heredoc("x")), cwd=user.folder, env=env, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (user.folder / "imported").exists()


BAD_EVENTS = [
    b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"hook_event_name": 1}',
    event("python3 -c 'print(1)'", "Stop"), event("ls"),
    event("python3 -c '" + "x" * (MAX_COMMAND + 1) + "'"), event("python3 -c " + "'" * 1_000_000),
    json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": 7}}).encode(),
]  # fmt: skip


@pytest.mark.process
async def test_what_is_no_inline_program_is_met_with_silence(user: User) -> None:
    async with listening(user.endpoint()) as server:
        for said in BAD_EVENTS:
            assert await ask_hook(user, said) == ""
        assert server.streams == []


ANSWERS: list[bytes | None] = [
    None, b"", b"\n", b"no JSON\n", b"[]\n", b'{"context": 7}\n', b'{"context": ""}\n',
    b'{"context": "' + b"x" * 9_000 + b'"}\n',
    b'{"context": "two\\nlines"}\n', b'{"context": "\\u001b[31m"}\n', b'{"context": "\\u202e"}\n', b"x" * 1_000_000,
]  # fmt: skip
"""None: it never answers."""


@pytest.mark.process
@each_case("answer", ANSWERS)
async def test_a_hostile_or_hung_server_is_met_with_silence(user: User, answer: bytes | None) -> None:
    async with listening(user.endpoint()) as server, anyio.create_task_group() as tasks:

        async def serve() -> None:
            stream = await server.accept()
            hello = json.loads(await stream.receive())
            mine = {
                "alita": "server",
                "proof": proof(user.endpoint().key, "server", hello["nonce"]),
                "nonce": "n",
            }
            await stream.send(json.dumps(mine).encode() + b"\n")
            await stream.receive()
            if answer is not None:
                try:
                    await stream.send(answer)
                    await stream.aclose()
                except (anyio.BrokenResourceError, anyio.EndOfStream):
                    pass

        tasks.start_soon(serve)
        within = 1.0 if answer is None else PATIENCE_S
        assert await ask_hook(user, event(heredoc(WORKING_DAYS)), within) == ""
        tasks.cancel_scope.cancel()


@each_case(
    "command, program",
    [
        ("python -c 'print(1)'", "print(1)"),
        ('cd /x && python3.12 -I -W ignore -c "print(\\"a\\$b\\")" | tail -3', 'print("a$b")'),
        ("PYTHONPATH=. /usr/bin/env python3 -uc 'a = 1\nprint(a)'", "a = 1\nprint(a)"),
        ("uv run --with numpy python -c 'import numpy'", "import numpy"),
        ("python3 -c 'print('\"'\"'x'\"'\"')'", "print('x')"),
        ("python3 - <<'EOF'\nprint(2)\nEOF\necho done", "print(2)"),
        ("python3 <<EOF > out.txt\nprint(3)\nEOF", "print(3)"),
        ("cat <<'PY' | python3\nprint(4)\nPY", "print(4)"),
        ("uv run - <<-EOF\n\tprint(5)\n\tEOF", "print(5)"),
        ("python3 script.py <<EOF\nprint(6)\nEOF", None),
        ("python3 -m json.tool <<EOF\n{}\nEOF", None),
        ("cat > a.py <<EOF\nprint(7)\nEOF", None),
        ("python3 -c", None),
        ("python3 - <<EOF\nprint(8)", None),
        ("grep -c python3 x; ls -c 'a'", None),
        ("my-python -c 'print(9)'", None),
    ],
)
def test_inline_programs_are_found_as_a_shell_reads_them(command: str, program: str | None) -> None:
    assert list(inline_programs(command)) == ([] if program is None else [program])
