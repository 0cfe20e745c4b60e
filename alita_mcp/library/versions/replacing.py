"""Replaces the files of a published version, and undoes or completes a replacement that was cut off.

A folder cannot replace another one in a single step, so for a moment a version is missing or ahead of its row.
Under the library's lock there is no such moment: exchanges happen under it, and one that was cut off is put right.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from alita_mcp.errors import LibraryError
from alita_mcp.library.decisions import refuse_link
from alita_mcp.library.disk import OnStep, no_step, read_folder, sync_folder
from alita_mcp.library.trust.trust import is_lower
from alita_mcp.library.versions.files import VERSION_FILES, ToolFiles, canonical_example, seal_of
from alita_mcp.machine import unusable
from alita_mcp.values import StoredVersion


def exchange(
    files: ToolFiles, name: str, version: int, new: Path, old: Path, on_step: OnStep = no_step
) -> None:
    """Puts `new` in the place of a version's folder and that at `old`, all on the disk afterwards.

    Call it under the library's lock. Both lie aside under their owner's name until the right one is in place.

    Raises:
        LibraryError: the tool's folder is a link, or the disk refuses; `put_right` says which folder is the true one.
    """
    place = files.folder(name, version)
    refuse_link(place.parent)
    try:
        place.rename(old)
        on_step("laid aside")
        new.rename(place)
        on_step("replaced")
        sync_folder(place.parent)
        sync_folder(files.root)
        on_step("in place")
    except OSError as error:
        raise unusable(place, error) from error


def put_right(files: ToolFiles, owner: str, name: str, version: int, seal: str) -> None:
    """Puts the folder that `seal` names in place, if an exchange of `owner` was cut off before its end.

    Call it under the library's lock. A version that was edited meanwhile is left alone: reading it says so.

    Raises:
        LibraryError: the disk refuses; the folders are still there.
    """
    place = files.folder(name, version)
    if _seal_in(place) == seal:
        return
    true = next((aside for aside in files.folders_aside(owner) if _seal_in(aside) == seal), None)
    if true is None:
        return
    try:
        false = files.aside()
        if os.path.lexists(place):
            place.rename(false)
        true.rename(place)
        shutil.rmtree(false, ignore_errors=True)
        sync_folder(place.parent)
        sync_folder(files.root)
    except OSError as error:
        raise unusable(place, error) from error


def refuse_other_or_less(raised: StoredVersion, known: StoredVersion) -> None:
    """Refuses files that are not the same tool with as much proved about it, or more.

    Raises:
        LibraryError: they are not; the message says how they differ.
    """
    name = f"{known.manifest.name} v{known.manifest.version}"
    evidence = {"trust", "deterministic", "digest"}
    if (
        raised.code != known.code
        or raised.manifest.model_copy(update=known.manifest.model_dump(include=evidence)) != known.manifest
    ):
        raise LibraryError(f"More examples do not make {name} another tool.", hint="Publish a new version.")
    if is_lower(raised.manifest.trust, known.manifest.trust):
        raise LibraryError(
            f"{name} is {known.manifest.trust} and stays so: {raised.manifest.trust} is less.",
            hint="Publish a new version if the tool is wrong.",
        )
    if not set(map(canonical_example, known.examples)) <= set(map(canonical_example, raised.examples)):
        raise LibraryError(f"{name} would lose examples that it was accepted with.", hint="Keep them all.")


def _seal_in(folder: Path) -> str:
    """The seal of what a folder holds; empty when that is no version."""
    try:
        return seal_of(read_folder(folder, VERSION_FILES))
    except LibraryError:
        return ""
