"""The standard library in the component's memory, with stand-ins and refusals for what is missing."""

from __future__ import annotations

import _thread
import hashlib
import hmac
import importlib.abc
import importlib.util
import io
import marshal
import os
import re
import subprocess
import sys
import threading
import types
import zlib
import zoneinfo
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any, NoReturn

READY = """
    argparse array ast asyncio base64 bisect calendar cmath colorsys configparser contextlib contextvars copy
    csv dataclasses datetime decimal difflib email.mime.multipart email.mime.text email.policy encodings.ascii
    encodings.cp1252 encodings.idna encodings.latin_1 encodings.utf_16 encodings.utf_32 encodings.utf_8_sig enum
    fnmatch fractions functools getpass graphlib gzip heapq html html.parser http.client http.cookies
    importlib.metadata importlib.resources inspect ipaddress itertools json locale logging logging.config
    logging.handlers math mimetypes numbers operator optparse pathlib pickle platform plistlib pprint queue
    quopri random re reprlib sched secrets shlex shutil sqlite3 statistics string struct subprocess symtable
    tarfile tempfile textwrap threading timeit tomllib traceback typing unicodedata unittest.mock urllib.parse
    urllib.request uuid warnings weakref xml.dom.minidom xml.etree.ElementTree xml.sax.handler zipfile
""".split()
"""Imported while the component is built: for a tool their import costs nothing."""
_SIZES = {"c_char": 1, "c_short": 2, "c_int": 4, "c_long": 4, "c_size_t": 4, "c_longlong": 8, "c_double": 8}
_THREADS = (
    "this sandbox starts no threads: use a plain loop, or concurrent.futures.ThreadPoolExecutor or asyncio.to_thread, "
    "which run one task after the other here"
)
_PROCESSES = "this sandbox starts no processes: do it in Python itself"
_NO_SSL = (
    "No module named 'ssl': urllib.request and http.client speak HTTPS without it here, and always verify"
)
_LEFT_OUT = {
    "__pycache__", "ctypes", "curses", "ensurepip", "idlelib", "lib-dynload", "pydoc_data", "site-packages",
    "test", "tkinter", "turtle.py", "turtledemo", "venv",
}  # fmt: skip
_STARTS = re.compile(r"fork|forkpty|system|posix_spawnp?|exec[lv]p?e?|spawn[lv]p?e?")


class Archive(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finder and loader of the modules below a folder, read when it is made."""

    def __init__(self, root: str) -> None:
        self._code: dict[str, bytes] = {}
        self._packages: set[str] = set()
        self._fill(root, "")

    def find_spec(
        self, fullname: str, path: Any = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module in it."""
        if fullname not in self._code:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=fullname in self._packages)

    def get_code(self, fullname: str) -> types.CodeType:
        """The module's code."""
        code: types.CodeType = marshal.loads(zlib.decompress(self._code[fullname]))
        return code

    def get_source(self, fullname: str) -> None:
        """None: it was left where the component was built."""

    def _fill(self, folder: str, prefix: str) -> None:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.name in _LEFT_OUT:
                continue
            if entry.is_dir():
                self._fill(entry.path, f"{prefix}{entry.name}.")
            elif entry.name.endswith(".py"):
                name = prefix + entry.name[:-3]
                if entry.name == "__init__.py":
                    name = prefix[:-1]
                    self._packages.add(name)
                with open(entry.path, "rb") as file:
                    code = compile(file.read(), f"<{name}>", "exec", dont_inherit=True, optimize=0)
                self._code[name] = zlib.compress(marshal.dumps(code), 9)


def install() -> None:
    """Imports what tools use most, and installs the stand-ins and the refusals."""
    for name in READY:
        importlib.import_module(name)
    _load_zones()
    hashlib.pbkdf2_hmac = _pbkdf2_hmac
    # sizes, for packages that ask for nothing else; a tool that calls C is refused before it runs
    ctypes = sys.modules["ctypes"] = types.ModuleType("ctypes")
    vars(ctypes).update({name: type(name, (), {"size": size}) for name, size in _SIZES.items()})
    ctypes.sizeof = lambda kind: kind.size  # type: ignore[attr-defined]
    for name in ("start_new_thread", "start_new", "start_joinable_thread"):
        setattr(_thread, name, _refusal(RuntimeError, _THREADS))
    threading._start_joinable_thread = _refusal(RuntimeError, _THREADS)  # type: ignore[attr-defined]
    subprocess.Popen.__init__ = _refusal(OSError, _PROCESSES)
    vars(os)["__getattr__"] = _refuse_name_of_os
    sys.meta_path.insert(0, _NoSsl())


def _load_zones() -> None:
    """Takes the time zones of `tzdata` into memory."""
    import zoneinfo._common as common

    import tzdata

    root = f"{tzdata.__path__[0]}/zoneinfo"
    zones: dict[str, bytes] = {}
    for folder, _folders, names in os.walk(root):
        for name in names:
            with open(f"{folder}/{name}", "rb") as file:
                data = file.read()
            if data.startswith(b"TZif"):
                zones[f"{folder}/{name}"[len(root) + 1 :]] = data

    def load(key: str) -> io.BytesIO:
        if key not in zones:
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
        return io.BytesIO(zones[key])

    common.load_tzdata = load
    zoneinfo.available_timezones = lambda: set(zones)
    zoneinfo.reset_tzpath(to=())


def _pbkdf2_hmac(
    hash_name: str, password: bytes, salt: bytes, iterations: int, dklen: int | None = None
) -> bytes:
    """As RFC 8018 has it; `hashlib` takes its own from OpenSSL, which is not here."""
    if iterations < 1 or (dklen is not None and dklen < 1):
        raise ValueError("iteration value and key length must be greater than 0")
    size, derived = hashlib.new(hash_name).digest_size, b""
    while len(derived) < (dklen or size):
        step = hmac.digest(password, salt + (len(derived) // size + 1).to_bytes(4), hash_name)
        block = int.from_bytes(step)
        for _ in range(iterations - 1):
            step = hmac.digest(password, step, hash_name)
            block ^= int.from_bytes(step)
        derived += block.to_bytes(size)
    return derived[:dklen]


class _NoSsl:
    """Finder that says why there is no module `ssl`."""

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> None:
        if fullname == "ssl":
            raise ModuleNotFoundError(_NO_SSL, name=fullname)


def _refusal(error: type[Exception], message: str) -> Callable[..., NoReturn]:
    def refuse(*_arguments: Any, **_words: Any) -> NoReturn:
        raise error(message)

    return refuse


def _refuse_name_of_os(name: str) -> NoReturn:
    hint = f"; {_PROCESSES}" if _STARTS.fullmatch(name) else ""
    raise AttributeError(f"module 'os' has no attribute {name!r}{hint}", name=name, obj=os)
