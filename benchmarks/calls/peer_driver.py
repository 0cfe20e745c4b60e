"""Drives one peer's sandbox; started by the Python of the peer's own environment as `peer_driver.py NAME [IMAGE]`.

First line out: `{"ready": true, "versions": {…}}` or `{"failed": "why"}`. Then for each line in, `{"a": …, "b": …}`,
one line out: `{"answer": …, "seconds": …}` or `{"failed": "why"}`. The end of stdin ends the driver.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 - a peer is written for it
import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version

CODE = """import json
def add(a, b):
    return a + b
print(json.dumps(add(**json.loads({arguments!r}))))
"""
Run = Callable[[str], str]
"""Runs a program and gives what it printed."""


@contextmanager
def llm_sandbox(image: str = "") -> Iterator[Run]:
    """`run` in an open session, with its docker back end or, without an image, with its bubblewrap one."""
    from llm_sandbox import SandboxBackend, SandboxSession

    options = {"lang": "python", "skip_environment_setup": True}
    if image:
        options |= {"backend": SandboxBackend.DOCKER, "image": image, "keep_template": True}
    else:
        options |= {"backend": SandboxBackend.BUBBLEWRAP}
    with SandboxSession(**options) as session:

        def run(program: str) -> str:
            result = session.run(program)
            if result.exit_code:
                raise RuntimeError(result.stderr)
            return str(result.stdout)

        yield run


@contextmanager
def smolagents(image: str) -> Iterator[Run]:
    """DockerExecutor: code in a live kernel, of an image with a Jupyter kernel gateway."""
    from smolagents.monitoring import AgentLogger, LogLevel
    from smolagents.remote_executors import DockerExecutor

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    logger = AgentLogger(level=LogLevel.OFF)
    executor = DockerExecutor([], logger, port=port, image_name=image, build_new_image=False)
    yield lambda program: str(executor.run_code_raise_errors(program).logs)


@contextmanager
def autogen_ext(image: str) -> Iterator[Run]:
    """DockerCommandLineCodeExecutor: a code block in a started container."""
    from autogen_core import CancellationToken
    from autogen_core.code_executor import CodeBlock
    from autogen_ext.code_executors.docker import DockerCommandLineCodeExecutor

    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as loop:
        executor = DockerCommandLineCodeExecutor(image=image, work_dir=folder, delete_tmp_files=True)
        loop.run(executor.start())

        def run(program: str) -> str:
            block = CodeBlock(code=program, language="python")
            result = loop.run(executor.execute_code_blocks([block], CancellationToken()))
            if result.exit_code:
                raise RuntimeError(result.output)
            return str(result.output)

        yield run


PEERS = {"llm-sandbox": llm_sandbox, "smolagents": smolagents, "autogen-ext": autogen_ext}


def serve(distribution: str, *image: str) -> None:
    """Serves requests until stdin ends; only the peer's own work on a program is timed."""
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever the peer prints must not be taken for an answer

    def say(**words: object) -> None:
        print(json.dumps(words), file=lines, flush=True)

    try:
        with PEERS[distribution](*image) as run:
            say(ready=True, versions={distribution: version(distribution)})
            for line in sys.stdin:
                program = CODE.format(arguments=line)
                started = time.perf_counter()
                printed = run(program)
                say(answer=json.loads(printed), seconds=time.perf_counter() - started)
    except Exception as failed:  # noqa: BLE001 - whatever a peer raises is the answer
        say(failed=f"{type(failed).__name__}: {failed}"[:500])
    finally:
        lines.flush()
        os._exit(0)  # closing takes some peers ten seconds; the benchmark removes what they started


if __name__ == "__main__":
    serve(*sys.argv[1:])
