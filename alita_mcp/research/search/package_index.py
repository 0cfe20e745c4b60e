"""Search back end for the package index: looks up names derived from a query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import anyio

from alita_mcp.errors import UsageError
from alita_mcp.library.words.everyday_words import WORDS
from alita_mcp.library.words.stems import STOP_WORDS, stems
from alita_mcp.research.index.look_alikes import look_alike_of
from alita_mcp.research.index.well_known_names import CALLED, WELL_KNOWN
from alita_mcp.research.index.wheels import in_words
from alita_mcp.research.packages import Project, ProjectReader, newest, project_name, release_date
from alita_mcp.research.search.apis import Row, hits_of
from alita_mcp.research.texts import MAX_QUERY, one_line
from alita_mcp.research.values import SearchHit

MAX_NAMES = 8
"""How many names one query is worth."""
_AT_ONCE = 4
_TIMEOUT_S = 10.0
_WRITTEN = re.compile(r"[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)+|[A-Za-z]+\d+[A-Za-z0-9]*")
"""A word that reads as a name: `python-docx`, `lancedb_core`, `h5py`."""
_WORD = re.compile(r"\w(?:[\w.+-]*\w)?")
_PYTHON = frozenset({"python", "py", "python3", "pypi"})
_COMMON_WORDS = {
    *STOP_WORDS, *WORDS.split(), "library", "libraries", "package", "packages", "module", "modules", "pip",
    "install", "installation", "latest", "newest", "version", "repository", "repo", "github", "code",
}  # fmt: skip


def keywords(query: str, most: int, excluded: frozenset[str] = frozenset()) -> list[str]:
    """The most distinctive words in lower case, in order, once each; everyday ones only where there are no others."""
    words = list(dict.fromkeys(_WORD.findall(one_line(query, MAX_QUERY).lower())))
    distinctive = [word for word in words if word not in _COMMON_WORDS | excluded and len(word) > 1]
    return (distinctive or words)[:most]


class PackageIndexSearch:
    """Package search with one request for each of at most `MAX_NAMES` names; implements `SearchBackend`."""

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
        return await anyio.to_thread.run_sync(self._hits_of, query, in_order, limit)

    def _hits_of(self, query: str, projects: Sequence[Project], limit: int) -> Sequence[SearchHit]:
        return hits_of(self.name, map(_row, rank_projects(query, projects)), limit, self._allowed)


def candidate_names(query: str) -> list[str]:
    """Package names that a query may mean, likeliest first."""
    words = keywords(query, 6, _PYTHON)
    names = [
        *_WRITTEN.findall(query),
        *(["-".join(words)] if len(words) <= 3 else []),
        *_well_known_for(words),
        *(f"{one}-{other}" for one, other in pairwise(words)),
        *words,
        *(f"py{word}" for word in words if "py" not in word),
    ]
    return list(dict.fromkeys(filter(None, map(project_name, names))))[:MAX_NAMES]


def _well_known_for(words: Iterable[str]) -> list[str]:
    """Well-known packages that words may stand for: as they are, by their module, or misspelt."""
    names = [
        name
        for word in words
        for name in (word, CALLED.get(word, ""), f"py{word}", f"python-{word}", look_alike_of(word))
    ]
    return [name for name in names if name in WELL_KNOWN]


def rank_projects(query: str, projects: Iterable[Project]) -> list[Project]:
    """Those that share two words with the query, or one that has no other; most words first.

    A name that the query writes out counts as all of its words, and a well-known one that it stands for as two.
    """
    words = keywords(query, 12, _PYTHON)
    query_words, well_known = set(stems(" ".join(words))), _well_known_for(words)
    written = {project_name(name) for name in _WRITTEN.findall(query)}
    ranked = []
    for project in projects:
        described = f"{project.name} {project.name.replace('-', ' ')} {project.summary}"
        shared = len(query_words & set(stems(described)))
        if project.name in well_known and project.name not in words:
            shared += 2
        if project.name in written or len(query_words) <= 1:
            shared += len(query_words)
        if shared >= min(2, len(query_words)):
            ranked.append((shared, project))
    return [project for _, project in sorted(ranked, key=lambda pair: -pair[0])]


def _row(project: Project) -> Row:
    releases = project.by_version()
    latest = newest(releases)
    files = releases[latest] if latest else []
    facts = (
        project.summary,
        f"licence {project.licence}" if project.licence else "",
        f"last release {release_date(files)}" if release_date(files) else "",
        in_words(file.filename for file in files),
        "withdrawn by its authors (yanked)" if files and all(file.is_yanked for file in files) else "",
        *project.warnings,
        project.home,
    )
    title = f"{project.name} {latest or '(only pre-releases)'}"
    return project.url, title, "; ".join(fact for fact in facts if fact), release_date(files)
