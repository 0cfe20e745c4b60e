"""JSON-lines exchange between drivers and the benchmark, on stdin and stdout.

First line out: `{"ready": true, "versions": {…}}` or `{"failed": "why"}`. Then for each line in, `{"a": …, "b": …}`,
one line out: `{"answer": …, "seconds": …}` or `{"failed": "why"}`. The end of stdin ends the driver.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

CODE = """import json
def add(a, b):
    return a + b
print(json.dumps(add(**json.loads({arguments!r}))))
"""


def code_for(arguments: dict[str, int]) -> str:
    """The work as a program, for peers that run programs."""
    return CODE.format(arguments=json.dumps(arguments))


def serve(distribution: str, opened: contextlib.AbstractContextManager[Callable[[str], str]]) -> None:
    """Serves requests until stdin ends; only the peer's own work on a program is timed."""
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever the peer prints must not be taken for an answer
    try:
        with opened as run:
            _say(lines, ready=True, versions={distribution: version(distribution)})
            for line in sys.stdin:
                arguments = json.loads(line)
                program = code_for(arguments)
                started = time.perf_counter()
                printed = run(program)
                seconds = time.perf_counter() - started
                _say(lines, answer=json.loads(printed), seconds=seconds)
    except Exception as failed:  # noqa: BLE001 - whatever a peer raises is the answer
        _say(lines, failed=f"{type(failed).__name__}: {failed}"[:500])
    finally:
        lines.flush()
        os._exit(0)  # closing takes some peers ten seconds; the benchmark removes what they started


def _say(lines: object, **words: object) -> None:
    print(json.dumps(words), file=lines, flush=True)  # type: ignore[call-overload]
