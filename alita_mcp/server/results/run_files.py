"""Files of code runs as resources: their links and contents."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import mcp_types as types

from alita_mcp.library.packed_files import mime_of, text_of
from alita_mcp.server.results.delivery import KEPT
from alita_mcp.server.results.ranges import asked_range, part_contents

if TYPE_CHECKING:
    from alita_mcp.runs.code_run import WrittenFile

FILE_URI = re.compile(
    r"(?P<uri>alita://runs/(?P<id>[0-9a-f]{32})/(?P<file>[^?#]{1,4000}))(?:\?(?P<range>[a-z0-9=&]{1,60}))?"
)
TEMPLATE = types.ResourceTemplate(
    uri_template="alita://runs/{id}/{+file}{?offset,length}",
    name="run_file",
    title="File of a run",
    description="A file that code left, as run_code named it. Text that is too large comes in parts, as of a result; "
    f"all else comes whole, or the bytes asked for. Files are {KEPT}.",
)


def told_files(run: str, files: Sequence[WrittenFile]) -> list[dict[str, Any]]:
    """Text of a result about the files of a run."""
    return [
        {
            "name": file.name,
            "uri": f"alita://runs/{run}/{quote(file.name)}",
            "bytes": len(file.data),
            "mime": mime_of(file.name, file.data),
        }
        for file in files
    ]


def links(told: Sequence[dict[str, Any]]) -> list[types.ContentBlock]:
    """The same as content."""
    return [
        types.ResourceLink(uri=each["uri"], name=each["name"], size=each["bytes"], mime_type=each["mime"])
        for each in told
    ]


def file_name(asked: re.Match[str]) -> str:
    """The name of the file that a URI asks for."""
    return unquote(asked["file"])


def file_contents(asked: re.Match[str], data: bytes, limit: int) -> types.ReadResourceResult:
    """A file: text as text, in parts where it is too large; all else as it is.

    Raises:
        InvalidArguments: the part asked for begins behind the end.
    """
    mime = mime_of(file_name(asked), data)
    if data and text_of(data) is not None:
        return part_contents(asked, data, mime, limit)
    wanted = asked_range(asked)
    if wanted:
        start = wanted.get("offset", 0)
        data = data[start : start + wanted.get("length", len(data))]
    blob = base64.b64encode(data).decode()
    return types.ReadResourceResult(
        contents=[types.BlobResourceContents(uri=asked[0], mime_type=mime, blob=blob)]
    )
