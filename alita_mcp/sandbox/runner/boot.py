"""Bootstrap of a sandbox's interpreter, passed to `python -c`: makes the modules of a bundle and enters its main.

Reads a length, a line end and so many bytes from the file descriptor in argv[1]. Must parse on old interpreters.
"""

from __future__ import annotations

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - an image may hold any Python
    os.write(2, b"Python 3.11 or newer is needed, this is " + sys.version.split()[0].encode())
    os._exit(64)

import json
import types


def take(source: int, length: int) -> bytes:
    """Reads exactly `length` bytes; an early end of the stream ends the process, since the host is gone."""
    data = b""
    while len(data) < length:
        piece = os.read(source, length - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data


def offer_to_the_kernel() -> None:
    """Makes the kernel choose this process first when memory runs out; only a fresh one may still say so."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def boot(source: int) -> None:
    """Makes modules of the bundle, in its order, and enters the one it names."""
    if source:  # the supervisor reads its own bundle from stdin, and must be the last to go
        offer_to_the_kernel()
    line = b""
    while not line.endswith(b"\n"):
        line += take(source, 1)
    bundle = json.loads(take(source, int(line)))
    for name in bundle["packages"]:
        package = types.ModuleType(name)
        package.__path__ = []
        sys.modules[name] = package
    for name, code in bundle["modules"]:
        module = types.ModuleType(name)
        sys.modules[name] = module
        exec(compile(code, f"<{name}>", "exec"), module.__dict__)
    sys.modules[bundle["entry"]].main(source, bundle["options"])


if __name__ == "__main__":
    boot(int(sys.argv[1]))
