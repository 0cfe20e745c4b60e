"""Commands in README and docs run as they stand, in order, on a fresh library; the others have a reason in one list."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from alita_mcp.cli.main import main, parse_words
from alita_mcp.server.api.requests import NewTask
from tests.conftest import CACHE
from tests.docs.documents import DOCUMENTS, ROOT, Command, commands, fences

NOT_RUN = {
    "alita token": "needs PostgreSQL: tests/server/test_tokens.py",
    "docker compose": "builds an image from a registry's: tests/test_packaging.py",
    "uv tool": "changes the tools of this machine, and asks the package index",
    "claude mcp add": "Claude Code is driven in tests/clients",
    "make": "the tiers themselves; .ci/run calls `make test`",
    "curl": "asks a server with a model: tests/server",
    "alita serve": "goes on until it is stopped: tests/server/test_http.py",
    "alita demo": "tests/cli/test_demo.py",
    "alita ui": "serves until it is stopped: tests/browser/test_entering.py",
    "alita setup": "asks a person at a terminal, and a model: tests/cli/test_setup.py",
    "alita doctor": "asks the Docker engine and bubblewrap: tests/cli/test_main.py, tests/cli/test_doctor_sandbox.py",
    "alita approve": "asks a person at a terminal: tests/cli/test_approving.py",
    "alita solve": "asks a model: tests/cli/tasks",
    "alita synthesize --description": "asks a model: tests/cli/test_costing.py",
}
"""Why a command that begins so is not run; ` #` ends a command."""

ALL = [
    pytest.param(command, id=f"{document.name}-{number}")
    for document in DOCUMENTS
    for number, command in enumerate(commands(document), 1)
]


def reason_not_to_run(command: Command) -> str | None:
    said = f"{' '.join(command.words)} #"
    return next((reason for begin, reason in NOT_RUN.items() if f"{said} ".startswith(f"{begin} ")), None)


def runnable(document: Path) -> list[Command]:
    return [command for command in commands(document) if reason_not_to_run(command) is None]


def test_every_reason_not_to_run_is_needed() -> None:
    said = [f"{' '.join(command.words)} # " for document in DOCUMENTS for command in commands(document)]
    assert [begin for begin in NOT_RUN if not any(each.startswith(f"{begin} ") for each in said)] == []
    named = [
        word.strip(",") for reason in NOT_RUN.values() for word in reason.split() if word.startswith("tests/")
    ]
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("command", ALL)
def test_a_command_is_one_that_exists(command: Command) -> None:
    words = command.words
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    match words[0]:
        case "alita":
            assert parse_words(words[1:])
        case "uv":
            published = [[verb, project["name"]] for verb in ("upgrade", "uninstall")]
            if "&&" in words:
                words, then = words[: words.index("&&")], words[words.index("&&") + 1 :]
                assert then[0] == "alita"
                assert parse_words(then[1:])
            assert words[2:] in [["install", "."], ["install", ".[all]"], *published]
        case "make":
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE)
        case "docker":
            assert (ROOT / words[words.index("-f") + 1]).exists()
        case "claude":
            assert words[-1] in project["scripts"]
        case "curl":
            (address,) = [word for word in words if word.startswith("http://127.0.0.1:8765")]
            verb = words[words.index("-X") + 1].lower() if "-X" in words else "get"
            path = urlsplit(address).path.replace("$ID", "{id}")
            assert (verb, path) == ("post", "/api/tasks")
            if "-d" in words:
                NewTask.model_validate_json(words[words.index("-d") + 1])
        case _:
            pytest.fail(f"nothing is known of {words[0]}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "document", [each for each in DOCUMENTS if runnable(each)], ids=lambda each: each.name
)
def test_the_commands_of_a_document_run_in_order_on_a_fresh_library(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"HOME": tmp_path, "ALITA_HOME": tmp_path / "library", **CACHE}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("ALITA_SANDBOX", "wasm")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".cursor").mkdir()  # Cursor is on this machine
    (request,) = [text for text in fences(ROOT / "docs" / "cli.md", "json") if '"code"' in text]
    (tmp_path / "request.json").write_text(request, encoding="utf-8")
    capsys.readouterr()
    for command in runnable(document):
        assert command.variables == {}
        assert main(command.words[1:]) == 0, f"{command.line}: {capsys.readouterr()}"
        said = capsys.readouterr()
        if command.output:
            assert judged(command, said.out, said.err) == [], said


def judged(command: Command, out: str, err: str) -> list[str]:
    """What is wrong with the lines that a document shows: all of stdout in order, and of stderr what it likes."""
    shown = [line for line in command.output if line]
    from_out = [line for line in shown if line not in err.splitlines()]
    return [] if from_out == [line for line in out.splitlines() if line] else from_out or ["nothing"]
