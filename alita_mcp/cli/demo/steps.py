"""Script of the demo: an MCP client against the server process, every step checked."""

from __future__ import annotations

import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import SocketAttribute, SocketStream
from mcp import Client, StdioServerParameters

from alita_mcp.cli.demo import tools as demo_tools
from alita_mcp.cli.demo.scene import Scene, expect, fail
from alita_mcp.cli.output import compact_json
from alita_mcp.exception_groups import unwrap_groups
from alita_mcp.settings import Settings, inherited_environment
from alita_mcp.values import META_TOOLS

STEPS = 10
PATIENCE_S = 60.0
"""How long any one answer may take."""
_KEPT_SETTINGS = ("docker_image", "allow_weak_limits", "log_level")


class Connection:
    """A client on one server process, which hears when the list of tools changes."""

    def __init__(self, client: Client, scene: Scene, changed: anyio.Event) -> None:
        self.client = client
        self.changed = changed
        self._scene = scene

    async def names(self) -> list[str]:
        """The tools that the server lists."""
        with anyio.fail_after(PATIENCE_S):
            return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """One call; progress is shown as it comes."""

        async def show(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
            if message:
                self._scene.show_event(message)

        with anyio.fail_after(PATIENCE_S), self._scene.wait(name):
            return await self.client.call_tool(name, arguments, progress_callback=show)


def server_parameters(home: Path, settings: Settings, sandbox: str) -> StdioServerParameters:
    """How the server is started: as a client's configuration would, on a home of its own."""
    kept = [name for name in _KEPT_SETTINGS if name in settings.model_fields_set]
    own = {f"ALITA_{name.upper()}": str(getattr(settings, name)) for name in kept}
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "alita_mcp.server.transports.entry"],
        env={**inherited_environment(), **own, "ALITA_HOME": str(home), "ALITA_SANDBOX": sandbox},
    )


@asynccontextmanager
async def connection(parameters: StdioServerParameters, scene: Scene, mode: str) -> AsyncIterator[Connection]:
    """Starts a server process and connects to it; leaving it ends the process."""
    changed = anyio.Event()

    async def on_message(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed.set()

    with unwrap_groups():
        async with Client(parameters, mode=mode, message_handler=on_message) as client:
            yield Connection(client, scene, changed)


async def play(
    folder: Path, settings: Settings, sandbox: str, scene: Scene, *, good: dict[str, Any] = demo_tools.GOOD
) -> None:
    """The whole demo in a folder of its own; `good` is the tool that is to get through.

    Raises:
        DemoFailed: a step did not do what it says.
    """
    server_process = server_parameters(folder / "home", settings, sandbox)
    async with AsyncExitStack() as server:
        with scene.step("An agent's client starts the server"):
            scene.ask(f"alita-mcp-server, over stdio, with a new library; tools run in {sandbox}")
            here = await server.enter_async_context(connection(server_process, scene, "legacy"))
            await _greeting(here, scene)
        await _nothing_found(here, scene)
        await _made(here, scene, good)
        await _announced(here, scene)
        with scene.step("It calls the new tool like any other"):
            await _calls_the_tool(here, scene)
        await _wrong_refused(here, scene)
        await _thief_refused(here, scene, folder)
        await _caller_refused(here, scene)
    async with AsyncExitStack() as server:
        with scene.step("The server is stopped and started again"):
            scene.show_event("the first process has ended")
            here = await server.enter_async_context(connection(server_process, scene, "auto"))
            await _still_there(here, scene)
        await _found_again(here, scene)


async def _greeting(here: Connection, scene: Scene) -> None:
    names = await here.names()
    server = here.client.server_info
    expect(server is not None and names[: len(META_TOOLS)] == list(META_TOOLS), f"it lists {names}")
    expect(demo_tools.GOOD["name"] not in names, "the library is not empty")
    scene.show_event(f"connected, protocol {here.client.protocol_version}")
    scene.show_answer(f"the fixed tools: {', '.join(META_TOOLS)}")
    scene.show_answer(f"the starter tools: {', '.join(names[len(META_TOOLS) :])}")


async def _nothing_found(here: Connection, scene: Scene) -> None:
    with scene.step("It looks for a tool, and there is none"):
        scene.ask(f"search_capabilities: {demo_tools.NEED!r}")
        found = _structured(await here.call("search_capabilities", {"query": demo_tools.NEED}))
        expect(found["fit"] == "none", f"the search says {found['fit']!r}: {compact_json(found)}")
        scene.show_answer(f"fit: none, of {found['total']} tools")


async def _made(here: Connection, scene: Scene, good: dict[str, Any]) -> None:
    with scene.step("It writes one, with tests, and hands it in"):
        scene.ask(f"synthesize_tool: {good['name']}, {len(good['tests'])} tests")
        made = _structured(await here.call("synthesize_tool", good))
        if made["status"] != "created":
            fail(f"{made['status']}: {made.get('reason', compact_json(made))} {made.get('fix', '')}")
        whole = f"{len(good['tests'])}/{len(good['tests'])}"
        expect(made["tests"] == whole and made["version"] == 1, compact_json(made))
        scene.show_answer(
            f"created {made['tool']} v{made['version']}: {made['trust']}, {made['tests']} tests pass"
        )


async def _announced(here: Connection, scene: Scene) -> None:
    with scene.step("The server tells its clients that the list has changed"):
        with anyio.fail_after(PATIENCE_S):
            await here.changed.wait()
        scene.show_answer("notifications/tools/list_changed")
        names = await here.names()
        expect(demo_tools.GOOD["name"] in names, f"the list is {names}")
        scene.show_answer(f"tools/list now has {demo_tools.GOOD['name']}")


async def _wrong_refused(here: Connection, scene: Scene) -> None:
    wrong = demo_tools.WRONG
    with scene.step("It hands in a tool with a mistake: 1900 was no leap year"):
        scene.ask(f"synthesize_tool: {wrong['name']}")
        answer = await here.call("synthesize_tool", wrong)
        refused = _structured(answer)
        expect(answer.is_error is True and refused.get("status") == "rejected", compact_json(refused))
        expect(
            (refused["stage"], refused["case"], refused["expected"], refused["got"])
            == ("examples", {"year": 1900}, 28, 29),
            compact_json(refused),
        )
        scene.show_refusal(
            f"rejected at {refused['stage']}: case {compact_json(refused['case'])}, "
            f"expected {refused['expected']}, got {refused['got']}"
        )
        scene.show_refusal(f"fix: {refused['fix']}")
        expect(wrong["name"] not in await here.names(), "it was published")


async def _thief_refused(here: Connection, scene: Scene, folder: Path) -> None:
    secret, harmless = folder / "secret.txt", folder / "note.txt"
    key = secrets.token_hex(16)
    secret.write_text(key, encoding="utf-8")
    harmless.write_text("buy milk", encoding="utf-8")
    tool = demo_tools.thief(str(secret), str(harmless))
    with scene.step("It hands in a tool that reads this machine's files"):
        answer = await _refused(here, scene, tool)
        expect(key not in answer.model_dump_json(), "the tool has read the file")
        scene.show_event("the file's content is nowhere in the answer")


async def _caller_refused(here: Connection, scene: Scene) -> None:
    heard: list[bytes] = []

    async def answer(visitor: SocketStream) -> None:
        async with visitor:
            heard.append(await visitor.receive())
            await visitor.send(b"heard " + heard[-1])

    with scene.step("It hands in a tool that calls home"):
        async with (
            await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(listener.serve, answer)
            port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - a socket's attribute, no SQL
            await _refused(here, scene, demo_tools.caller(port))
            tasks.cancel_scope.cancel()
        expect(not heard, "the tool got through")
        scene.show_event("no request reached the address that it was to call")


async def _refused(here: Connection, scene: Scene, tool: dict[str, Any]) -> types.CallToolResult:
    """Hands in a hostile tool and expects a refusal that says how."""
    scene.ask(f"synthesize_tool: {tool['name']}")
    answer = await here.call("synthesize_tool", tool)
    refused = _structured(answer)
    expect(answer.is_error is True and refused.get("status") in ("rejected", "failed"), compact_json(refused))
    stage = f" at {refused['stage']}" if "stage" in refused else ""
    scene.show_refusal(f"{refused['status']}{stage}: {refused['reason']}")
    expect(tool["name"] not in await here.names(), "it was published")
    return answer


async def _still_there(here: Connection, scene: Scene) -> None:
    names = await here.names()
    expect(demo_tools.GOOD["name"] in names, f"the list is {names}")
    scene.show_event(f"connected, protocol {here.client.protocol_version}")
    scene.show_answer(f"{demo_tools.GOOD['name']} is still listed")


async def _found_again(here: Connection, scene: Scene) -> None:
    words = demo_tools.NEED_IN_OTHER_WORDS
    with scene.step("Another day, it asks in other words and finds it"):
        scene.ask(f"search_capabilities: {words!r}")
        found = _structured(await here.call("search_capabilities", {"query": words}))
        best = found["results"][0]["name"] if found["results"] else None
        expect(found["fit"] != "none" and best == demo_tools.GOOD["name"], compact_json(found))
        scene.show_answer(f"fit: {found['fit']}, {best}, {found['results'][0]['signature']}")
        await _calls_the_tool(here, scene)


async def _calls_the_tool(here: Connection, scene: Scene) -> None:
    for arguments, right in demo_tools.CALLS:
        scene.ask(f"{demo_tools.GOOD['name']} {compact_json(arguments)}")
        answer = await here.call(demo_tools.GOOD["name"], arguments)
        expect(not answer.is_error and _structured(answer) == {"result": right}, answer.model_dump_json())
        scene.show_answer(compact_json(_structured(answer)))


def _structured(answer: types.CallToolResult) -> dict[str, Any]:
    if answer.structured_content is None:
        fail(answer.model_dump_json())
    content: dict[str, Any] = answer.structured_content
    return content
