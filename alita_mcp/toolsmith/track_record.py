"""Track record of models: how many of their syntheses agreed fully, counted in the journal.

Kept by the names and server addresses of planner, coder and tester; those that a client lends have none. Requests that
are alike, in their words or in the shape of the code that they led to, count once.
"""

from __future__ import annotations

import ast
import hashlib
import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import anyio.to_thread

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.library.rows import JournalRow
from alita_mcp.library.words.text import likeness, words_of
from alita_mcp.owners import USER
from alita_mcp.toolsmith.jobs.journal import EVENT
from alita_mcp.values import AcceptedVersion, StoredVersion
from alita_mcp.verification.agreement import is_proven, nearest_agreements
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.code.source import parse_code

ROWS_READ = 200
"""The newest syntheses that count."""
ALIKE = 0.5
"""Share of common words from which on two requests count as one."""
MAX_WORDS = 80
SINCE = "; so did this model's next tools"
_log = logging.getLogger(__name__)


class RequestMark(NamedTuple):
    """What the journal keeps of a request to tell whether another is like it: hashes only."""

    words: frozenset[str]
    shape: str = ""
    """Of the code that it led to; empty where there is none yet."""

    def is_like(self, other: RequestMark) -> bool:
        """Whether both ask for nearly the same, or led to code of the same shape."""
        same_shape = self.shape != "" and self.shape == other.shape
        return same_shape or likeness(self.words, other.words) >= ALIKE


def mark_request(description: str) -> str:
    """The hashes of a request's words, separated by spaces."""
    words = sorted(words_of(description))[:MAX_WORDS] or [description.strip()]
    return " ".join(_hash(word)[:8] for word in words)


def mark_shape(code: str) -> str:
    """A hash of the code without names, values and operators: `a + b` and `x * 2` have one shape."""
    tree = parse_code(code)
    for node in ast.walk(tree):
        for field in {"id", "arg", "name"} & {*node._fields}:
            setattr(node, field, "")
        if isinstance(node, ast.Constant):
            node.value = 0
        elif isinstance(node, ast.BinOp | ast.AugAssign):
            node.op = ast.Add()
        elif isinstance(node, ast.Compare):
            node.ops = [ast.Eq() for _ in node.ops]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return _hash(ast.dump(tree))[:16]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


async def read_agreed_before(
    library: Library, models: Mapping[str, str], request: str, owner: str
) -> tuple[bool, ...] | None:
    """Whether the last syntheses of these models for an owner agreed fully, newest first; None for no models."""
    if not models:
        return None
    own = RequestMark(frozenset(mark_request(request).split()))
    return _agreements(await _read_rows(library, models, owner), own)


async def raise_proven(library: Library, models: Mapping[str, str], owner: str) -> list[StoredVersion]:
    """Raises an owner's tools that stayed provisional only for want of a record, where later syntheses prove it.

    A tool that cannot be raised stays as it is, which is logged only.
    """
    rows = (await _read_rows(library, models, owner))[::-1]
    raised: list[StoredVersion] = []
    for place, row in enumerate(rows):
        waits = row.detail["agreed"] and row.detail.get("trust") == "provisional" and row.version is not None
        if waits and is_proven(_agreements(rows[place + 1 :], _mark_in(row))):
            name, version = str(row.name), row.version or 0
            try:
                manifest = library.entry(name).manifest
                if (manifest.version, manifest.trust) != (version, "provisional"):
                    continue
                known = await library.read(name, version)
                failed = [check for check in known.report.checks if not check.passed]
                agreed = known.report.agreement is not None and known.report.agreement.agreed
                if not agreed or any(check.stage != "agreement" for check in failed):
                    continue  # something else holds it back
                checks = [
                    check
                    if check.passed
                    else check.model_copy(
                        update={"passed": True, "fix": "", "message": f"{check.message}{SINCE}"}
                    )
                    for check in known.report.checks
                ]
                report = known.report.model_copy(update={"trust": "verified", "checks": tuple(checks)})
                contract = read_contract(known.code, name, manifest.description)
                accepted = AcceptedVersion(
                    draft=known.draft, contract=contract, lock=known.lock, report=report
                )
                await library.raise_trust(accepted, known)
                raised.append(await library.read(name, version))
            except AlitaError as failure:
                _log.warning("%s v%s stays provisional: %s", row.name, row.version, failure.message)
    return raised


async def _read_rows(library: Library, models: Mapping[str, str], owner: str) -> list[JournalRow]:
    """The syntheses of these models for an owner whose agreement counts, newest first."""
    if not models:
        return []
    rows = await anyio.to_thread.run_sync(library.journal, ROWS_READ, EVENT)
    return [
        row
        for row in rows
        if row.detail.get("models") == models
        and isinstance(row.detail.get("agreed"), bool)
        and row.detail.get("owner", USER) == owner
        # what agreed and was there already, or was broken off, says nothing
        and not (row.detail["agreed"] and row.detail.get("status") in {"exists", "failed", "cancelled"})
    ]


def _agreements(rows: Iterable[JournalRow], own: RequestMark) -> tuple[bool, ...]:
    """Whether the nearest of different requests agreed; agreement on code that a gate rejects is none."""
    syntheses = (
        (_mark_in(row), row.detail["agreed"] and row.detail.get("status") != "rejected") for row in rows
    )
    return nearest_agreements(syntheses, own, RequestMark.is_like)


def _mark_in(row: JournalRow) -> RequestMark:
    return RequestMark(
        frozenset(str(row.detail.get("request", "")).split()), str(row.detail.get("shape", ""))
    )
