"""Processes forked from one that has imported what tests run in them, so that each starts in milliseconds."""

from __future__ import annotations

import multiprocessing
import traceback
from contextlib import redirect_stdout
from io import StringIO
from multiprocessing.connection import Connection

FORKED = multiprocessing.get_context("forkserver")

FORKED.set_forkserver_preload(
    [
        "alita_mcp.sandbox.broker.requests",
        "alita_mcp.sandbox.broker.workspace",
        "csv", "shutil", "sqlite3", "tempfile", "urllib.request",
        "tests.verification.trusting_sandbox",
    ]
)  # fmt: skip


def printed(program: str) -> str:
    """What a program prints in a process of its own; its failure is the caller's."""
    ours, theirs = FORKED.Pipe()
    with ours:
        process = FORKED.Process(target=_print, args=(theirs, program))
        process.start()
        theirs.close()
        assert ours.poll(60)
        said, failure = ours.recv()
        process.join()
    assert not failure, failure
    return str(said)


def _print(line: Connection, program: str) -> None:
    failure = ""
    with redirect_stdout(StringIO()) as said:
        try:
            exec(program, {"__name__": "printed"})
        except BaseException:  # noqa: BLE001 - told to the caller
            failure = traceback.format_exc()
    line.send((said.getvalue(), failure))
