"""Files that come with a task, kept in a private folder for as long as the run needs them."""

from __future__ import annotations

import base64
import binascii
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from alita_mcp.server.api.problems import Refusal
from alita_mcp.server.api.values import NewFile
from alita_mcp.server.results.building import printable

MAX_NAME_BYTES = 200
_UNUSABLE = re.compile(r'[\x00-\x1f/\\:*?"<>|]|^[. ]|[. ]$')
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that are no files on Windows."""


async def staged(files: Sequence[NewFile]) -> Path | None:
    """A new folder, readable by no other user, that holds the files; None where there are none.

    Raises:
        Refusal: 422, a name is none, comes twice, or contents are missing or unreadable.
    """
    if not files:
        return None
    contents = await anyio.to_thread.run_sync(_checked, files)
    return await anyio.to_thread.run_sync(_written, contents)


async def removed(folder: Path | None) -> None:
    """Removes such a folder, whatever else is cancelled."""
    if folder is not None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))


def _checked(files: Sequence[NewFile]) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    seen: set[str] = set()
    for file in files:
        name = unicodedata.normalize("NFC", file.name)
        if _is_unusable(name):
            raise _unfit(file, "is no file name that is taken here")
        if name.casefold() in seen:
            raise _unfit(file, "comes twice")
        seen.add(name.casefold())
        contents[name] = _bytes_of(file)
    return contents


def _is_unusable(name: str) -> bool:
    return (
        bool(_UNUSABLE.search(name) or _DEVICE.fullmatch(name))
        or printable(name) != name
        or len(name.encode()) > MAX_NAME_BYTES
    )


def _bytes_of(file: NewFile) -> bytes:
    if (file.content is None) == (file.content_base64 is None):
        raise _unfit(file, "needs one of content and content_base64")
    if file.content_base64 is None:
        return (file.content or "").encode()
    try:
        return base64.b64decode(file.content_base64, validate=True)
    except (binascii.Error, ValueError):
        raise _unfit(file, "has a content_base64 that is no base64") from None


def _unfit(file: NewFile, why: str) -> Refusal:
    return Refusal(422, "invalid", f"files: {printable(file.name, 80)!r} {why}.")


def _written(contents: dict[str, bytes]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="alita-task-"))
    try:
        for name, data in contents.items():
            (folder / name).write_bytes(data)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder
