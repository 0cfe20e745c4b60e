"""Processes forked from one that has imported what tests run in them, so that each starts in milliseconds."""

from __future__ import annotations

import multiprocessing

FORKED = multiprocessing.get_context("forkserver")

FORKED.set_forkserver_preload(
    [
        "alita_mcp.sandbox.broker.words",
        "alita_mcp.sandbox.broker.workspace",
        "alita_mcp.sandbox.runner.grants",
        "csv", "shutil", "sqlite3", "tempfile", "urllib.request",
    ]
)  # fmt: skip
