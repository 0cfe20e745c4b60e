"""README and docs/*.md as values: fenced blocks, commands with the output that is shown, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCUMENTS = (README, *sorted((ROOT / "docs").glob("*.md")))
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELLS = ("sh", "bash")


@dataclass(frozen=True)
class Command:
    """One command line of a document, and the lines that are shown below it."""

    line: str
    output: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The words as a shell has them, without comments and variables in front."""
        words = shlex.split(self.line, comments=True)
        return words[len(self.variables) :]

    @property
    def variables(self) -> dict[str, str]:
        """Variables in front of the command."""
        words = shlex.split(self.line, comments=True)
        found = {}
        for word in words:
            if not re.match(r"[A-Z_]+=", word):
                break
            found[word.partition("=")[0]] = word.partition("=")[2]
        return found


def fences(document: Path, *languages: str) -> list[str]:
    """The fenced blocks of some languages, in order; of all languages without any."""
    found = _FENCE.findall(document.read_text(encoding="utf-8"))
    return [text for language, text in found if not languages or language in languages]


def commands(document: Path) -> Iterator[Command]:
    """Every command of a document, in order: lines after `$ `, and all lines of shell scripts."""
    for language, text in _FENCE.findall(document.read_text(encoding="utf-8")):
        joined = text.replace("\\\n", " ")
        if language in _SHELLS:
            yield from (Command(line) for line in joined.splitlines() if line)
            continue
        for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
            line, *output = part.splitlines()
            yield Command(line, tuple(output))


def words_outside_folds(document: Path) -> int:
    """Words that a reader sees at once: no code, no folds, no targets of links."""
    text = re.sub(r"<details>.*?</details>", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", _FENCE.sub("", text))
    return sum(1 for word in text.split() if re.search(r"\w", word))


def relative_links(document: Path) -> list[str]:
    """Targets of links and pictures that are no address."""
    text = _FENCE.sub("", document.read_text(encoding="utf-8"))
    return [to for to in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"\w+:", to)]


def anchors(document: Path) -> set[str]:
    """Anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", document.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
