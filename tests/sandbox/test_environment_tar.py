"""The tar that a builder hands out: a few bytes that would become many, and everything else that is no plain tar."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable

import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.packages.tar import plain_entries, plain_tar
from tests.sandbox.tars import tar_of

CLAIMED = 64 << 20


def sparse_header() -> bytes:
    """A file of GNU tar that holds no byte and says that it is all zeros."""
    entry = tarfile.TarInfo("zeros.bin")
    entry.type = tarfile.GNUTYPE_SPARSE
    head = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    head[386:398] = head[483:495] = b"%011o\0" % CLAIMED
    head[398:410] = b"%011o\0" % 0
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + bytes(1024)


def sparse_by_words() -> bytes:
    """The same in the words of a pax header."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo("zeros.bin")
        entry.pax_headers = {"GNU.sparse.size": str(CLAIMED), "GNU.sparse.map": f"{CLAIMED},0"}
        archive.addfile(entry)
    return buffer.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
def test_a_tar_that_is_packed_is_no_environment(pack: Callable[[bytes], bytes]) -> None:
    bomb = pack(tar_of({"zeros.py": bytes(CLAIMED)}))
    assert len(bomb) < CLAIMED // 500
    with pytest.raises(SandboxError, match="not a valid tar"):
        plain_tar(bomb)


@pytest.mark.parametrize("made", [sparse_header, sparse_by_words])
def test_a_file_that_is_larger_than_its_bytes_is_refused_before_it_is_read(made: Callable[[], bytes]) -> None:
    with tarfile.open(fileobj=io.BytesIO(made()), mode="r:") as archive:
        assert archive.getmember("zeros.bin").size == CLAIMED
    with pytest.raises(SandboxError, match="not a plain file"):
        next(plain_entries(made()))


def test_a_tar_that_ends_too_soon_is_refused() -> None:
    with pytest.raises(SandboxError, match="not a valid tar"):
        plain_tar(tar_of({"a.py": b"x" * 10_000})[:2_000])
