"""Script of the demo: an MCP client against the server process, every step checked and printed."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters
from rich.console import Console
from rich.text import Text

from alita_mcp.cli.demo import tools as demo_tools
from alita_mcp.cli.output import compact_json
from alita_mcp.errors import AlitaError
from alita_mcp.exception_groups import unwrap_groups
from alita_mcp.settings import Settings, child_environment
from alita_mcp.unseen import spell_hidden
from alita_mcp.values import META_TOOLS

STEPS = 9
PATIENCE_S = 180.0
"""How long any one answer may take: the first one may wait until the embedded Python is compiled."""
KEPT_SETTINGS = ("docker_image", "log_level")
STYLES = {"→": "", "←": "green", "·": "dim", "✗": "yellow"}
"""Marks of a request, of its result, of an event between the two, and of an expected refusal."""


class DemoFailed(AlitaError):
    """A step did not do what it says."""


def expect(claim: bool, otherwise: str) -> None:
    """Ends the demo with status 1 when a claim does not hold."""
    if not claim:
        raise DemoFailed(f"This step did not do what it says: {otherwise}")


class Scene:
    """Prints numbered steps, coloured on a terminal, and keeps them for `--json`."""

    def __init__(self, *, to_stderr: bool = False) -> None:
        self.console = Console(file=sys.stderr if to_stderr else sys.stdout, highlight=False)
        self.steps: list[dict[str, Any]] = []

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Prints the title of a step and keeps its lines; one that ends without an error is marked as passed."""
        started = time.monotonic()
        self.steps.append({"title": title, "told": [], "ok": False})
        self.print_line(f"[{len(self.steps)}/{STEPS}] {title}", "bold cyan")
        yield
        self.steps[-1] |= {"ok": True, "seconds": round(time.monotonic() - started, 2)}

    def tell(self, mark: str, text: str) -> None:
        """Prints a line of the step; `mark` says what it is."""
        self.steps[-1]["told"].append(f"{mark} {text}")
        self.print_line(f"      {mark} {text}", STYLES[mark])

    def print_line(self, text: str, style: str) -> None:
        """Prints a line; strangers may have written parts of it."""
        self.console.print(Text(spell_hidden(text), style=style), soft_wrap=True)


class Connection:
    """A client on one server process, which hears when the list of tools changes."""

    def __init__(self, client: Client, scene: Scene, changed: anyio.Event) -> None:
        self.client = client
        self.changed = changed
        self._scene = scene

    async def list_names(self) -> list[str]:
        """The tools that the server lists."""
        with anyio.fail_after(PATIENCE_S):
            return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call_tool(
        self, name: str, arguments: dict[str, Any]
    ) -> tuple[dict[str, Any], types.CallToolResult]:
        """One call: the structured result, and all of it; progress is shown as it comes."""

        async def show_progress(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
            if message:
                self._scene.tell("·", message)

        with anyio.fail_after(PATIENCE_S):
            result = await self.client.call_tool(name, arguments, progress_callback=show_progress)
        expect(result.structured_content is not None, result.model_dump_json())
        return result.structured_content or {}, result


@asynccontextmanager
async def connect(
    home: Path, settings: Settings, sandbox: str, scene: Scene, mode: str
) -> AsyncIterator[Connection]:
    """Starts a server as a client's configuration would, on a home of its own; leaving it ends the process."""
    own = {
        f"ALITA_{name.upper()}": str(getattr(settings, name))
        for name in KEPT_SETTINGS
        if name in settings.model_fields_set
    }
    own |= {"ALITA_HOME": str(home), "ALITA_SANDBOX": sandbox, "ALITA_SHARED": "off"}
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "alita_mcp.server.transports.entry"],
        env={**child_environment(), **own},
    )
    changed = anyio.Event()

    async def hear_changes(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed.set()

    with unwrap_groups():
        async with Client(parameters, mode=mode, message_handler=hear_changes) as client:
            scene.tell("·", f"connected, protocol {client.protocol_version}")
            yield Connection(client, scene, changed)


async def play(
    folder: Path, settings: Settings, sandbox: str, scene: Scene, *, good: Mapping[str, Any] = demo_tools.GOOD
) -> None:
    """The whole demo in a folder of its own; `good` is the tool that is to get through.

    Raises:
        DemoFailed: a step did not do what it says.
    """
    home, name = folder / "home", good["name"]
    async with AsyncExitStack() as server:
        with scene.step("An agent's client starts the server"):
            scene.tell("→", f"alita-mcp-server, over stdio, with a new library; tools run in {sandbox}")
            here = await server.enter_async_context(connect(home, settings, sandbox, scene, "legacy"))
            names = await here.list_names()
            expect(names[: len(META_TOOLS)] == list(META_TOOLS), f"it lists {names}")
            expect(name not in names, "the library is not empty")
            scene.tell("←", f"the fixed tools: {', '.join(META_TOOLS)}")
            scene.tell("←", f"the starter tools: {', '.join(names[len(META_TOOLS) :])}")
        with scene.step("It looks for a tool, and there is none"):
            scene.tell("→", f"search_capabilities: {demo_tools.NEED!r}")
            found, _ = await here.call_tool("search_capabilities", {"query": demo_tools.NEED})
            expect(found["fit"] == "none", f"the search says {found['fit']!r}: {compact_json(found)}")
            scene.tell("←", f"fit: none, of {found['total']} tools")
        with scene.step("It writes one, with tests, and hands it in"):
            tests = len(good["tests"])
            scene.tell("→", f"synthesize_tool: {name}, {tests} tests")
            made, _ = await here.call_tool("synthesize_tool", dict(good))
            expect(made["status"] == "created" and made["tests"] == f"{tests}/{tests}", compact_json(made))
            scene.tell("←", f"created {name} v{made['version']}: {made['trust']}, {made['tests']} tests pass")
        with scene.step("The server tells its clients that the list has changed"):
            with anyio.fail_after(PATIENCE_S):
                await here.changed.wait()
            scene.tell("←", "notifications/tools/list_changed")
            names = await here.list_names()
            expect(name in names, f"the list is {names}")
            scene.tell("←", f"tools/list now has {name}")
        with scene.step("It calls the new tool like any other"):
            await call_good_tool(here, scene)
        with scene.step("It hands in a tool with a mistake: 1900 was no leap year"):
            refused, _ = await submit_bad_tool(here, scene, demo_tools.WRONG)
            got = [refused.get(field) for field in ("stage", "case", "expected", "got")]
            expect(got == ["examples", {"year": 1900}, 28, 29], compact_json(refused))
            scene.tell("✗", 'rejected at examples: case {"year": 1900}, expected 28, got 29')
            scene.tell("✗", f"fix: {refused['fix']}")
        with scene.step("It hands in a tool that reads this machine's files"):
            key = secrets.token_hex(16)
            (folder / "secret.txt").write_text(key, encoding="utf-8")
            (folder / "note.txt").write_text("buy milk", encoding="utf-8")
            thief = demo_tools.thief(str(folder / "secret.txt"), str(folder / "note.txt"))
            refused, answer = await submit_bad_tool(here, scene, thief)
            stage = f" at {refused['stage']}" if "stage" in refused else ""
            scene.tell("✗", f"{refused['status']}{stage}: {refused['reason']}")
            expect(key not in answer.model_dump_json(), "the tool has read the file")
            scene.tell("·", "the file's content is nowhere in the answer")
    async with AsyncExitStack() as server:
        with scene.step("The server is stopped and started again"):
            scene.tell("·", "the first process has ended")
            here = await server.enter_async_context(connect(home, settings, sandbox, scene, "auto"))
            names = await here.list_names()
            expect(name in names, f"the list is {names}")
            scene.tell("←", f"{name} is still listed")
        with scene.step("Another day, it asks in other words and finds it"):
            need = demo_tools.NEED_IN_OTHER_WORDS
            scene.tell("→", f"search_capabilities: {need!r}")
            found, _ = await here.call_tool("search_capabilities", {"query": need})
            expect(found["fit"] != "none" and found["results"][0]["name"] == name, compact_json(found))
            scene.tell("←", f"fit: {found['fit']}, {name}, {found['results'][0]['signature']}")
            await call_good_tool(here, scene)


async def call_good_tool(here: Connection, scene: Scene) -> None:
    """Calls the good tool, and expects the right results."""
    name = demo_tools.GOOD["name"]
    for arguments, right in demo_tools.CALLS:
        scene.tell("→", f"{name} {compact_json(arguments)}")
        result, answer = await here.call_tool(name, arguments)
        expect(not answer.is_error and result == {"result": right}, answer.model_dump_json())
        scene.tell("←", compact_json(result))


async def submit_bad_tool(
    here: Connection, scene: Scene, tool: dict[str, Any]
) -> tuple[dict[str, Any], types.CallToolResult]:
    """Hands in a tool and expects an error that says how it was refused, and that nothing was published."""
    scene.tell("→", f"synthesize_tool: {tool['name']}")
    refused, answer = await here.call_tool("synthesize_tool", tool)
    expect(answer.is_error and refused.get("status") in ("rejected", "failed"), compact_json(refused))
    expect(tool["name"] not in await here.list_names(), "it was published")
    return refused, answer
