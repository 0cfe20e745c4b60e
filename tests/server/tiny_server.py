"""A server with the real transports and nothing behind them; started by tests as a script.

First argument: `stdio` or `http`. A child process stands for a sandbox: opened with the server, ended by its
clean-up. Environment: TINY_PRINT_AT_IMPORT, TINY_SLOW_IMPORT, TINY_SLOW_CLEANUP, TINY_BROKEN, and
TINY_RELEASE, the file that ends the calls of `hold`.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import os
import subprocess
import sys
import time
import types
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any


class _Noise(importlib.abc.MetaPathFinder):
    """Prints, or takes its time, when the SDK is imported, as some libraries do."""

    def find_spec(self, name: str, *_rest: object) -> None:
        if name == "mcp":
            if os.environ.get("TINY_PRINT_AT_IMPORT"):
                shout("import")
            if os.environ.get("TINY_SLOW_IMPORT"):
                print("importing", file=sys.stderr, flush=True)
                time.sleep(300)


def shout(where: str) -> None:
    """Prints in every way that could reach descriptor 1."""
    print(f"STRAY print at {where}")
    os.write(1, f"STRAY write at {where}\n".encode())
    subprocess.run([sys.executable, "-c", f"print('STRAY child at {where}')"], check=True)
    subprocess.run(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], check=True
    )  # takes nothing, ends at once
    if os.name == "posix":
        libc = ctypes.CDLL(None)
        libc.printf(b"STRAY printf\n")
        libc.fflush(None)


def leave_time() -> None:
    """Lets the clean-up take what it takes on a busy machine, unless that is what a test is about."""
    from alita_mcp.server.transports import shutdown as ending

    if not os.environ.get("TINY_SLOW_CLEANUP"):
        ending.END_WITHIN_S = 120


def build_server(_settings: object) -> Any:
    import anyio
    import mcp_types
    from mcp.server.lowlevel import Server

    from alita_mcp.errors import LibraryError

    leave_time()

    @asynccontextmanager
    async def lifespan(_server: object) -> AsyncIterator[None]:
        broken = os.environ.get("TINY_BROKEN")
        if broken:
            raise LibraryError("The library is broken.") if broken == "library" else RuntimeError("a defect")
        sandbox = await anyio.open_process(
            [sys.executable, "-c", "import time; time.sleep(300)"],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        print("sandbox", sandbox.pid, file=sys.stderr, flush=True)
        try:
            yield
        finally:
            await anyio.sleep(0.05)
            if os.environ.get("TINY_SLOW_CLEANUP"):
                await anyio.sleep(300)
            sandbox.kill()
            await sandbox.wait()
            print("cleaned up", file=sys.stderr, flush=True)

    async def list_tools(_context: object, _params: object) -> mcp_types.ListToolsResult:
        schema = {"type": "object", "properties": {}}
        return mcp_types.ListToolsResult(
            tools=[
                mcp_types.Tool(name=name, description=name, input_schema=schema)
                for name in ("shout", "wait", "block", "hold", "echo")
            ]
        )

    async def call_tool(_context: object, params: Any) -> mcp_types.CallToolResult:
        if params.name == "shout":
            shout("call")
        if params.name == "block":
            print("blocking", file=sys.stderr, flush=True)
            time.sleep(300)  # noqa: ASYNC251 - blocks the loop on purpose
        if params.name == "wait":
            print("waiting", file=sys.stderr, flush=True)
            try:
                await anyio.sleep(300)
            finally:
                print("call cancelled", file=sys.stderr, flush=True)
        if params.name == "hold":
            print("holding", file=sys.stderr, flush=True)
            while not await anyio.Path(os.environ["TINY_RELEASE"]).exists():  # noqa: ASYNC110 - another process
                await anyio.sleep(0.02)
        text = str((params.arguments or {}).get("text", ""))
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=text)])

    return Server("tiny", version="1", lifespan=lifespan, on_list_tools=list_tools, on_call_tool=call_tool)


def main() -> None:
    if sys.argv[1] == "stdio":
        sys.meta_path.insert(0, _Noise())
        stand_in = types.ModuleType("alita_mcp.server.build")
        stand_in.build_server = build_server  # type: ignore[attr-defined]
        sys.modules["alita_mcp.server.build"] = stand_in
        from alita_mcp.server.transports.entry import main as serve_stdio

        del sys.argv[1:]
        serve_stdio()
    import anyio

    from alita_mcp.server.transports.http import serve_http
    from alita_mcp.settings import read_settings

    settings = read_settings()
    token = settings.token.get_secret_value() if settings.token else None
    serve = partial(serve_http, settings, "127.0.0.1", 0, token=token, server=build_server(settings))
    sys.exit(anyio.run(serve))


if __name__ == "__main__":
    main()
