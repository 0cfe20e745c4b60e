"""Files with owners, of which the newest are kept, bounded in number and bytes: what every store of them offers."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class StoredFile(NamedTuple):
    """A file as it was read."""

    name: str
    owner: str
    """As the store knows it; the owner that a file was written for may be spelled otherwise."""
    content: bytes


class BoundedFiles(Protocol):
    """Files by owner and name, written whole; several processes may share them. All of it blocks.

    Every method that writes raises LibraryError where the disk or the database refuses.
    """

    def write_file(self, name: str, content: bytes, owner: str) -> bool:
        """Writes a file and removes the oldest ones that are too many; False where it has no room itself."""

    def read_file(self, name: str, owner: str) -> bytes | None:
        """An owner's file; None where there is none that can be read."""

    def newest(self, pattern: str, owner: str | None, limit: int) -> list[StoredFile]:
        """The newest files whose names match, of an owner or of all (None), the newest last; `*` is any text."""

    def replace_file(self, file: StoredFile, content: bytes | None) -> bool:
        """Writes (None: removes) a file that still is as it was read; False where it is not. Of several, one wins.

        What is written is the newest then.
        """

    def clear(self) -> None:
        """Removes all files of all owners."""
