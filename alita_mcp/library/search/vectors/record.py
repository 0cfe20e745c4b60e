"""Record beside a table of vectors: its embedder, its last use, and its calibration."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from alita_mcp.library.search.calibration import Calibration
from alita_mcp.values import Value

UNUSED_DAYS = 30
A_DAY_S = 86_400.0
MAX_BYTES = 1 << 20


class VectorRecord(Value):
    """One table's record; a file in JSON beside it, whose time says when the table was last of use."""

    embedder: str
    probe: tuple[float, ...] = ()
    """The vector of a known text: another one under the same name shows that the model was exchanged."""
    calibration: Calibration | None = None
    calibrated_on: int = -1
    """How many example requests the library had then; -1: never."""


def read_record(folder: Path, table: str) -> VectorRecord | None:
    """The record of a table; None where there is none that can be read."""
    with suppress(OSError, ValidationError), _file(folder, table).open("rb") as file:
        return VectorRecord.model_validate_json(file.read(MAX_BYTES))
    return None


def write_record(folder: Path, table: str, record: VectorRecord) -> None:
    """Keeps the record, whole or not at all; one that cannot be kept is made again some time."""
    aside = folder / f"{table}.{secrets.token_hex(4)}.part"
    with suppress(OSError):
        try:
            aside.write_text(record.model_dump_json(), "utf-8")
            aside.replace(_file(folder, table))
        finally:
            aside.unlink(missing_ok=True)


def note_use(folder: Path, table: str) -> None:
    """Notes that the table is in use today; cheap enough for every search."""
    file = _file(folder, table)
    with suppress(OSError):
        if time.time() - file.stat().st_mtime > A_DAY_S:
            os.utime(file)


def drop_unused(folder: Path, kept: str) -> list[str]:
    """Removes the tables that no process used for `UNUSED_DAYS`, but never `kept`; returns their names.

    A process that searches says so once a day, and one that finds its table gone makes it anew. A table without a
    record counts as used today.
    """
    dropped = []
    for place in folder.glob("*.lance"):
        table, file = place.stem, _file(folder, place.stem)
        with suppress(OSError):
            if not file.exists():
                write_record(folder, table, VectorRecord(embedder=""))
            elif table != kept and time.time() - file.stat().st_mtime > UNUSED_DAYS * A_DAY_S:
                shutil.rmtree(place)
                file.unlink()
                (folder / f"{table}.turn").unlink(missing_ok=True)
                dropped.append(table)
    return dropped


def _file(folder: Path, table: str) -> Path:
    return folder / f"{table}.json"
