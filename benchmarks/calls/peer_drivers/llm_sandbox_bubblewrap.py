"""llm-sandbox with its bubblewrap back end: `run` in an open session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from json_lines import serve
from llm_sandbox import SandboxBackend, SandboxSession


@contextmanager
def opened() -> Iterator[Callable[[str], str]]:
    """An open session; closed by the driver itself, because its files lie on this machine."""
    with SandboxSession(
        backend=SandboxBackend.BUBBLEWRAP, lang="python", skip_environment_setup=True
    ) as session:

        def run(program: str) -> str:
            result = session.run(program)
            if result.exit_code:
                raise RuntimeError(result.stderr)
            return str(result.stdout)

        yield run


if __name__ == "__main__":
    serve("llm-sandbox", opened())
