"""Search back end for the package index, which cannot be searched: it looks up names that a query may mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import anyio

from alita_mcp.errors import UsageError
from alita_mcp.library.words.stems import stems
from alita_mcp.research.index.look_alikes import look_alike_of
from alita_mcp.research.index.well_known_names import CALLED, WELL_KNOWN
from alita_mcp.research.index.wheels import describe_wheels
from alita_mcp.research.packages import PackageIndex, Project, project_name
from alita_mcp.research.search.apis import Row, hits_of, keywords
from alita_mcp.research.values import SearchHit

MAX_NAMES = 8
"""Names that are looked up for one query."""
_CONCURRENCY = 4
_TIMEOUT_S = 10.0
_WRITTEN_NAME = re.compile(r"[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)+|[A-Za-z]+\d+[A-Za-z0-9]*")
"""A word that reads as a name: `python-docx`, `lancedb_core`, `h5py`."""
_PYTHON = frozenset({"python", "py", "python3", "pypi"})


class PackageIndexSearch:
    """Package search with one request for each of at most `MAX_NAMES` names; implements `SearchBackend`."""

    name = "package_index"

    def __init__(self, index: PackageIndex, allowed: frozenset[str] = frozenset()) -> None:
        self._index = index
        self._allowed = allowed | {index.host_port}

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """Packages whose name the query holds or whose summary shares its words; raises UsageError."""
        names = candidate_names(query)
        found: dict[str, Project] = {}
        failed: list[UsageError] = []
        slots = anyio.CapacityLimiter(_CONCURRENCY)

        async def look_up(name: str) -> None:
            try:
                async with slots:
                    if (project := await self._index.read_project(name)) is not None:
                        found[name] = project
            except UsageError as refused:
                failed.append(refused)

        with anyio.move_on_after(_TIMEOUT_S) as limited:
            async with anyio.create_task_group() as tasks:
                for name in names:
                    tasks.start_soon(look_up, name)
        if not found and failed:
            raise failed[0]
        if not found and limited.cancelled_caught:
            raise UsageError(f"{self.name} did not answer within {_TIMEOUT_S:g} s.")
        in_order = [found[name] for name in names if name in found]
        rows = map(_row, await anyio.to_thread.run_sync(rank_projects, query, in_order))
        return hits_of(self.name, rows, limit, self._allowed)


def candidate_names(query: str) -> list[str]:
    """Package names that a query may mean, likeliest first."""
    words = keywords(query, 6, _PYTHON)
    joined = [f"{one}-{other}" for one, other in pairwise(words)]
    names = [*_WRITTEN_NAME.findall(query), *_well_known_for(words), *joined, *words]
    return list(dict.fromkeys(filter(None, map(project_name, names))))[:MAX_NAMES]


def _well_known_for(words: Sequence[str]) -> list[str]:
    """Well-known packages that words may stand for: as they are, by their module, or misspelt."""
    names = [
        name for word in words for name in (word, CALLED.get(word, ""), f"py{word}", look_alike_of(word))
    ]
    return [name for name in names if name in WELL_KNOWN]


def rank_projects(query: str, projects: Sequence[Project]) -> list[Project]:
    """Projects that the query means or that share two words with it, or one that has no other; most words first."""
    words = keywords(query, 12, _PYTHON)
    query_words = set(stems(" ".join(words)))
    meant = {*map(project_name, _WRITTEN_NAME.findall(query)), *_well_known_for(words)} - {*words}

    def count_shared_words(project: Project) -> int:
        described = set(stems(f"{project.name} {project.name.replace('-', ' ')} {project.summary}"))
        return len(query_words & described) + 2 * (project.name in meant)

    kept = [project for project in projects if count_shared_words(project) >= min(2, len(query_words))]
    return sorted(kept, key=count_shared_words, reverse=True)


def _row(project: Project) -> Row:
    newest = project.newest
    facts = [
        project.summary,
        f"licence {project.licence}" if project.licence else "",
        *(
            [f"last release {newest.date}" if newest.date else "", describe_wheels(newest.files)]
            if newest
            else []
        ),
        "withdrawn by its authors (yanked)" if newest and newest.is_yanked else "",
        *project.warnings,
    ]
    title = f"{project.name} {newest.version if newest else '(only pre-releases)'}"
    return project.url, title, "; ".join(filter(None, facts)), newest.date if newest else ""
