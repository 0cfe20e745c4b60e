"""Files that earlier versions kept in a home and that nothing reads any more."""

from __future__ import annotations

import shutil
from pathlib import Path

LEFTOVERS = {
    "lessons.jsonl": "lessons from failed syntheses",
    "lessons.lock": "lessons from failed syntheses",
    "model_records": "records of calibrated models",
    "memory.lance": "memories of tasks in LanceDB",
    "memory/fact": "quotations of web pages",
    "vectors.lance/vectors_*": "vectors of tools with their requests apart",
    "results": "results of calls",
    "responses": "answers of models",
    "web_pages": "pages of the web",
    "tasks": "runs of tasks",
    "code-runs": "runs of code",
}
"""Pattern below the home → what it was. Anything else that alita does not know belongs to somebody else."""


def find_leftovers(home: Path) -> dict[str, str]:
    """Path below the home → what it was, for each leftover that is there."""
    return {
        path.relative_to(home).as_posix(): meaning
        for pattern, meaning in LEFTOVERS.items()
        for path in sorted(home.glob(pattern))
    }


def remove_leftovers(home: Path) -> None:
    """Removes all leftovers; of a link only the link.

    Raises:
        OSError: one cannot be removed; those before it are gone.
    """
    for name in find_leftovers(home):
        path = home / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
