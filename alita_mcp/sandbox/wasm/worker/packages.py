"""Packages of the tool that a worker serves, read from the host's archive."""

from __future__ import annotations

import encodings.cp437  # noqa: F401 - zipfile reads names by it, and a worker opens no files later
import io
import zipfile


class Packages:
    """Files of one archive, each unpacked when an instance asks for it."""

    def __init__(self, archive: bytes = b"") -> None:
        self._zip = zipfile.ZipFile(io.BytesIO(archive)) if archive else None

    def read(self, name: str) -> str:
        """A member's bytes, each as one character, for the engine is slow at lists; empty where there is none."""
        try:
            return self._zip.read(name).decode("latin-1") if self._zip else ""
        except KeyError:
            return ""
