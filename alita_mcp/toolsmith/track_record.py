"""Track record of models: how many of their syntheses agreed fully, counted in the journal.

Kept by the names and server addresses of coder and tester. A request that is made again counts once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

import anyio.to_thread

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.library.rows import JournalRow
from alita_mcp.owners import USER
from alita_mcp.toolsmith.jobs.journal import EVENT
from alita_mcp.values import AcceptedVersion, StoredVersion
from alita_mcp.verification.agreement import is_proven
from alita_mcp.verification.code.contract import read_contract

ROWS_READ = 1_000
"""The newest syntheses that count."""
SINCE = "; its models' next syntheses agreed fully too"
_log = logging.getLogger(__name__)


async def read_agreed_before(
    library: Library, models: Mapping[str, str], request: str, owner: str
) -> tuple[bool, ...] | None:
    """Whether the last syntheses of these models for an owner agreed fully, newest first; None for no models."""
    return _agreements(await _read_rows(library, models, owner), request) if models else None


async def raise_proven(library: Library, models: Mapping[str, str], owner: str) -> list[StoredVersion]:
    """Raises an owner's tools that stayed provisional only for want of a record, where later syntheses prove it.

    A tool that cannot be raised stays as it is, which is logged only.
    """
    rows = (await _read_rows(library, models, owner))[::-1]
    raised: list[StoredVersion] = []
    for place, row in enumerate(rows):
        waits = row.detail["agreed"] and row.detail.get("trust") == "provisional" and row.version is not None
        if waits and is_proven(_agreements(rows[place + 1 :], str(row.detail.get("request")))):
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
    """The syntheses of these models for an owner that could agree fully, newest first."""
    if not models:
        return []
    rows = await anyio.to_thread.run_sync(library.journal, ROWS_READ, EVENT)
    return [
        row
        for row in rows
        if row.detail.get("models") == models
        and isinstance(row.detail.get("agreed"), bool)
        and row.detail.get("owner", USER) == owner
    ]


def _agreements(rows: Iterable[JournalRow], request: str) -> tuple[bool, ...]:
    """Whether each agreed, in their order: of those with one request the first, and none with `request` itself."""
    # a request that is made again counts once, by its newest synthesis
    first: dict[object, bool] = {}
    for row in rows:
        first.setdefault(row.detail.get("request"), row.detail["agreed"])
    return tuple(agreed for mark, agreed in first.items() if mark != request)
