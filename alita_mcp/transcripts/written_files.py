"""Files that a session wrote, with their texts as far as the transcript alone tells them."""

from __future__ import annotations

import json
import posixpath

from alita_mcp.transcripts.interface import EditCell, EditFile
from alita_mcp.transcripts.patches import patched

LONGEST = 200_000
"""Characters of a file; longer ones are forgotten, no program is as long."""
ROOM = 16_000_000
"""Characters of all files of a session together; the oldest are forgotten first."""


class WrittenFiles:
    """Texts by path. A path is a name to look up and nothing else: no file is read or written here."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._cells: dict[str, dict[str, str]] = {}
        self._size = 0

    def text_of(self, path: str) -> str | None:
        """The text as last written; of a notebook, its code cells one behind the other."""
        text = self._texts.get(path)
        return (
            _code_of(text)
            if text is not None and path.endswith(".ipynb") and path not in self._cells
            else text
        )

    def write(self, path: str, text: str | None) -> None:
        """Remembers the text; None: it changed, and how cannot be told."""
        self._size -= len(self._texts.pop(path, ""))
        if text is None or len(text) > LONGEST:
            self._cells.pop(path, None)
            return
        self._texts[path] = text
        self._size += len(text)
        while self._size > ROOM:
            self.write(next(iter(self._texts)), None)

    def edit(self, path: str, edits: EditFile) -> None:
        """Replaces pieces of a file; one that does not hold them is forgotten."""
        text = self._texts.get(path)
        for old, new, everywhere in edits.edits:
            if text is not None and not (old and old in text):
                text = new if not old and not text else None
            elif text is not None:
                times = text.count(old) if everywhere else 1
                grown = len(text) + times * len(new) > LONGEST
                text = None if grown else text.replace(old, new, times)
        self.write(path, text)

    def edit_cell(self, path: str, edit: EditCell) -> None:
        """Replaces, adds or drops one cell of a notebook."""
        cells = self._cells.setdefault(path, {})
        name = edit.cell
        if edit.mode == "insert" or not name:
            name = f"{name}+{len(cells)}"
        if edit.mode == "delete":
            cells.pop(name, None)
        else:
            cells[name] = without_magics(edit.source)
        self.write(path, "\n\n".join(cells.values()))

    def patch(self, text: str, folder: str) -> None:
        """Applies a patch of Codex."""
        done = patched(text, lambda path: self._texts.get(located(path, folder)))
        for path, new in done:
            self.write(located(path, folder), new)


def located(path: str, folder: str) -> str:
    """A path as one of many spellings of it: absolute where the folder is, with forward slashes."""
    return posixpath.normpath(posixpath.join(folder.replace("\\", "/"), path.replace("\\", "/")))


def without_magics(source: str) -> str:
    """A cell without lines that only IPython understands."""
    return "\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!")))


def _code_of(notebook: str) -> str | None:
    try:
        cells = json.loads(notebook)["cells"]
        sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
        joined = ("".join(source) for source in sources)
        return "\n\n".join(without_magics(source) for source in joined)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
