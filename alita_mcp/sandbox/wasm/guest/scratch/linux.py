"""Error numbers and flags of Linux, which tools and their tests expect.

Imported before anything else that the component holds, so that no module keeps the numbers of WASI.
"""

from __future__ import annotations

import errno
import gc
import os

_NUMBERS = """
    EPERM 1 ENOENT 2 ESRCH 3 EINTR 4 EIO 5 ENXIO 6 E2BIG 7 ENOEXEC 8 EBADF 9 ECHILD 10 EAGAIN 11 EWOULDBLOCK
    11 ENOMEM 12 EACCES 13 EFAULT 14 EBUSY 16 EEXIST 17 EXDEV 18 ENODEV 19 ENOTDIR 20 EISDIR 21 EINVAL 22
    ENFILE 23 EMFILE 24 ENOTTY 25 ETXTBSY 26 EFBIG 27 ENOSPC 28 ESPIPE 29 EROFS 30 EMLINK 31 EPIPE 32 EDOM 33
    ERANGE 34 EDEADLK 35 ENAMETOOLONG 36 ENOLCK 37 ENOSYS 38 ENOTEMPTY 39 ELOOP 40 ENOMSG 42 EIDRM 43 ENOLINK
    67 EPROTO 71 EMULTIHOP 72 EBADMSG 74 EOVERFLOW 75 EILSEQ 84 ENOTSOCK 88 EDESTADDRREQ 89 EMSGSIZE 90
    EPROTOTYPE 91 ENOPROTOOPT 92 EPROTONOSUPPORT 93 ENOTSUP 95 EOPNOTSUPP 95 EAFNOSUPPORT 97 EADDRINUSE 98
    EADDRNOTAVAIL 99 ENETDOWN 100 ENETUNREACH 101 ENETRESET 102 ECONNABORTED 103 ECONNRESET 104 ENOBUFS 105
    EISCONN 106 ENOTCONN 107 ETIMEDOUT 110 ECONNREFUSED 111 EHOSTUNREACH 113 EALREADY 114 EINPROGRESS 115
    ESTALE 116 EDQUOT 122 ECANCELED 125 EOWNERDEAD 130 ENOTRECOVERABLE 131
""".split()
NUMBERS = dict(zip(_NUMBERS[::2], map(int, _NUMBERS[1::2]), strict=True))
_TEXTS = {
    "ELOOP": "Too many levels of symbolic links",
    "EMFILE": "Too many open files", "EXDEV": "Invalid cross-device link",
    "ENOTTY": "Inappropriate ioctl for device", "ESTALE": "Stale file handle",
}  # fmt: skip
"""What the C library here words in another way."""
_FLAGS = {
    "O_RDONLY": 0, "O_WRONLY": 1, "O_RDWR": 2, "O_ACCMODE": 3, "O_CREAT": 0o100, "O_EXCL": 0o200, "O_NOCTTY": 0o400,
    "O_TRUNC": 0o1000, "O_APPEND": 0o2000, "O_NONBLOCK": 0o4000, "O_DSYNC": 0o10000, "O_DIRECTORY": 0o200000,
    "O_NOFOLLOW": 0o400000, "O_CLOEXEC": 0o2000000, "O_SYNC": 0o4010000,
}  # fmt: skip


def install() -> None:
    """Replaces the numbers in `errno`, in the table by which OSError finds its class, and in `os`."""
    import posix

    here = {name: number for name, number in vars(errno).items() if name in NUMBERS}
    classes = next(
        table
        for table in gc.get_referrers(BlockingIOError)
        if type(table) is dict and table.get(here["EPIPE"]) is BrokenPipeError
    )
    moved = {NUMBERS[name]: classes[number] for name, number in here.items() if number in classes}
    for number in NUMBERS.values():
        classes.pop(number, None)
    classes.update(moved)  # numbers that only WASI uses keep their class
    vars(errno).update(NUMBERS)
    errno.errorcode = {number: name for name, number in NUMBERS.items() if name != "EWOULDBLOCK"}
    texts = {NUMBERS[name]: _TEXTS.get(name) or os.strerror(number) for name, number in here.items()}

    def strerror(code: int, /) -> str:
        return texts.get(code, f"Unknown error {code}")

    for module in (os, posix):
        vars(module).update(_FLAGS, strerror=strerror)


if os.sys.platform == "wasi":  # type: ignore[attr-defined]
    install()
