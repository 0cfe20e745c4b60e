"""Endpoint of a person's shared server: where it listens, and how both sides prove who they are.

Standard library only: the relay loads nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import socket
import stat
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import alita_mcp
from alita_mcp.server.transports.greeting import find_home

Want = Literal["mcp", "status", "stop", "ui", "events", "hook"]
"""What a connection is for: messages of a client, a person's question or order, a link to the pages, activities, a
question of a client's hook."""

SWITCH = "ALITA_SHARED"
OFF = ("off", "0", "false", "no", "f", "n")
HELLO_WITHIN_S = 10.0
"""How long the other side may take for its part of the greeting."""
MAX_HELLO = 4_096
MAX_QUESTION = 65_536
"""Bytes of the second line of whoever connects: its proof and its question."""
HAS_UNIX_SOCKETS = sys.platform != "win32"
"""Elsewhere the server listens on a loopback port, whose number stands in a private file."""
FAMILY = socket.AF_UNIX if HAS_UNIX_SOCKETS else socket.AF_INET

_MAX_SOCKET_PATH = 100
"""Characters; macOS allows 103, Linux 107."""
NAME = re.compile(r"[0-9a-f]{24}")
_PATHS = (
    "ALITA_HOME", "ALITA_SECRETS_FILE", "ALITA_WORKSPACE", "GOOGLE_APPLICATION_CREDENTIALS",
    "PYTHONPATH", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE",
)  # fmt: skip
_KEY_BYTES = 32
_MAX_FILE = 1 << 20
_CONFIGURES = re.compile(
    r"(ALITA|ANTHROPIC|AWS|AZURE|DOCKER|GOOGLE|HCP_VAULT|LITELLM|OLLAMA|OPENAI|PIP|SSL|UV|VERTEX\w*)_"
    r"|PYTHON(HOME|PATH|SAFEPATH)$|XDG_(CACHE|CONFIG|DATA)_HOME$|(HOME|USERPROFILE|APPDATA|LOCALAPPDATA)$"
    r"|.*(KEY|TOKEN|JWT|SECRET|PASSWORD|CREDENTIAL|AUTH_FILE|_ACCOUNT|_CLIENT_ID|_ORG|_SCOPE|SPACE_ID|_TENANT)"
    r"|.*(_PROXY|_BASE|_BUNDLE|_ENDPOINT|_HOST|_PROJECT|PROJECT_ID|REGION|_URL)",
    re.IGNORECASE,
)
"""Variables that decide what a server does or which keys it uses. Too many only mean more servers than needed."""
_OF_A_TERMINAL = re.compile(
    r"(CLAUDE|CLAUDECODE|CODEX|CURSOR|GIT|GPG|NPM|SSH|STARSHIP|TERM|VSCODE|ZED)_(?!API_(KEY|BASE)$)|ALITA_SHARED$",
    re.IGNORECASE,
)
"""Of them, those that differ from one window to the next and that no server reads."""


class Refused(Exception):
    """Raised where a server cannot or must not be used, although something is there."""


class Endpoint(NamedTuple):
    """Place of the shared server for one home, version of the program and set of settings."""

    folder: Path
    """Private to the user: sockets, locks, logs and the key."""
    key: bytes
    """Known to this user's processes alone."""
    name: str
    environment: dict[str, str]
    """What a server at this endpoint gets; its relative paths are absolute."""

    @property
    def address(self) -> Path:
        """The socket, or the file with the port."""
        return self.folder / self.name


def find_endpoint(environment: Mapping[str, str], folder: str) -> Endpoint:
    """The endpoint for a client that starts a server in this environment and current folder.

    Raises:
        OSError: there is no private folder for it.
        Refused: the folder is not private, or sockets cannot be there.
    """
    private = private_folder()
    key = read_key(private / "key")
    resolved = {**environment}
    for name, value in environment.items():
        if value and name.upper() in _PATHS and not value.startswith("~"):
            paths = value.split(os.pathsep) if name.upper() == "PYTHONPATH" else [value]
            resolved[name] = os.pathsep.join(os.path.normpath(os.path.join(folder, path)) for path in paths)
    named = re.findall(
        r"\bkey_from=(\w+)", " ".join(v for n, v in resolved.items() if n.startswith("ALITA_"))
    )
    counts = {
        name: value
        for name, value in resolved.items()
        if value and (name in named or (_CONFIGURES.match(name) and not _OF_A_TERMINAL.match(name)))
    }
    path, file = find_home(resolved) / "alita.toml", b""
    with suppress(OSError):  # the server looks at it again, and says what is wrong with it
        if path.is_file():
            with path.open("rb") as opened:
                file = opened.read(_MAX_FILE)
    words = json.dumps([program_stamp(), sys.executable, sorted(counts.items()), file.decode("latin-1")])
    name = hmac.new(key, words.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()[:24]
    if HAS_UNIX_SOCKETS and len(os.fsencode(private / name)) > _MAX_SOCKET_PATH:
        raise Refused(f"{private} is too long a path for a socket")
    return Endpoint(private, key, name, resolved)


def program_stamp() -> str:
    """The version of the program as it is installed now; another one after an upgrade, or a change of its packages."""
    package = Path(alita_mcp.__path__[0])
    newest = package.parent.stat().st_mtime_ns
    if (package.parent / "pyproject.toml").is_file():  # a checkout: its files change without an installation
        files = (entry for folder, _, _ in os.walk(package) for entry in os.scandir(folder))
        newest = max(entry.stat().st_mtime_ns for entry in files if entry.name.endswith(".py"))
    return f"{alita_mcp.__version__} {package} {newest}"


def private_folder() -> Path:
    """The folder of this user's sockets, made if it is not there.

    It depends on nothing that some clients pass on and others do not.

    Raises:
        OSError: it cannot be made.
        Refused: it belongs to somebody else, or others may use it.
    """
    if sys.platform == "win32":
        parent = Path(os.path.expandvars("%LOCALAPPDATA%"))
    elif os.path.isdir(run := f"/run/user/{os.getuid()}"):
        parent = Path(run)
    else:
        parent = Path(os.path.expanduser("~/Library/Caches" if sys.platform == "darwin" else "~/.cache"))
    if not parent.is_absolute():
        raise Refused("this user has no home folder")
    folder = parent / "alita-mcp-shared"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode):
        raise Refused(f"{folder} is no folder")
    if sys.platform != "win32" and (state.st_uid != os.getuid() or state.st_mode & 0o077):
        raise Refused(f"{folder} is not private to this user")
    return folder


def read_key(path: Path) -> bytes:
    """The key in a file, made if there is none.

    Raises:
        OSError: it cannot be read or written.
        Refused: it is damaged.
    """
    if not path.exists():
        from alita_mcp.private_files import write_whole  # loads more than a relay weighs, once for each user

        write_whole(path, os.urandom(_KEY_BYTES), is_private=True, is_new=True)
    if len(key := path.read_bytes()) != _KEY_BYTES:
        raise Refused(f"{path} is damaged; delete it")
    return key


def read_endpoint(name: str) -> Endpoint:
    """An endpoint of this user by its name; raises as `private_folder` and `read_key`."""
    folder = private_folder()
    return Endpoint(folder, read_key(folder / "key"), name, {})


def connect(
    endpoint: Endpoint, want: Want, within_s: float = HELLO_WITHIN_S, **question: Any
) -> socket.socket:
    """Connects to the server at an endpoint; each part of the greeting may take `within_s`.

    The fields of the question are told when both sides know that the other one is this user's.

    Raises:
        ConnectionError, FileNotFoundError: no server listens there, or it ended meanwhile.
        OSError: it does not answer in time (`TimeoutError`), or cannot be reached.
        Refused: another user listens there, or somebody without the key.
    """
    address: Any = str(endpoint.address)
    if not HAS_UNIX_SOCKETS:
        port = endpoint.address.read_bytes()
        if not re.fullmatch(rb"\d{1,5}", port):
            raise ConnectionRefusedError(f"{endpoint.address} holds no port")
        address = ("127.0.0.1", int(port))
    link = socket.socket(FAMILY)
    try:
        link.settimeout(within_s)
        link.connect(address)
        check_peer(link)
        nonce = os.urandom(16).hex()
        hello = {"alita": want, "nonce": nonce, "pid": os.getpid()}
        link.sendall(json.dumps(hello).encode() + b"\n")
        server = read_hello(_receive_line(link))
        if not hmac.compare_digest(server["proof"], proof(endpoint.key, "server", nonce)):
            raise Refused("whoever listens there does not have the key of this user")  # noqa: TRY301
        answer = {**question, "proof": proof(endpoint.key, "client", server["nonce"])}
        link.sendall(json.dumps(answer).encode() + b"\n")
    except BaseException:
        link.close()
        raise
    return link


def read_answer(link: socket.socket) -> dict[str, Any]:
    """What a server answers a question before it ends the connection; empty where that is nothing.

    Raises:
        OSError: it does not answer in time.
        ValueError: it is not as alita answers.
    """
    with link, link.makefile("rb") as answer:
        return dict(json.loads(answer.read(_MAX_FILE) or b"{}"))


def read_hello(line: bytes) -> dict[str, Any]:
    """The fields of one line of a greeting.

    Raises:
        Refused: it is none.
    """
    with suppress(ValueError, TypeError, RecursionError):
        fields = dict(json.loads(line))
        return fields | {key: str(fields.get(key, "")) for key in ("alita", "nonce", "proof")}
    raise Refused("whoever is there does not speak as alita does")


def proof(key: bytes, role: Literal["server", "client"], nonce: str) -> str:
    """What shows that one side of a connection has the key, without telling it."""
    return hmac.new(key, f"{role} {nonce}".encode(), hashlib.sha256).hexdigest()


def check_peer(link: socket.socket) -> None:
    """Checks that the other end of a Unix socket is a process of the same user, where the system tells.

    Raises:
        Refused: it is not.
    """
    if sys.platform == "linux":
        _pid, uid, _gid = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    elif sys.platform == "darwin":
        _version, uid = struct.unpack_from("2I", link.getsockopt(0, 1, 76))  # SOL_LOCAL, LOCAL_PEERCRED
    else:
        return
    if uid != os.getuid():
        raise Refused("another user is at the other end")


def _receive_line(link: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        if len(line) > MAX_HELLO:
            raise Refused("whoever is there does not speak as alita does")
        # the server sends nothing beyond this line before it has heard the proof
        received = link.recv(MAX_HELLO)
        if not received:
            raise ConnectionResetError("the server ended the connection")
        line += received
    return line
