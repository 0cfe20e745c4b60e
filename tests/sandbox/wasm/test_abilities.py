"""What the embedded sandbox lacks is refused before the code runs; what the gate cannot see says so when it runs."""

from __future__ import annotations

import ast
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.wasm.abilities import LACKS, abilities
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Check
from alita_mcp.verification.static.imports import missing_checks
from tests.tables import each_case
from tests.verification.drafts import SHOUT

NAMES = tuple(name for lack in LACKS for name in lack.names)
NOT_UNIX = {"msvcrt", "nt", "winreg", "winsound", "_overlapped", "_winapi", "_wmi"}
WORKS_IN_PART = {
    "socket.socket", "socket.create_connection", "socket.create_server", "socket.socketpair", "socket.fromfd",
    "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyname_ex", "socket.gethostbyaddr",
    "socket.getnameinfo", "asyncio.open_connection", "asyncio.start_server", "ftplib", "imaplib", "poplib", "smtplib",
    "_thread.start_joinable_thread", "_thread.start_new_thread", "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell", "asyncio.subprocess", "concurrent.futures.ProcessPoolExecutor",
    "concurrent.futures.process", "ctypes", "http.server.ThreadingHTTPServer",
    "logging.handlers.QueueListener", "multiprocessing", "os.execl", "os.execle", "os.execlp", "os.execlpe",
    "os.execvp", "os.execvpe", "os.popen", "socketserver.ThreadingMixIn",
    "socketserver.ThreadingTCPServer", "subprocess", "threading.Thread", "threading.Timer",
}  # fmt: skip
"""What can be imported and looked up, but not used."""


@pytest.fixture
async def sandbox(settings: Settings) -> AsyncIterator[WasmSandbox]:
    opened = WasmSandbox(settings)
    yield opened
    await opened.aclose()


async def run(sandbox: WasmSandbox, code: str, **arguments: Any) -> RunResult:
    return await sandbox.run(Job(code=code, function="probe", arguments=arguments))


def missing(code: str) -> Check | None:
    found = missing_checks(ast.parse(code + SHOUT), abilities())
    return found[0] if found else None


@each_case(
    "code, named, instead",
    [
        ("import bz2\n", "bz2", "zlib, gzip or zipfile"),
        ("import ssl\n", "ssl", "urllib.request"),
        ("import socket\n_open = socket.create_connection\n", "socket.create_connection", "urllib.request"),
        ("import requests\n", "requests", "urllib.request"),
        ("from threading import Thread\n", "threading.Thread", "ThreadPoolExecutor"),
        ("import threading as t\n_start = t.Timer\n", "threading.Timer", "ThreadPoolExecutor"),
        ("import threading\nclass _Own(threading.Thread):\n    pass\n", "threading.Thread", "plain loop"),
        ("from concurrent.futures import ProcessPoolExecutor\n", "ProcessPoolExecutor", "ThreadPoolExecutor"),
        ("import subprocess\n", "subprocess", "do it in Python"),
        ("from os import system as _run\n", "os.system", "do it in Python"),
        ("from ctypes import c_int\n", "ctypes", "struct"),
        ("import turtle, tkinter.ttk\n", "tkinter.ttk, turtle", "return what there is to see"),
        ("import signal\n_alarm = signal.setitimer\n", "signal.setitimer", "time.monotonic"),
        ("import resource, pwd\n", "pwd, resource", "leave it out"),
        ("import dbm.gnu\n", "dbm.gnu", "sqlite3"),
        ("from hashlib import scrypt\n", "hashlib.scrypt", "hashlib.pbkdf2_hmac"),
    ],
)
def test_what_it_lacks_is_named_with_what_to_write_instead(code: str, named: str, instead: str) -> None:
    check = missing(code)
    assert check is not None
    assert named in check.message
    assert instead in check.fix
    assert "Install Docker" in check.fix


@each_case(
    "code",
    [
        "import threading\n_LOCK = threading.Lock()\n_EVENT = threading.Event\n_LOCAL = threading.local\n",
        "from concurrent.futures import ThreadPoolExecutor, as_completed\n",
        "import asyncio\n_inline = asyncio.to_thread\n",
        "import os\n_NAME = os.path.join('a', 'b')\n_COUNT = os.cpu_count\n_PID = os.getpid\n",
        "import signal, select, selectors, socket, hashlib\n_hash = hashlib.pbkdf2_hmac\n",
        "import zlib, gzip, zipfile, tarfile, dbm.dumb, sqlite3, tempfile, http.server, socketserver\n",
        "try:\n    import ssl\nexcept ImportError:\n    ssl = None\n",
        "import ssl_tools\n",
    ],
)
def test_what_it_has_passes(code: str) -> None:
    assert missing(code) is None


_IMPORTS = """
import importlib

def probe(names):
    failed = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            failed.append(name)
    return failed
"""
_LOOKS_UP = """
import importlib, pkgutil

def probe(names):
    found = []
    for name in names:
        try:
            if pkgutil.resolve_name(name) is not None:
                found.append(name)
        except (ImportError, AttributeError):
            pass
    return found
"""


async def test_each_public_module_of_the_standard_library_is_there_or_named(sandbox: WasmSandbox) -> None:
    modules = sorted(
        name
        for name in sys.stdlib_module_names
        if not name.startswith("_") and name not in {"antigravity", "this", "idlelib", "pydoc_data"}
    )
    gone_since = {"asynchat", "asyncore", "distutils", "imp", "lib2to3", "smtpd"} | {
        "aifc", "audioop", "cgi", "cgitb", "chunk", "crypt", "imghdr", "mailcap", "msilib", "nis", "nntplib",
        "ossaudiodev", "pipes", "sndhdr", "spwd", "sunau", "telnetlib", "uu", "xdrlib",
    }  # fmt: skip
    result = await run(sandbox, _IMPORTS, names=modules)
    assert isinstance(result.value, list)
    assert "json" in modules
    assert set(result.value) - NOT_UNIX - gone_since <= set(NAMES)
    assert {"bz2", "lzma"} <= set(result.value)


async def test_nothing_that_works_is_refused(sandbox: WasmSandbox) -> None:
    result = await run(sandbox, _LOOKS_UP, names=[*NAMES, "threading.Lock"])
    assert set(result.value or ()) == {*WORKS_IN_PART, "threading.Lock"}


@each_case(
    "code, error, instead",
    [
        ("__import__('_thr' + 'ead').start_new_thread(print, ())", "RuntimeError", "ThreadPoolExecutor"),
        ("__import__('sub' + 'process').run(['true'])", "OSError", "do it in Python"),
        ("getattr(__import__('os'), 'fo' + 'rk')()", "AttributeError", "do it in Python"),
        ("getattr(__import__('os'), 'po' + 'pen')('true')", "OSError", "do it in Python"),
    ],
)
async def test_what_the_gate_cannot_see_says_so_when_it_runs(
    sandbox: WasmSandbox, code: str, error: str, instead: str
) -> None:
    result = await run(sandbox, f"def probe():\n    {code}\n")
    assert (result.status, result.error_type) == ("error", error)
    assert instead in result.message


async def test_the_clock_of_the_processor_begins_with_the_call(sandbox: WasmSandbox) -> None:
    code = """
import time
def probe():
    begin = time.process_time()
    sum(range(10_000))
    return [begin >= 0, time.process_time() > begin, time.process_time_ns() > 0, time.thread_time() > 0]
"""
    assert (await run(sandbox, code)).value == [True] * 4


async def test_pools_of_threads_work_one_task_after_the_other(sandbox: WasmSandbox) -> None:
    code = """
import asyncio
from concurrent.futures import ThreadPoolExecutor

def probe():
    with ThreadPoolExecutor(4) as pool:
        return [*pool.map(str.upper, "ab"), asyncio.run(asyncio.to_thread(len, "abc"))]
"""
    assert (await run(sandbox, code)).value == ["A", "B", 3]
