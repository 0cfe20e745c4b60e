"""Builder of environments on the host, for the sandbox that cannot run uv; wheels are unpacked, never executed.

It sees no configuration and no variables of the user's, a temporary folder of its own, and the index alone, through a
proxy. What it may use is bounded by the proxy and by its own process (`packages/host_build.py`).
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from anyio.abc import ByteStream, SocketAttribute

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.exception_groups import unwrap_groups
from alita_mcp.sandbox.interface import Environment, Progress
from alita_mcp.sandbox.network.egress_policies import AllowList
from alita_mcp.sandbox.network.proxy import serve
from alita_mcp.sandbox.packages.builder import (
    BUILD_SCRATCH_BYTES,
    BUILD_SECONDS,
    MAX_RESULT_BYTES,
    build_failure,
)
from alita_mcp.sandbox.packages.uv_binary import own_uv
from alita_mcp.sandbox.wasm.build import PYTHON
from alita_mcp.sandbox.wasm.process import helper_process, module_command

PLATFORM = "x86_64-manylinux_2_28"
"""Whose wheels are taken where a package has no pure one: the modules in Python are used, native ones left out."""
MEMORY_BYTES = 2 << 30
MAX_DOWNLOAD_BYTES = 512 << 20
_END_SECONDS = 5.0
_LONGEST_LINE = 2_000
_GONE = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)


class HostBuilder:
    """Builder that runs only our own builder program, on the host; the process confines itself (`host_build`)."""

    find_uv = staticmethod(own_uv)

    async def run_build(
        self, request: dict[str, Any], hosts: frozenset[str], on_line: Progress, uv: Environment | None = None
    ) -> bytes:
        """Bytes that the builder program gives for a request; see `environments.BackEnd`.

        Raises:
            SandboxUnavailable: uv is not installed with this package.
        """
        del uv  # of a sandbox that runs it; here it is the machine's own
        program = await to_thread.run_sync(self.find_uv)
        if program is None:
            raise SandboxUnavailable(
                "uv, which fetches packages, is not installed.", hint="pip install --force-reinstall uv"
            )
        on_host = {
            "options": ["--python-version", PYTHON, "--python-platform", PLATFORM],
            "memory_bytes": MEMORY_BYTES,
            "scratch_bytes": BUILD_SCRATCH_BYTES,
        }
        request = request | {"uv": str(program), "on_host": on_host}
        policy = AllowList(hosts, MAX_DOWNLOAD_BYTES)

        async def answer(stream: ByteStream) -> None:
            with suppress(*_GONE):
                async with stream:
                    await serve(stream, policy)

        # uv reaches the index alone: through this proxy on loopback, which ends with the build
        with (
            unwrap_groups(),
            tempfile.TemporaryDirectory(prefix="alita-packages-", ignore_cleanup_errors=True) as folder,
        ):
            async with (
                await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(listener.serve, answer)
                port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - not Django's
                result = await _run(Path(folder), request | {"proxy": f"http://127.0.0.1:{port}"}, on_line)
                tasks.cancel_scope.cancel()
            return result
        raise AssertionError


async def _run(work: Path, request: dict[str, Any], on_line: Progress) -> bytes:
    """Runs the builder program; it ends, and uv with it, when its input does."""
    asked, answered = work / "payload", work / "result"
    await to_thread.run_sync(asked.write_text, json.dumps(request), "utf-8")
    argv = module_command("alita_mcp.sandbox.packages.host_build", str(asked), str(answered))
    with tempfile.TemporaryFile() as complaints:
        async with helper_process(argv, cwd=work, stderr=complaints) as process:
            assert process.stdin is not None  # noqa: S101 - opened with pipes
            assert process.stdout is not None  # noqa: S101
            try:
                rest = b""
                with anyio.move_on_after(BUILD_SECONDS):
                    async for data in process.stdout:
                        *lines, rest = (rest[:_LONGEST_LINE] + data).split(b"\n")
                        for line in lines:
                            await on_line(line.decode("utf-8", "replace"))
                    await process.wait()
                status = process.returncode
            finally:
                with anyio.move_on_after(_END_SECONDS, shield=True):
                    await process.stdin.aclose()
                    await process.wait()
        complaints.seek(max(0, complaints.seek(0, os.SEEK_END) - _LONGEST_LINE))
        last = complaints.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
    if status is None:
        raise build_failure(f"The build took more than {BUILD_SECONDS:g} s.", lacks_room=True)
    if status:
        lacks_room = status < 0 or "No space left" in last
        raise build_failure(f"The build failed: {last or f'status {status}'}.", lacks_room=lacks_room)
    if answered.stat().st_size > MAX_RESULT_BYTES:
        raise build_failure("They take more room than an environment may have.", lacks_room=True)
    return await to_thread.run_sync(answered.read_bytes)
