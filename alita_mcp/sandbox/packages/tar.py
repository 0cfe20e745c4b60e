"""Checked tar of an environment: a builder's output is not trusted, so only plain files and folders pass."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO

from alita_mcp.errors import SandboxError

MAX_ENTRIES = 200_000
FOLDER_MODE, FILE_MODE, PROGRAM_MODE = 0o755, 0o644, 0o755


def plain_entries(tar: bytes) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Folders and files of the tar, owned by root and readable by everybody.

    Not `tarfile`'s own filter: Python before 3.11.4 has none, and an environment needs no links.

    Raises:
        SandboxError: no tar, a packed one, too many files, a link, a device, a sparse file, or a path that leads
            elsewhere.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
            for number, member in enumerate(archive):
                if number >= MAX_ENTRIES:
                    raise SandboxError(f"The environment holds more than {MAX_ENTRIES} files.")
                path = PurePosixPath(member.name)
                # a sparse file grows when it is read
                plain = member.isdir() or (member.isreg() and not member.issparse())
                if path.is_absolute() or ".." in path.parts or not plain:
                    raise SandboxError(
                        f"The environment holds {member.name!r}, which is not a plain file inside it."
                    )
                entry = tarfile.TarInfo(str(path))
                entry.mtime = member.mtime
                if member.isdir():
                    entry.type, entry.mode = tarfile.DIRTYPE, FOLDER_MODE
                else:
                    entry.size = member.size
                    entry.mode = PROGRAM_MODE if member.mode & 0o100 else FILE_MODE
                if member.offset_data + member.size > len(tar):
                    raise tarfile.ReadError("it ends too soon")
                yield entry, archive.extractfile(member) if member.isreg() else None
    except (tarfile.TarError, EOFError) as broken:
        raise SandboxError(f"The environment is not a valid tar: {broken}.") from broken


def plain_tar(tar: bytes) -> bytes:
    """The same files as a tar of plain entries; errors as `plain_entries`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:") as archive:
        for entry, content in plain_entries(tar):
            archive.addfile(entry, content)
    return buffer.getvalue()


def tar_of_file(name: str, content: bytes, mode: int = FILE_MODE) -> bytes:
    """A tar that holds one file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:") as archive:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(content), mode
        archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
