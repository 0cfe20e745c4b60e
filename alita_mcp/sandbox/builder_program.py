"""Runs inside the builder sandbox: a request of the host's in, a lock's raw material or an environment's files out.

Standard library only, and complete in itself: the host sends this file as text. The payload is a zip that holds pip,
the request and the certificates; the result is one line of JSON, followed by a tar where an environment was built.
Nothing of the packages is executed: wheels are unpacked, their modules are compiled.
"""

from __future__ import annotations

import compileall
import contextlib
import json
import os
import py_compile
import re
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

MAX_NOTES = 60
_NOTE = re.compile(
    r"ERROR: |Could not fetch URL|No sources permitted|none of the wheel's tags|Retrying \(|There was a problem"
    r"|The conflict is caused by|depends on|The user requested|different python version"
)
_STAMP = re.compile(r"^\S+ (?=\S)")


def main(payload: str, result: str) -> None:
    """Does what the request in the payload says and writes the result file."""
    work = Path(payload).parent
    with zipfile.ZipFile(payload) as archive:
        request = json.loads(archive.read("request.json"))
        if "ca.pem" in archive.namelist():
            archive.extract("ca.pem", work)
    sys.path.insert(0, payload)
    os.environ.update(PIP_CONFIG_FILE=os.devnull, HOME=str(work), TMPDIR=str(work))  # noqa: TID251 - the sandbox's own
    with Path(result).open("wb") as file:
        if request["task"] == "resolve":
            _say(file, _resolve(request, work))
        else:
            _install(request, work, file)


def _resolve(request: dict[str, Any], work: Path) -> dict[str, Any]:
    report = work / "report.json"
    options = ["--dry-run", "--ignore-installed", "--report", str(report), "--", *request["packages"]]
    if status := _pip([*_options(request, work), *options]):
        return {"status": status, "notes": _notes(work)}
    items = json.loads(report.read_text("utf-8"))["install"]
    packages = [_package(item) for item in items]
    unproved = [package["name"] for package in packages if not package["sha256"]]
    if unproved:
        return {
            "status": 1,
            "notes": [f"ERROR: the index tells no SHA-256 hash of {', '.join(unproved)}"[:500]],
        }
    return {"status": 0, "packages": packages}


def _install(request: dict[str, Any], work: Path, file: BinaryIO) -> None:
    target = work / "target"
    target.mkdir()
    lock = work / "requirements.lock"
    lock.write_text("\n".join(request["requirements"]), "utf-8")
    options = ["--no-deps", "--require-hashes", "--no-compile", "--target", str(target), "-r", str(lock)]
    status = _pip([*_options(request, work), *options]) if request["requirements"] else 0
    if status:
        _say(file, {"status": status, "notes": _notes(work)})
        return
    compileall.compile_dir(
        str(target),
        maxlevels=100,
        quiet=2,
        stripdir=str(target),
        prependdir=request["place"],
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,  # no times in it: same bytes every time
    )
    _say(file, {"status": 0})
    _pack(file, target)


def _options(request: dict[str, Any], work: Path) -> list[str]:
    options = [
        "install", "--isolated", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--no-color",
        "--progress-bar", "off", "--only-binary", ":all:", "--retries", "2", "--timeout", "20",
        "--log", str(work / "pip.log"), "--index-url", request["index_url"],
    ]  # fmt: skip
    if request["proxy"]:
        options += ["--proxy", request["proxy"]]
    if request["trusted_host"]:
        options += ["--trusted-host", request["trusted_host"]]
    if (work / "ca.pem").exists():
        options += ["--cert", str(work / "ca.pem")]
    return options


def _pip(arguments: list[str]) -> int:
    from pip._internal.cli.main import main as pip

    try:
        return int(pip(arguments))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2


def _notes(work: Path) -> list[str]:
    """The lines of pip's log that tell why it failed: the first ones and the last ones."""
    with contextlib.suppress(OSError):
        lines = (work / "pip.log").read_text("utf-8", "replace").splitlines()
        notes = [_STAMP.sub("", line).strip()[:500] for line in lines if _NOTE.search(line)]
        return notes if len(notes) <= MAX_NOTES else notes[: MAX_NOTES // 2] + notes[-MAX_NOTES // 2 :]
    return []


def _package(item: dict[str, Any]) -> dict[str, str]:
    metadata = item["metadata"]
    sha256 = item["download_info"]["archive_info"]["hashes"].get("sha256", "")
    return {"name": metadata["name"], "version": metadata["version"], "sha256": sha256}


def _pack(file: BinaryIO, target: Path) -> None:
    """A tar that is the same for the same files; each file goes once it is packed, for want of room for both."""
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder, folders, files in os.walk(target):
            folders.sort()
            for name in sorted([*files, *folders]):
                _add(archive, Path(folder, name), target)


def _add(archive: tarfile.TarFile, path: Path, target: Path) -> None:
    entry = tarfile.TarInfo(path.relative_to(target).as_posix())
    if path.is_symlink():
        return
    if path.is_dir():
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(entry)
    elif path.is_file():
        entry.size, entry.mode = path.stat().st_size, 0o644
        with path.open("rb") as file:
            archive.addfile(entry, file)
        path.unlink()


def _say(file: BinaryIO, message: dict[str, Any]) -> None:
    file.write(json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
