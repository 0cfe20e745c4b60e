"""A package index on loopback that serves hand-made files, and the wheels to put on it."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import quote, unquote

ANY_PYTHON = "py3-none-any"


class Index:
    """Files by project; what a client asked for is in `requests`."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.files: dict[str, bytes] = {}
        self.hashes: dict[str, str] = {}
        self.hash_name = "sha256"
        self.status = 200
        """Another status makes every page fail with it."""
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
            f'<a href="/files/{quote(name)}#{self.hash_name}={self.hashes[name]}">{name}</a><br>'
            for name in names
        ]
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode() if names else None


def _project(filename: str) -> str:
    return filename.split("-", maxsplit=1)[0].lower().replace("_", "-")


@contextmanager
def serving() -> Iterator[Index]:
    """An index that listens on a port of its own while the context is open."""
    index = Index()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path)
            index.requests.append(path)
            if path.startswith("/files/"):
                self._answer(index.files.get(path.removeprefix("/files/")), "application/octet-stream")
            else:
                self._answer(index.page(path.strip("/").split("/")[-1]), "text/html")

        def _answer(self, body: bytes | None, kind: str) -> None:
            status = index.status if index.status != 200 else 200 if body is not None else 404
            body = body if status == 200 and body is not None else b"nothing here"
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    index.url = f"http://127.0.0.1:{server.server_address[1]}/simple/"
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def wheel(
    name: str, version: str, files: dict[str, str], *, requires: tuple[str, ...] = (), tag: str = ANY_PYTHON
) -> tuple[str, bytes]:
    """Name and content of a wheel; members may have names that no honest wheel has."""
    info = f"{name}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    members = {path: text.encode() for path, text in files.items()}
    members[f"{info}/METADATA"] = ("\n".join(metadata) + "\n").encode()
    members[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    )
    record = [f"{path},{_record_hash(content)},{len(content)}" for path, content in members.items()]
    members[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in members.items():
            archive.writestr(path, content)
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
