"""smolagents' DockerExecutor: code in a live kernel. Argument: an image with a Jupyter kernel gateway."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from json_lines import serve
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.remote_executors import DockerExecutor


@contextmanager
def opened(image: str) -> Iterator[Callable[[str], str]]:
    """A running kernel."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    logger = AgentLogger(level=LogLevel.OFF)
    executor = DockerExecutor([], logger, port=port, image_name=image, build_new_image=False)

    def run(program: str) -> str:
        return str(executor.run_code_raise_errors(program).logs)

    yield run


if __name__ == "__main__":
    serve("smolagents", opened(sys.argv[1]))
