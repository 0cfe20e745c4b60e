"""Stands between a client and a server over stdio: `python wire.py LOG COMMAND…` keeps every line of both in LOG.

Each line of LOG is one message: `{"at": seconds, "from": "client" | "server", "message": …}`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]
"""What the server is imported from: Gemini CLI keeps PYTHONPATH to itself."""


def copy(source: IO[bytes], target: IO[bytes], sender: str, log: IO[bytes]) -> None:
    for line in source:
        said = {"at": time.monotonic(), "from": sender, "message": json.loads(line)}
        log.write(json.dumps(said).encode() + b"\n")
        target.write(line)
        target.flush()
    target.close()


def main(file: str, *command: str) -> int:
    with open(file, "ab", buffering=0) as log:  # noqa: PTH123 - pathlib would start later
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        server = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert server.stdin
        assert server.stdout
        inwards = (sys.stdin.buffer, server.stdin, "client", log)
        threading.Thread(target=copy, args=inwards, daemon=True).start()
        copy(server.stdout, sys.stdout.buffer, "server", log)
        return server.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
