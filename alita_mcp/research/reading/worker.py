"""Reading process: bodies on stdin, documents on stdout, with little memory and no right to write.

A request is a line of JSON and the body; an answer is a line of JSON with a `document`, or with why there is none.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress
from typing import Any

from alita_mcp.errors import UsageError
from alita_mcp.research.reading.documents import read_document

MEMORY_BYTES = 1_500 << 20
"""Of address space; a page of 5 MB takes a fifth of it."""
CPU_SECONDS = 30
"""For one body; the parent gives up before that, unless it is gone."""
IDLE_SECONDS = 60.0


def main() -> None:
    """Reads bodies until stdin ends or nothing comes for a while."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    sys.stdout = sys.stderr
    limit_process()
    while True:
        idle = threading.Timer(IDLE_SECONDS, os._exit, (0,))
        idle.daemon = True
        idle.start()
        line = requests.readline()
        idle.cancel()
        if not line:
            return
        limit_time()
        request = json.loads(line)
        answer = answer_request(request, requests.read(request["length"]))
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def answer_request(request: dict[str, Any], body: bytes) -> dict[str, Any]:
    """The answer for a body: a document, or the reason for none."""
    try:
        document = read_document(body, request["content_type"], request["url"])
    except UsageError as refused:
        return {"refused": refused.message, "hint": refused.hint}
    except MemoryError:
        return {"refused": "Reading it takes more memory than is allowed.", "hint": ""}
    except RecursionError:
        return {"refused": "It is nested too deeply to be read.", "hint": ""}
    return {"document": document.model_dump(mode="json")}


def limit_process() -> None:
    """Limits memory and written files where the system allows it, and writes no byte code.

    Python does not notice that a file of byte code was cut off at the limit, and would never import that module again.
    """
    sys.dont_write_bytecode = True
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))


def limit_time() -> None:
    """Limits the processor time of the next body."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        until = int(used.ru_utime + used.ru_stime) + CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
