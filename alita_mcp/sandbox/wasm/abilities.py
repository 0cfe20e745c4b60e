"""Abilities of the embedded sandbox: what tools can use there and what they lack."""

from __future__ import annotations

import re
from collections.abc import Iterable

from alita_mcp.sandbox.abilities import Abilities, Missing, whole_cpython
from alita_mcp.sandbox.wasm.build import PYTHON

EMBEDDED = "wasm"
"""This kind of sandbox."""
ANOTHER_SANDBOX = (
    "Install Docker (https://docs.docker.com/get-docker/) or, on Linux, bubblewrap (`apt install bubblewrap`); "
    "or write the tool without it."
)
WITHOUT_SOCKETS = "use urllib.request or http.client, which speak HTTP and HTTPS to granted hosts"
SOCKET_PACKAGES = {
    "requests": "requests", "httpx": "httpx", "urllib3": "urllib3", "aiohttp": "aiohttp", "httpcore": "httpcore",
    "httplib2": "httplib2", "niquests": "niquests", "paramiko": "paramiko", "pymongo": "pymongo", "pymysql": "pymysql",
    "redis": "redis", "websocket-client": "websocket", "websockets": "websockets",
}  # fmt: skip
"""Packages that do their work over sockets, by their names in the index, each with its module."""
_LACKS = (
    (
        "bz2, lzma and zstd", "compress with zlib, gzip or zipfile",
        "bz2 lzma compression.bz2 compression.lzma compression.zstd",
    ),
    (
        "sockets and ssl", WITHOUT_SOCKETS,
        """ssl _ssl socket.socket socket.create_connection socket.create_server socket.socketpair socket.fromfd
        socket.getaddrinfo socket.gethostbyname socket.gethostbyname_ex socket.gethostbyaddr socket.getnameinfo
        asyncio.open_connection asyncio.start_server ftplib imaplib poplib smtplib""",
    ),
    (
        f"packages that open sockets ({', '.join(list(SOCKET_PACKAGES)[:4])} and others)", WITHOUT_SOCKETS,
        " ".join(SOCKET_PACKAGES.values()),
    ),
    (
        "threads",
        "use a plain loop; concurrent.futures.ThreadPoolExecutor and asyncio.to_thread run one task after the other",
        """threading.Thread threading.Timer _thread.start_new_thread _thread.start_joinable_thread
        socketserver.ThreadingMixIn socketserver.ThreadingTCPServer http.server.ThreadingHTTPServer
        logging.handlers.QueueListener""",
    ),
    (
        "processes", "do it in Python; concurrent.futures.ThreadPoolExecutor works, one task after the other",
        """subprocess _posixsubprocess multiprocessing _multiprocessing pty concurrent.interpreters
        concurrent.futures.ProcessPoolExecutor concurrent.futures.process
        concurrent.futures.InterpreterPoolExecutor concurrent.futures.interpreter asyncio.create_subprocess_exec
        asyncio.create_subprocess_shell asyncio.subprocess socketserver.ForkingMixIn
        socketserver.ForkingTCPServer os.system os.popen os.fork os.forkpty os.posix_spawn os.posix_spawnp
        os.execl os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe os.spawnl os.spawnle
        os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp os.spawnvpe os.kill os.killpg os.wait os.wait3
        os.wait4 os.waitid os.waitpid os.register_at_fork""",
    ),
    ("native code and its memory", "use struct, array, memoryview and io.BytesIO", "ctypes _ctypes mmap"),
    (
        "terminals and windows", "take arguments and return what there is to see",
        "curses _curses tkinter _tkinter turtle turtledemo readline termios tty os.get_terminal_size",
    ),
    (
        "alarms and signals between processes",
        "look at time.monotonic() in the loop; each call is ended at its time limit",
        """signal.alarm signal.setitimer signal.getitimer signal.pause signal.sigwait signal.sigtimedwait
        signal.pthread_kill signal.pthread_sigmask""",
    ),
    (
        "users, groups and resources of a Unix system", "leave it out; there is one user and one process",
        """fcntl grp pwd resource syslog os.getuid os.geteuid os.getgid os.getegid os.getgroups os.getlogin
        os.getppid os.getloadavg os.chown os.nice os.mkfifo os.pipe os.memfd_create os.sched_getaffinity
        select.epoll selectors.EpollSelector""",
    ),
    ("links between files", "copy the file with shutil.copy2", "os.link os.symlink"),
    (
        "descriptors of files beyond open, read, write and close", "use the object that open() gives",
        "os.dup os.pread os.pwrite os.truncate os.umask",
    ),
    ("dbm.gnu and dbm.ndbm", "use sqlite3 or dbm.dumb", "dbm.gnu dbm.ndbm _gdbm _dbm"),
    ("hashlib.scrypt", "derive keys with hashlib.pbkdf2_hmac", "hashlib.scrypt"),
    ("time.tzset", "use zoneinfo.ZoneInfo", "time.tzset"),
    ("ensurepip and venv", "name the packages of the tool", "ensurepip venv"),
)  # fmt: skip
LACKS = tuple(
    Missing(feature=feature, instead=instead, names=tuple(names.split()))
    for feature, instead, names in _LACKS
)
"""Tested against the component: all that it lacks is named, and nothing that it has."""


def packages_with_sockets(packages: Iterable[str]) -> list[str]:
    """Those of a tool's packages that open sockets, which only Docker and bubblewrap have."""
    from packaging.utils import canonicalize_name  # slow to load, and few tools have packages

    names = [re.split(r"[^A-Za-z0-9._-]", package.strip(), maxsplit=1)[0] for package in packages]
    return [name for name in names if canonicalize_name(name) in SOCKET_PACKAGES]


def lacks_of_sandbox(kind: str, packages: Iterable[str]) -> list[str]:
    """What a tool with these packages needs that this kind of sandbox lacks, as in `needs Docker or bubblewrap …`."""
    refused = packages_with_sockets(packages) if kind == EMBEDDED else []
    return [f"needs Docker or bubblewrap for the sockets of {' and '.join(refused)}"] if refused else []


def abilities() -> Abilities:
    """Abilities of the CPython in the component."""
    offers = whole_cpython("an embedded sandbox (WebAssembly)", PYTHON).offers
    return Abilities(offers=offers, lacks=LACKS, elsewhere=ANOTHER_SANDBOX)
