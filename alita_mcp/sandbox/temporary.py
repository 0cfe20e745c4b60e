"""One folder for all temporary files of a process, removed when it ends, or by the next process where it was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from alita_mcp.sandbox.owner import ProcessOwner

PREFIX = "alita-"


def claim_temporary_folder() -> None:
    """Has `tempfile` use a private folder of this process from now on; removes those of processes that are gone.

    Where none can be made, on a full disk, all stays as it was: whoever needs a file says so.
    """
    with suppress(OSError):
        shared = Path(tempfile.gettempdir())
        for folder in shared.glob(f"{PREFIX}*-*-*-*"):
            owner = ProcessOwner.parse(folder.name.removeprefix(PREFIX).rpartition("-")[0])
            # In a folder that all users share, anybody may have made one of that name, or a link.
            is_ours = not hasattr(os, "getuid") or folder.lstat().st_uid == os.getuid()
            if owner is not None and owner.is_gone() and is_ours:
                shutil.rmtree(folder, ignore_errors=True)
        tempfile.tempdir = tempfile.mkdtemp(prefix=f"{PREFIX}{ProcessOwner.this_process()}-")


def remove_temporary_folder() -> None:
    """Removes the folder of this process, also while threads still write there; call it last."""
    folder = tempfile.tempdir
    if folder is None or not Path(folder).name.startswith(f"{PREFIX}{ProcessOwner.this_process()}-"):
        return
    with suppress(OSError):
        gone = f"{folder}.gone"  # under its old name a thread finds nothing to write to
        Path(folder).rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
    tempfile.tempdir = None
