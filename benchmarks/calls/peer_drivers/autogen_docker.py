"""autogen-ext's DockerCommandLineCodeExecutor: a code block in a started container. Argument: the image."""

from __future__ import annotations

import asyncio  # noqa: TID251 - the peer is written for it
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock
from autogen_ext.code_executors.docker import DockerCommandLineCodeExecutor
from json_lines import serve


@contextmanager
def opened(image: str) -> Iterator[Callable[[str], str]]:
    """A started executor, with a loop of its own."""
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


if __name__ == "__main__":
    serve("autogen-ext", opened(sys.argv[1]))
