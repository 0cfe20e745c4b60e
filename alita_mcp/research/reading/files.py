"""Reader of a task's files: text, code, separated values, JSON, HTML and PDF."""

from __future__ import annotations

from pathlib import Path, PurePath

import anyio

from alita_mcp.errors import UsageError
from alita_mcp.research.reading.readers import Readers, open_readers
from alita_mcp.research.values import Document

MAX_BYTES = 64_000_000
_TYPES = {
    ".pdf": "application/pdf", ".html": "text/html", ".htm": "text/html", ".xhtml": "text/html",
    ".json": "application/json", ".geojson": "application/json", ".csv": "text/csv",
    ".tsv": "text/tab-separated-values", ".xml": "application/xml", ".rss": "application/xml",
}  # fmt: skip
_OFFICE = frozenset({".xlsx", ".xls", ".ods", ".docx", ".doc", ".odt", ".pptx", ".ppt", ".odp"})


async def read_file(path: Path, name: str, readers: Readers | None = None) -> Document:
    """The document in a file, under `file:NAME`; `readers` are processes to use, else one is started.

    Raises:
        UsageError: it cannot be opened, is too large, or is of a kind that is not read.
    """
    suffix = PurePath(name.lower()).suffix
    if suffix in _OFFICE:
        why = f"{name!r} is an office file, which is not read."
        raise UsageError(why, hint="Export it as CSV, text or PDF.")
    body = await _bytes(path, name)
    if not body.strip():
        return Document(url=f"file:{name}", content_type="text/plain")
    kind = _TYPES.get(suffix, "text/plain")
    try:
        if readers is not None:
            return await readers.read(body, kind, f"file:{name}")
        async with open_readers() as own:
            return await own.read(body, kind, f"file:{name}")
    except UsageError as refused:
        raise UsageError(f"{name!r}: {refused.message}", hint=refused.hint) from refused


async def _bytes(path: Path, name: str) -> bytes:
    file = anyio.Path(path)
    try:
        if not await file.is_file():
            raise UsageError(f"{name!r} is no file.")
        if (await file.stat()).st_size > MAX_BYTES:
            raise UsageError(f"{name!r} is larger than {MAX_BYTES:,} bytes.", hint="Read it in code instead.")
        return await file.read_bytes()
    except OSError as closed:
        raise UsageError(f"{name!r} cannot be read: {closed.strerror}.") from closed
