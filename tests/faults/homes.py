"""A home with every kind of file, made by real use, and what people and clients see of a home."""

from __future__ import annotations

import importlib
import io
import json
import logging
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from alita_mcp.agent.interface import FileSeen
from alita_mcp.agent.memory.store import StoredMemory
from alita_mcp.cli import main as command_line
from alita_mcp.errors import AlitaError
from alita_mcp.exception_groups import innermost_error
from alita_mcp.library.grants.code_approvals import CodeApprovals
from alita_mcp.library.storage import Storage
from alita_mcp.models.keys import store_key
from alita_mcp.sandbox.wasm import process
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.server.transports.http_token import ensure_token
from alita_mcp.settings import read_settings
from alita_mcp.settings_file import change_settings_file
from alita_mcp.values import Grants
from alita_mcp.verification.mutation import mutants, other_inputs
from tests import warm_programs
from tests.agent.memory.remembered import summed
from tests.cli.conftest import Said
from tests.cli.tasks.scripted_flow import PLAN, RUN, ScriptedFlow, step
from tests.in_process import IN_PROCESS
from tests.library.factory import opened, simple
from tests.server.drafts import REPEAT, VOWEL_SHARE, draft
from tests.server.in_memory import builder, called, connected, library_of, succeeded, text_of

CALLS: dict[str, dict[str, Any]] = {
    "vowel_share": {"text": "abcdefg"}, "repeat_rows": {"text": "ab", "times": 2}, "reviewed": {"number": 1},
    "granted": {}, "asking": {}, "switched_off": {}, "thrown_away": {}, "thrown_late": {},
}  # fmt: skip
"""Tools of the home, with arguments for a call: three that ask for nothing, three that ask, three that are gone."""
ASKING_CODE: dict[str, Any] = {
    "code": "import alita_tool\nalita_tool.secret('token')",
    "needs": {"secrets": ["token"]},
}
OTHER_CODE = {**ASKING_CODE, "code": "1"}
READING = (
    "status", "list", "review", "search vowel share", "log", "log --gaps", "runs", f"runs {RUN}",
    "memory", "tool export vowel_share",
    "show vowel_share v2 --source", *(f"show {name}" for name in CALLS),
)  # fmt: skip
"""Commands that read, each with --json."""


class Seen(NamedTuple):
    """What people and clients see of a home."""

    said: dict[str, Said]
    """Command → what it said; `serve` logs only."""
    answers: dict[str, tuple[bool, str]]
    """Request of a client → whether the answer is an error, and its text."""

    @property
    def words(self) -> str:
        """All messages and answers."""
        return "\n".join(
            [*(each.err for each in self.said.values()), *(text for _, text in self.answers.values())]
        )


def warm_up(workers_door: str, modules: Sequence[str]) -> None:
    """Makes forks of this process fast: they share modules and the command line; their processes are forked as well."""
    process.module_command = lambda _module, *_words: [
        sys.executable,
        "-I",
        "-S",
        warm_programs.__file__,
        workers_door,
    ]
    mutants.MAX_MUTANTS = other_inputs.MUTATED = other_inputs.DRAWN = 8
    command_line.build_app = cache(command_line.build_app)
    command_line.build_app()
    for name in modules:
        importlib.import_module(name)


def enter(home: Path) -> None:
    """Sets what a process needs to work on a home."""
    settings = {
        "home": home, "sandbox": IN_PROCESS, "embedder": "none", "secrets_file": home / "secrets.json",
    }  # fmt: skip
    os.environ.update({f"ALITA_{name.upper()}": str(value) for name, value in settings.items()})
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"


def command(*words: str, **options: Any) -> Said:
    """Runs a command in this process."""
    logging.getLogger().handlers.clear()  # those of the command before
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = command_line.main(words, **options)
    return Said(status, out.getvalue(), err.getvalue())


def must(*words: str, **options: Any) -> str:
    """The output of a command that must succeed."""
    said = command(*words, **options)
    assert not said.status, (words, said.err)
    return said.out


def fill(home: Path) -> None:
    """Makes the home; leaves it as a process does that is killed while it serves."""
    home.mkdir(mode=0o700)
    for name, content in {"secrets": {"token": "hunter2-hunter2"}}.items():
        (home / f"{name}.json").write_text(json.dumps(content))
        (home / f"{name}.json").chmod(0o600)
    enter(home)
    change_settings_file(home, {"log_level": "warning", "docker_image": "python:3.13-slim"})
    store_key(home, "OPENAI_API_KEY", "hunter3-hunter3")
    anyio.run(publish, home)
    for words in ("pin repeat_rows", "rollback vowel_share", "delete thrown_away"):
        must("tool", *words.split())
    ensure_token(read_settings())
    must("approve", "granted", digest_of("granted"))
    must("review", "reviewed", "--yes", digest_of("reviewed"))
    must("tool", "export", "repeat_rows")
    must("solve", "Sum the sales.", open_flow=ScriptedFlow([("plan", "planned", PLAN), *step(1)]).opened)
    seen = FileSeen(name="homes.py", path=Path(__file__))
    anyio.run(StoredMemory(Storage(home)).remember, summed(files=(seen,)))
    anyio.run(serve_and_die, home)


def digest_of(name: str) -> str:
    return str(json.loads(must("show", name, "--json"))["manifest"]["digest"])


async def publish(home: Path) -> None:
    async with opened(home) as library:
        for name in list(CALLS)[3:]:
            grants = Grants(secrets=("token",) if name in ("granted", "asking") else ())
            await library.publish(simple(name, grants=grants), expected_version=0)
    async with connected(builder(read_settings())(), "modern") as client:
        for each in (REPEAT, shift("reviewed", 7), VOWEL_SHARE):
            await succeeded(client, "synthesize_tool", **each)
        other = VOWEL_SHARE["code"].replace("digits: int = 2", "digits: int = 3")
        await succeeded(client, "synthesize_tool", **draft(code=other, update=True))


def shift(name: str, number: int) -> dict[str, Any]:
    """A tool that adds a number, as an agent hands it in."""
    text = f"Shift a number by {number}."
    return {
        "name": name,
        "description": text,
        "code": f'def {name}(number: int) -> int:\n    """{text}"""\n    return number + {number}\n',
        "tests": [{"arguments": {"number": each}, "expected": each + number} for each in (0, 1, -7)],
    }


async def serve_and_die(home: Path) -> None:
    server = builder(read_settings(), WasmSandbox)()
    async with connected(server, "modern") as client:
        await called(client, "run_code", code="open('f', 'w').write('1')\n'x' * 300_000")
        await called(client, "run_code", **ASKING_CODE)
        number = next((home / "code_approvals").iterdir()).stem
        CodeApprovals(Storage(home)).approve(number, CodeApprovals(Storage(home)).find(number).digest)
        await called(client, "run_code", **OTHER_CODE)
        await called(client, "search_capabilities", query="shares of vowels in a word")
        await called(client, "run_tool", name="vowel_share", arguments=CALLS["vowel_share"])
        library = await library_of(server)
        await library.delete("thrown_late")
        await library.disable("switched_off")  # in the write-ahead log alone
        os.kill(os.getpid(), signal.SIGKILL)


def observe(home: Path) -> Seen:
    """What people and clients see of a home."""
    enter(home)
    said = {words: command(*words.split(), "--json") for words in READING}
    logging.getLogger().handlers.clear()
    with redirect_stderr(io.StringIO()) as err:
        logging.basicConfig(stream=err)
        answers: dict[str, tuple[bool, str]] = {}
        try:
            anyio.run(use, answers)
        except Exception as failure:  # noqa: BLE001 - what ends the server is what people see
            if not isinstance(innermost_error(failure), AlitaError):
                traceback.print_exc()
            answers["server"] = (True, str(innermost_error(failure)))
        try:
            answers["token"] = (False, ensure_token(read_settings()))
        except AlitaError as refused:
            answers["token"] = (True, str(refused))
    said["serve"] = Said(0, "", err.getvalue())
    said["list again"] = command("list", "--json")
    return Seen(said, answers)


async def use(answers: dict[str, tuple[bool, str]]) -> None:
    async with connected(builder(read_settings())(), "modern") as client:

        async def call(label: str, tool: str, **arguments: Any) -> None:
            result = await called(client, tool, **arguments)
            answers[label] = (bool(result.is_error), text_of(result))

        await call("search", "search_capabilities", query="share of vowels in a word")
        for name, arguments in CALLS.items():
            await call(name, "run_tool", name=name, arguments=arguments)
        for code, label in ((ASKING_CODE, "approved code"), (OTHER_CODE, "other code")):
            await call(label, "run_code", **code)
        await call("synthesis", "synthesize_tool", **shift("made_later", 90))
        await call("later", "run_tool", name="made_later", arguments={"number": 1})


def list_modules(home: Path) -> list[str]:
    """What is imported where a home is observed."""
    observe(home)
    return [name for name in sys.modules if name.partition(".")[0] in ("alita_mcp", "mcp", "tests")]


def copy_home(home: Path, target: Path) -> Path:
    """A copy with the modes and links of the original."""
    return shutil.copytree(home, target, symlinks=True)
