"""Program that resolves packages or installs them, by uv.

Standard library only, and complete in itself: the host sends this file as the code of a call. The result is one line of
JSON, followed by a tar where an environment was built. Nothing of the packages is executed: uv unpacks wheels, their
modules are compiled.

For a sandbox that cannot run uv it runs on the host (`on_host` in the request): for another Python than its own, within
bounds of its own, and without compiling.
"""

from __future__ import annotations

import base64
import compileall
import json
import os
import py_compile
import re
import subprocess
import sys
import tarfile
import threading
import time
import tomllib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Report = Callable[[str], object]
"""Takes a line of progress."""
MAX_NOTES = 60
MAX_NOTE = 500
PIECE = 700 << 10
"""Of a result, in one question to the broker; base64 makes a third more of it."""
MAX_FILES = 40_000
"""Of an environment, before its modules are compiled: each costs the kernel memory that no size limit counts."""
_LOOK_SECONDS = 0.2
_NATIVE = re.compile(r"\.(?:so|pyd|dylib|dll|a|lib)(?:\.[0-9.]+)?$")
_LOG = re.compile(r"(?:DEBUG|TRACE|INFO|WARN) ")
_STEPS = {
    "compile": re.compile(r"DEBUG Selecting: (?P<name>[A-Za-z0-9._-]+)=="),
    "install": re.compile(r"Sending fresh GET request for: \S+/(?P<name>[A-Za-z0-9._]+)-[^/]+\.whl"),
}
_UNSAFE = re.compile(r"WARN Skipping unsafe file name: (.*)")


class Rejected(Exception):
    """The packages cannot be had; its arguments are complaints."""


class BrokerFile:
    """File whose content goes to the broker of a call."""

    def __init__(self, ask: Callable[[str, dict[str, Any]], object]) -> None:
        self._ask = ask

    def write(self, data: bytes) -> None:
        """Sends bytes, which must fit a question."""
        self._ask("build.result", {"data": base64.b64encode(data).decode()})


def build(request: dict[str, Any]) -> None:
    """Carries out a request in a sandbox, where this file is the code of a call."""
    ask = vars(sys.modules["alita_tool"])["_ask"]
    _carry_out(request, Path.cwd(), BrokerFile(ask), lambda line: ask("build.progress", {"line": line}))


def main(payload: str, result: str) -> None:
    """Carries out the request in the file `payload` on the host and writes the file `result`."""
    request = json.loads(Path(payload).read_bytes())
    with suppress(
        ImportError, OSError, ValueError, KeyError
    ):  # bounds this process and uv, where the system can
        import resource

        bytes_ = request["on_host"]["memory_bytes"]
        resource.setrlimit(resource.RLIMIT_DATA, (bytes_, bytes_))
    with Path(result).open("wb") as file:
        _carry_out(request, Path(payload).parent, file, partial(print, flush=True))


def _carry_out(request: dict[str, Any], work: Path, file: Any, report: Report) -> None:
    if request["authorities"]:
        (work / "ca.pem").write_text(request["authorities"], "utf-8")
    task = {"resolve": _resolve, "install": _install}[request["task"]]
    try:
        answer, folder = task(request, work, report)
    except Rejected as rejected:
        answer, folder = {"status": 1, "notes": [note[:MAX_NOTE] for note in rejected.args]}, None
    file.write(json.dumps(answer).encode() + b"\n")
    if folder is not None:
        _pack(file, folder)


def _resolve(request: dict[str, Any], work: Path, report: Report) -> tuple[dict[str, Any], None]:
    wanted, found = work / "requirements.in", work / "pylock.toml"
    wanted.write_text("\n".join(request["packages"]) + "\n", "utf-8")
    options = ["--generate-hashes", "--format", "pylock.toml", "--output-file", str(found), str(wanted)]
    _run_uv(request, work, report, "compile", *options)
    lines = []
    for item in tomllib.loads(found.read_text("utf-8")).get("packages", []):
        # the hashes of all its wheels that fit the Python, since uv names no others; on the host, pure ones if any
        wheels = item.get("wheels", [])
        pure = [wheel for wheel in wheels if urlsplit(wheel.get("url", "")).path.endswith("-none-any.whl")]
        chosen = pure if "on_host" in request and pure else wheels
        hashes = sorted({wheel["hashes"].get("sha256", "") for wheel in chosen} - {""})
        if not hashes:
            raise Rejected(f"error: The index tells no SHA-256 hash of {item['name']}")
        lines.append(" --hash=sha256:".join([f"{item['name']}=={item['version']}", *hashes]))
    return {"status": 0, "requirements": lines}, None


def _install(request: dict[str, Any], work: Path, report: Report) -> tuple[dict[str, Any], Path]:
    target = work / "target"
    target.mkdir()
    lock = work / "requirements.lock"
    lock.write_text("\n".join(request["requirements"]) + "\n", "utf-8")
    if request["requirements"]:
        # hard links: the cache lies beside the target, and a copy would need the room twice
        install = ["--no-deps", "--require-hashes", "--link-mode", "hardlink"]
        _run_uv(request, work, report, "install", *install, "--target", str(target), "-r", str(lock))
    (target / ".lock").unlink(missing_ok=True)
    count = sum(len(files) for _, _, files in os.walk(target))
    if count > MAX_FILES:
        raise Rejected(f"error: {count} files are more than {MAX_FILES}")
    if "on_host" in request:
        # what no interpreter but its own can load is emptied; the names stay, so that an import is told why it fails
        for folder, _, files in os.walk(target):
            for name in files:
                if _NATIVE.search(name):
                    Path(folder, name).write_bytes(b"")
    else:
        report("compiling modules")
        compileall.compile_dir(
            str(target),
            maxlevels=100,
            quiet=2,
            force=True,  # a wheel may bring compiled modules that say another thing than their sources
            stripdir=str(target),
            prependdir=request["place"],
            # no times in it: same bytes every time
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    return {"status": 0}, target


def _run_uv(request: dict[str, Any], work: Path, report: Report, command: str, *options: str) -> None:
    """Runs `uv pip`.

    Raises:
        Rejected: it complained.
    """
    argv = [
        request["uv"], "pip", command, "--verbose", "--no-config", "--no-cache", "--no-sources", "--color", "never",
        "--no-python-downloads", "--python", sys.executable, "--only-binary", ":all:",
        "--default-index", request["index_url"], *request.get("on_host", {}).get("options", ()), *options,
    ]  # fmt: skip
    try:
        process = subprocess.Popen(
            argv, cwd=work, env=_environment(request, work), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except OSError as problem:
        raise Rejected(f"error: uv cannot be started: {problem}") from problem
    notes: list[str] = []
    if "on_host" in request:
        threading.Thread(target=_watch, args=(process, request["on_host"], work, notes), daemon=True).start()
        threading.Thread(target=_end_with_the_host, args=(process,), daemon=True).start()
    for line in process.stderr or ():
        # progress goes to the host at once, a complaint is kept, all else is dropped
        told = line.rstrip("\n")
        if found := _UNSAFE.match(told):
            notes.append(f"unsafe: {found[1]}"[:MAX_NOTE])
        elif step := _STEPS[command].search(told):
            report(f"{'resolving' if command == 'compile' else 'fetching'} {step['name']}")
        elif told.strip() and not _LOG.match(told) and (notes or told.startswith("error: ")):
            notes.append(told[:MAX_NOTE])
            del notes[1000:]
    status = process.wait()
    unsafe = [note for note in notes if note.startswith("unsafe: ")]
    complaints = (notes or [f"error: uv ended with status {status} and gave no reason"]) if status else unsafe
    if len(complaints) > MAX_NOTES:
        del complaints[MAX_NOTES // 2 : -MAX_NOTES // 2]
    if complaints:
        raise Rejected(*complaints)


def _watch(process: subprocess.Popen[str], bounds: dict[str, Any], work: Path, notes: list[str]) -> None:
    """Ends uv when it fills the disk: no sandbox does it here."""
    while process.poll() is None:
        size = 0
        for parent, _, files in os.walk(work):
            for name in files:
                with suppress(OSError):  # gone meanwhile
                    size += Path(parent, name).lstat().st_size
        if size > bounds["scratch_bytes"]:
            notes[:] = ["error: No space left on device"]
            process.kill()
            return
        time.sleep(_LOOK_SECONDS)


def _end_with_the_host(process: subprocess.Popen[str]) -> None:
    """Ends uv and this process once the server that waits for them is gone."""
    os.read(0, 1)  # not by `sys.stdin`, whose lock a thread holds to the end
    process.kill()
    os._exit(1)


def _environment(request: dict[str, Any], work: Path) -> dict[str, str]:
    """All that uv sees of the world: one proxy, one set of authorities, and bounds."""
    environment = {
        "PATH": os.defpath, "HOME": str(work), "TMPDIR": str(work), "LANG": "C.UTF-8", "UV_NO_WRAP": "1",
        "UV_HTTP_TIMEOUT": str(request["fetch_seconds"]), "UV_HTTP_RETRIES": "2",
        # each is a thread or a connection, of which a sandbox has few
        "UV_CONCURRENT_DOWNLOADS": "8", "UV_CONCURRENT_INSTALLS": "2", "TOKIO_WORKER_THREADS": "2",
        "RAYON_NUM_THREADS": "2",
    }  # fmt: skip
    if os.name == "nt":
        system = os.environ.get("SYSTEMROOT", "")  # noqa: TID251 - without it no program starts there
        environment["SYSTEMROOT"] = system
        environment |= dict.fromkeys(("TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA"), str(work))
    if request["proxy"]:
        environment |= dict.fromkeys(
            ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), request["proxy"]
        )
    if (work / "ca.pem").exists():
        environment["SSL_CERT_FILE"] = str(work / "ca.pem")
    return environment


def _pack(file: Any, target: Path) -> None:
    """Writes a tar that is the same for the same files."""
    with tarfile.open(fileobj=file, mode="w|", bufsize=PIECE, format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(target.rglob("*")):
            if path.is_symlink():
                continue
            entry = tarfile.TarInfo(path.relative_to(target).as_posix())
            if path.is_dir():
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
            elif path.is_file():
                status = path.stat()
                entry.size, entry.mode = status.st_size, 0o755 if status.st_mode & 0o100 else 0o644
                with path.open("rb") as content:
                    archive.addfile(entry, content)


if __name__ == "__main__":
    main(*sys.argv[1:3])
