"""The examples of docs/extending: each is loaded as a user would have it loaded, and does what its page says."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client

from alita_mcp.cli.main import main, parse_words
from alita_mcp.clients.changes import apply_change, plan_install
from alita_mcp.clients.table import Launch
from alita_mcp.errors import ModelError
from alita_mcp.library.opening import open_library
from alita_mcp.models.embedder_choice import choose_embedder
from alita_mcp.models.interface import Message, ToolCall, ToolSpec
from alita_mcp.sandbox.choose import open_sandbox
from alita_mcp.sandbox.interface import Job
from alita_mcp.settings import FixedLimits, Settings, read_settings
from tests.toolsmith import authors
from tests.verification.drafts import behaves_as, draft, shout

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "extending"
EXAMPLES = ROOT / "docs" / "examples" / "extending"
WAIT_S = 300
SETTINGS = [f"ALITA_{name.upper()}" for name in Settings.model_fields]


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with PYTHONPATH=docs/examples/extending."""
    monkeypatch.syspath_prepend(str(EXAMPLES))


def test_each_page_is_short_and_leads_to_an_example_that_is_tested_here() -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    index = pages.pop("README.md")
    here = Path(__file__).read_text(encoding="utf-8")
    assert sorted(pages) == ["client.md", "embedder.md", "gate.md", "model.md", "sandbox.md"]
    for name, text in pages.items():
        assert f"({name})" in index
        assert len(text.splitlines()) <= 60
        shown = re.findall(r"\(\.\./examples/extending/(\w+)\.py\)", text)
        assert shown
        assert all((EXAMPLES / f"{each}.py").exists() and each in here for each in shown)


def test_each_command_of_a_page_is_one_that_exists() -> None:
    pages = [*PAGES.glob("*.md"), ROOT / "CONTRIBUTING.md"]
    blocks = [
        re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL) for page in pages
    ]
    lines = [
        shlex.split(line, comments=True) for found in blocks for block in found for line in block.splitlines()
    ]
    assert len(lines) >= 8
    for program, *words in lines:
        if program == "alita":
            assert parse_words(words)
        elif program == "make":
            assert f"\n{words[0]}:" in (ROOT / "Makefile").read_text("utf-8")
        elif program == "export":
            assert all(word.partition("=")[0] in ("PYTHONPATH", *SETTINGS) for word in words)
        else:
            assert (program, (ROOT / words[0]).suffix) == ("python", ".py")
            assert (ROOT / words[0]).exists()


def test_each_file_that_a_page_names_is_there() -> None:
    for page in PAGES.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        named = re.findall(r"`((?:alita_mcp|tests|docs)/[\w/.]+)`", text)
        named += [str(Path("docs/extending", link)) for link in re.findall(r"\]\(([\w/.-]+)\)", text)]
        assert [each for each in named if not (ROOT / each).exists()] == [], page.name


@pytest.mark.slow
@pytest.mark.usefixtures("importable")
async def test_the_sandbox_proves_itself_runs_and_writes_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ALITA_HOME", str(tmp_path))
    monkeypatch.setenv("ALITA_SANDBOX", "audited_sandbox:AuditedSandbox")
    with anyio.fail_after(WAIT_S):
        sandbox = await open_sandbox(read_settings())
        try:
            result = await sandbox.run(Job(code="def f(): return 6 * 7\n", function="f", arguments={}))
        finally:
            await sandbox.aclose()
    assert (sandbox.kind, result.value) == ("audited", 42)
    (line,) = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert json.loads(line).keys() == {"function", "status", "seconds"}


@pytest.mark.slow
@pytest.mark.usefixtures("importable")
def test_the_sandbox_keeps_every_claim_about_isolation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("ALITA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ALITA_SANDBOX", "audited_sandbox:AuditedSandbox")
    assert main(["doctor", "--sandbox"]) == 0, capsys.readouterr().out
    assert "✓ sandbox audited" in capsys.readouterr().out


def ollama(asked: list[dict[str, Any]]) -> httpx.AsyncClient:
    """An Ollama that writes the digit sum, or calls a tool where it is offered one."""

    def reply(request: httpx.Request) -> httpx.Response:
        question = json.loads(request.content)
        asked.append(question)
        text = "\n".join(message["content"] for message in question["messages"])
        if "Specify a tool" in text:
            said = json.dumps(authors.SPEC)
        elif "Test this tool" in text:
            said = json.dumps(authors.GOOD)
        else:
            said = authors.coded(authors.PLAIN)
        message: dict[str, Any] = {"role": "assistant", "content": said}
        if question.get("tools"):
            message["tool_calls"] = [{"function": {"name": "add", "arguments": {"a": 1}}}]
        return httpx.Response(200, json={"message": message, "prompt_eval_count": 5, "eval_count": 3})

    return httpx.AsyncClient(transport=httpx.MockTransport(reply), base_url="http://ollama.test")


async def test_the_model_says_what_it_is_asked_for_and_what_it_cost() -> None:
    asked: list[dict[str, Any]] = []
    tool = ToolSpec(name="add", description="Adds.", parameters={"type": "object"})
    earlier = Message(role="assistant", content="", calls=(ToolCall(id="call_0", name="add"),))
    async with ollama(asked) as client:
        model = example("ollama_model").OllamaModel(client, "qwen3")
        said = await model.complete([earlier], seed=4, schema={"type": "object"}, tools=[tool])
    assert (said.prompt_tokens, said.completion_tokens, said.truncated) == (5, 3, False)
    assert said.calls == (ToolCall(id="call_0", name="add", arguments={"a": 1}),)
    assert asked[0]["options"] == {"seed": 4}
    assert asked[0]["messages"][0]["tool_calls"][0]["function"]["name"] == "add"


@pytest.mark.parametrize("answer", [httpx.Response(500), httpx.Response(200, json={"no": "message"})])
async def test_a_model_that_does_not_answer_is_a_model_error(answer: httpx.Response) -> None:
    transport = httpx.MockTransport(lambda _request: answer)
    async with httpx.AsyncClient(transport=transport, base_url="http://ollama.test") as client:
        with pytest.raises(ModelError, match="qwen3"):
            await (
                example("ollama_model")
                .OllamaModel(client, "qwen3")
                .complete([Message(role="user", content="Hello")])
            )


@pytest.mark.slow
async def test_the_model_writes_a_tool_for_a_client(tmp_path: Path) -> None:
    ours = example("ollama_model")
    settings = Settings(
        home=tmp_path, sandbox="wasm", synthesis_mode="quick", limits=FixedLimits(answer_within_s=WAIT_S)
    )
    async with ollama([]) as http:
        with anyio.fail_after(WAIT_S):
            server = ours.server_with(settings, ours.OllamaModel(http, "qwen3"))
            async with Client(server) as client:
                made = await client.call_tool("synthesize_tool", {"description": authors.REQUEST})
                assert made.structured_content is not None
                assert made.structured_content["status"] == "created", made
                summed = await client.call_tool(
                    "run_tool", {"name": "digit_sum", "arguments": {"number": 123}}
                )
    assert summed.structured_content is not None
    assert "6" in json.dumps(summed.structured_content)


@pytest.mark.usefixtures("importable")
async def test_the_embedder_finds_words_that_are_misspelled(settings: Settings) -> None:
    named = settings.model_copy(update={"embedder": "trigram_embedder:TrigramEmbedder"})
    embedder = choose_embedder("trigram_embedder:TrigramEmbedder")
    one, same, other = await embedder.embed(["currency", "curency", "primes"])
    assert sum(map(float.__mul__, one, same)) > sum(map(float.__mul__, one, other))
    with anyio.fail_after(WAIT_S):
        async with open_library(named) as library:
            found = await library.search("unit convertion", 1)
    assert [hit.name for hit in found.results] == ["convert_units"]


WAITS = '''def wait(timeout: float) -> float:
    """Gives the time to wait.

    Args:
        timeout: How long{unit}.
    """
    return timeout
'''


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "trust"), [("", "provisional"), (", in seconds", "verified")])
async def test_the_gate_asks_for_units(unit: str, trust: str) -> None:
    examples = [{"arguments": {"timeout": number}, "expected": number} for number in (0.0, 1.5, -2.0)]
    asked = draft(name="wait", code=WAITS.replace("{unit}", unit)).model_dump() | {"examples": examples}
    with anyio.fail_after(WAIT_S):
        verdict = await example("units_gate").verify_with_units(
            draft().model_validate(asked), behaves_as(lambda timeout: timeout)
        )
    assert verdict.report.trust == trust, verdict.report
    assert [check.passed for check in verdict.report.checks if check.stage == "schema"] == [bool(unit)]


async def test_the_gate_leaves_other_tools_alone() -> None:
    with anyio.fail_after(WAIT_S):
        verdict = await example("units_gate").verify_with_units(draft(), behaves_as(shout))
    assert verdict.report.trust == "verified"


def test_the_client_gets_its_entry(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    launch = Launch("alita-mcp-server", (), {"ALITA_HOME": "/data"})
    apply_change(plan_install(example("own_client").OWN, launch, file))
    entry = json.loads(file.read_text())["servers"]["alita"]
    assert entry == {
        "exec": ["alita-mcp-server"], "variables": [{"name": "ALITA_HOME", "value": "/data"}],
    }  # fmt: skip
