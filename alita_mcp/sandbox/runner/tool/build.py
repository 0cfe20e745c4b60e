"""Process that runs a package builder program: `sys.argv` holds its name, payload file and result file."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any


def main(source: int, options: dict[str, Any]) -> None:
    """Entry point of the builder's bundle; its output goes to the host line by line."""
    os.close(source)
    for name in [name for name in sys.modules if name.partition(".")[0] == "alita_mcp"]:
        del sys.modules[name]
    sys.argv[:] = ["builder", options["payload_file"], options["result_file"]]
    program = json.loads(options["program"])
    status = 0
    try:
        exec(compile(program, "builder.py", "exec", dont_inherit=True), {"__name__": "__main__"})
    except SystemExit as stop:
        status = _exit_status(stop.code)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _exit_status(code: object) -> int:
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1
