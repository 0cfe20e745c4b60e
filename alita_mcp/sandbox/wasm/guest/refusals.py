"""Refusals of threads and processes, with messages that say what to use instead."""

from __future__ import annotations

import _thread
import os
import re
import subprocess
import threading
from typing import Any, NoReturn

_THREADS = (
    "this sandbox starts no threads: use a plain loop, or concurrent.futures.ThreadPoolExecutor or asyncio.to_thread, "
    "which run one task after the other here"
)
_PROCESSES = "this sandbox starts no processes: do it in Python itself"
_STARTS = re.compile(r"fork|forkpty|system|posix_spawnp?|exec[lv]p?e?|spawn[lv]p?e?")


def install() -> None:
    """Replaces the functions that start threads and processes."""
    for module, name in (
        (_thread, "start_new_thread"), (_thread, "start_new"), (_thread, "start_joinable_thread"),
        (threading, "_start_joinable_thread"),
    ):  # fmt: skip
        setattr(module, name, _no_thread)
    subprocess.Popen.__init__ = _no_process
    vars(os)["__getattr__"] = _not_in_os


def _no_thread(*_arguments: Any, **_words: Any) -> NoReturn:
    raise RuntimeError(_THREADS)


def _no_process(*_arguments: Any, **_words: Any) -> NoReturn:
    raise OSError(_PROCESSES)


def _not_in_os(name: str) -> NoReturn:
    hint = f"; {_PROCESSES}" if _STARTS.fullmatch(name) else ""
    raise AttributeError(f"module 'os' has no attribute {name!r}{hint}", name=name, obj=os)
