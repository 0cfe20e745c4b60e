"""Files that a browser sends along with a task, in a folder of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

import anyio.to_thread
from starlette.datastructures import FormData, UploadFile

from alita_mcp.errors import UsageError
from alita_mcp.unseen import HIDDEN

MAX_NAME_BYTES = 200


async def save_uploads(form: FormData, field: str, folder: Path) -> tuple[Path, ...]:
    """Writes the files of a form's field into a folder, under the last part of their names.

    Raises:
        UsageError: two have the same name.
    """
    saved: list[Path] = []
    for number, file in enumerate(form.getlist(field), 1):
        if not isinstance(file, UploadFile) or not file.filename:  # the field was left empty
            continue
        path = folder / plain_name(file.filename, number)
        if path in saved:
            raise UsageError(f"Two files are named {path.name!r}.", hint="Rename one of them.")
        saved.append(path)
        await anyio.to_thread.run_sync(_write, file, path)
    return tuple(saved)


def _write(file: UploadFile, path: Path) -> None:
    file.file.seek(0)
    with path.open("xb") as target:
        shutil.copyfileobj(file.file, target)


def plain_name(sent: str, number: int) -> str:
    """The last part of a name that a browser sent, as a name that can be shown and kept in any folder."""
    last = sent.replace("\\", "/").rpartition("/")[2]
    name = "".join("_" if not each.isprintable() or HIDDEN.match(each) else each for each in last).strip()
    while len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        name = name[1:]  # its end says what it is
    return name if name.strip(". ") else f"file-{number}"
