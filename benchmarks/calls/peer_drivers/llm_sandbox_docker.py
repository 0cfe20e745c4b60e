"""llm-sandbox with its docker back end: `run` in an open session. Argument: the image."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from json_lines import serve
from llm_sandbox import SandboxBackend, SandboxSession


@contextmanager
def opened(image: str) -> Iterator[Callable[[str], str]]:
    """An open session."""
    session = SandboxSession(
        backend=SandboxBackend.DOCKER,
        lang="python",
        image=image,
        keep_template=True,
        skip_environment_setup=True,
    )
    session.open()

    def run(program: str) -> str:
        result = session.run(program)
        if result.exit_code:
            raise RuntimeError(result.stderr)
        return str(result.stdout)

    yield run


if __name__ == "__main__":
    serve("llm-sandbox", opened(sys.argv[1]))
