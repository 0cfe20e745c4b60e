"""A package index on loopback that serves hand-made files, and the wheels to put on it."""

from __future__ import annotations

import base64
import hashlib
import io
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from urllib.parse import quote, unquote

ANY_PYTHON = "py3-none-any"


class Index:
    """Files by project; what a client asked for is in `requests`."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.files: dict[str, bytes] = {}
        self.hashes: dict[str, str] = {}
        self.hash_name = "sha256"
        self.status = 200
        """Another status makes every page fail with it."""
        self.redirects: dict[str, str] = {}
        """Files that lie elsewhere, by URL."""
        self.cut: frozenset[str] = frozenset()
        """Files of which only a part is sent."""
        self.silent = frozenset[str]()
        """Paths that are answered once `answer` is set."""
        self.answer = Event()
        self.asked = Event()
        """Set once somebody asked for a path that is silent."""
        self.files_at = ""
        """Where the pages say that the files are; empty: here."""
        self.url = ""

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    def add(self, filename: str, content: bytes) -> str:
        """Offers a file; the hash that its page tells is returned and stays when the content is replaced."""
        self.files[filename] = content
        return self.hashes.setdefault(filename, hashlib.sha256(content).hexdigest())

    def page(self, project: str) -> bytes | None:
        names = [name for name in self.files if _project(name) == project]
        links = [
            f'<a href="{self.files_at}/files/{quote(name)}#{self.hash_name}={self.hashes[name]}">{name}</a><br>'
            for name in names
        ]
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode() if names else None


def _project(filename: str) -> str:
    return filename.split("-", maxsplit=1)[0].lower().replace("_", "-")


class _Handler(BaseHTTPRequestHandler):
    index: Index

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path, index = unquote(self.path), self.index
        index.requests.append(path)
        index.headers.append(dict(self.headers.items()))
        if path in index.silent:
            index.asked.set()
            index.answer.wait(300)
        if path in index.redirects:
            self.send_response(302)
            self.send_header("Location", index.redirects[path])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif path.startswith("/files/"):
            self._answer(path, index.files.get(path.removeprefix("/files/")), "application/octet-stream")
        else:
            self._answer(path, index.page(path.strip("/").split("/")[-1]), "text/html")

    def _answer(self, path: str, body: bytes | None, kind: str) -> None:
        status = self.index.status if self.index.status != 200 else 200 if body is not None else 404
        body = body if status == 200 and body is not None else b"nothing here"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            with suppress(OSError):  # a client that was killed
                self.wfile.write(body[: len(body) // 2] if path in self.index.cut else body)

    def log_message(self, *_: Any) -> None:
        return None


@contextmanager
def serving() -> Iterator[Index]:
    """An index that listens on a port of its own while the context is open."""
    index = Index()
    handler = type("Handler", (_Handler,), {"index": index})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    index.url = f"http://127.0.0.1:{server.server_address[1]}/simple/"
    try:
        yield index
    finally:
        index.answer.set()
        server.shutdown()
        server.server_close()
        thread.join()


def wheel(
    name: str,
    version: str,
    files: dict[str, str | bytes],
    *,
    requires: tuple[str, ...] = (),
    tag: str = ANY_PYTHON,
    links: dict[str, str] | None = None,
    requires_python: str = "",
    compression: int = zipfile.ZIP_DEFLATED,
) -> tuple[str, bytes]:
    """Name and content of a wheel; members may have names that no honest wheel has, `links` are symbolic."""
    info = f"{name}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    if requires_python:
        metadata.append(f"Requires-Python: {requires_python}")
    members = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    members[f"{info}/METADATA"] = ("\n".join(metadata) + "\n").encode()
    members[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    )
    record = [f"{path},{_record_hash(content)},{len(content)}" for path, content in members.items()]
    members[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for path, content in members.items():
            archive.writestr(path, content)
        for path, target in (links or {}).items():
            entry = zipfile.ZipInfo(path)
            entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
            archive.writestr(entry, target)
    return f"{name}-{version}-{tag}.whl", buffer.getvalue()


def _record_hash(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def sdist(name: str, version: str, setup: str) -> tuple[str, bytes]:
    """Name and content of a source distribution whose set-up would run."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in {"setup.py": setup, "PKG-INFO": f"Name: {name}\nVersion: {version}\n"}.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return f"{name}-{version}.tar.gz", buffer.getvalue()
