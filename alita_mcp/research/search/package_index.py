"""Search back end for the package index: looks up names derived from a query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import anyio

from alita_mcp.errors import UsageError
from alita_mcp.library.words.stems import stems
from alita_mcp.research.index.look_alikes import look_alike_of
from alita_mcp.research.index.projects import Project, ProjectReader, newest, project_name, released
from alita_mcp.research.index.well_known_names import CALLED, WELL_KNOWN
from alita_mcp.research.index.wheels import in_words
from alita_mcp.research.search.hits import Row, hits_of
from alita_mcp.research.search.keywords import keywords
from alita_mcp.research.values import SearchHit

MOST_NAMES = 8
"""How many names one query is worth."""
_AT_ONCE = 4
_TIMEOUT_S = 10.0
_WRITTEN = re.compile(r"[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)+|[A-Za-z]+\d+[A-Za-z0-9]*")
"""A word that reads as a name: `python-docx`, `lancedb_core`, `h5py`."""
_PYTHON = frozenset({"python", "py", "python3", "pypi"})


class PackageIndexSearch:
    """Package search with one request for each of at most `MOST_NAMES` names; implements `SearchBackend`."""

    name = "package_index"

    def __init__(self, reader: ProjectReader, allowed: frozenset[str] = frozenset()) -> None:
        self._reader = reader
        self._allowed = allowed | {reader.place}

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """Packages whose name the query holds or whose summary shares its words; raises UsageError."""
        names = candidate_names(query)
        found: dict[str, Project] = {}
        failed: list[UsageError] = []
        slots = anyio.CapacityLimiter(_AT_ONCE)

        async def look_up(name: str) -> None:
            try:
                async with slots:
                    project = await self._reader.read(name)
            except UsageError as refused:
                failed.append(refused)
                return
            if project is not None:
                found[name] = project

        with anyio.move_on_after(_TIMEOUT_S) as limited:
            async with anyio.create_task_group() as together:
                for name in names:
                    together.start_soon(look_up, name)
        if not found and (failed or limited.cancelled_caught):
            raise failed[0] if failed else UsageError(f"{self.name} did not answer within {_TIMEOUT_S:g} s.")
        in_order = [found[name] for name in names if name in found]
        return await anyio.to_thread.run_sync(self._hits, query, in_order, limit)

    def _hits(self, query: str, projects: Sequence[Project], limit: int) -> Sequence[SearchHit]:
        return hits_of(self.name, map(_row, _fitting(query, projects)), limit, self._allowed)


def candidate_names(query: str) -> list[str]:
    """Package names that a query may mean, likeliest first."""
    words = keywords(query, 6, _PYTHON)
    names = (project_name(name) for name in _derived(query, words))
    return list(dict.fromkeys(filter(None, names)))[:MOST_NAMES]


def _derived(query: str, words: Sequence[str]) -> Iterator[str]:
    yield from _WRITTEN.findall(query)
    if 1 <= len(words) <= 3:
        yield "-".join(words)
    yield from _kin(words)
    yield from (f"{one}-{other}" for one, other in pairwise(words))
    yield from words
    yield from (f"py{word}" for word in words if "py" not in word)


def _kin(words: Iterable[str]) -> dict[str, int]:
    """Well-known packages that words may stand for, each with how many shared words that is worth."""
    found: dict[str, int] = {}
    for word in words:
        kin = {word: 0, CALLED.get(word, ""): 2, f"py{word}": 1, f"python-{word}": 1, look_alike_of(word): 1}
        found |= {name: worth for name, worth in kin.items() if name in WELL_KNOWN and name not in found}
    return found


def _fitting(query: str, projects: Iterable[Project]) -> list[Project]:
    """Those that share two words with the query, or one that has no other; most words first."""
    words = keywords(query, 12, _PYTHON)
    asked, kin = set(stems(" ".join(words))), _kin(words)
    written = {project_name(name) for name in _WRITTEN.findall(query)}
    ranked = []
    for project in projects:
        told = f"{project.name} {project.name.replace('-', ' ')} {project.summary}"
        shared = len(asked & set(stems(told))) + kin.get(project.name, 0)
        if project.name in written or len(asked) <= 1:
            shared += len(asked)
        if shared >= min(2, len(asked)):
            ranked.append((shared, project))
    return [project for _, project in sorted(ranked, key=lambda pair: -pair[0])]


def _row(project: Project) -> Row:
    releases = project.by_version()
    latest = newest(releases)
    files = releases[latest] if latest else []
    facts = (
        project.summary,
        f"licence {project.licence}" if project.licence else "",
        f"last release {released(files)}" if released(files) else "",
        in_words(file.filename for file in files),
        "withdrawn by its authors (yanked)" if files and all(file.is_yanked for file in files) else "",
        *project.warnings,
        project.home,
    )
    title = f"{project.name} {latest or '(only pre-releases)'}"
    return project.url, title, "; ".join(fact for fact in facts if fact), released(files)
