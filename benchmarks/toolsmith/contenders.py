"""Contender that uses the toolsmith itself, in a library of its own for each request."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio.to_thread

from alita_mcp.library.opening import open_library
from alita_mcp.models.roles import RoleModels
from alita_mcp.sandbox.choose import silent
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.settings import Settings
from alita_mcp.synthesis.requests.outcomes import Created, Rejected
from alita_mcp.synthesis.requests.request import read_request
from alita_mcp.synthesis.toolsmith import Toolsmith
from benchmarks.toolsmith import baselines
from benchmarks.toolsmith.attempt import Attempt
from benchmarks.toolsmith.judged_requests import JudgedRequest
from benchmarks.toolsmith.truth import with_lock

RECORDS = "model_records"
"""Where a home keeps what is known of models."""
Contender = Callable[[JudgedRequest, RoleModels, Sandbox], Awaitable[Attempt]]
NAMES = ("toolsmith", "one-call", "one-suite")


def contenders(settings: Settings) -> dict[str, Contender]:
    """All of them by name."""
    return {
        "toolsmith": partial(by_toolsmith, settings),
        "one-call": baselines.one_call,
        "one-suite": baselines.one_suite,
    }


async def by_toolsmith(
    settings: Settings, request: JudgedRequest, role_models: RoleModels, sandbox: Sandbox
) -> Attempt:
    """A whole synthesis in an empty library, so that requests do not influence one another."""
    from alita_mcp.server.tools.admission import admit

    asked = read_request(request.as_request())
    if isinstance(asked, Rejected):
        return _refused(asked)
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder:
        own = settings.model_copy(update={"home": Path(folder, "home")})
        await anyio.to_thread.run_sync(take_records_along, settings.home, own.home)
        async with open_library(own, starters=lambda: None) as library:
            outcome = await Toolsmith(library, sandbox, own, admit, role_models).make(asked, silent)
            if isinstance(outcome, Rejected):
                return _refused(outcome)
            if not isinstance(outcome, Created):
                return Attempt(status=outcome.status, reason=outcome.model_dump_json())
            stored = await library.read(outcome.tool, outcome.version)
        module = await with_lock(stored.code, stored.manifest.name, stored.lock, sandbox)
        return Attempt(status=outcome.status, trust=outcome.trust, module=module)


def take_records_along(home: Path, own: Path) -> None:
    """Copies the records of the models, on which the trust in their tools depends; nothing is copied back."""
    if (home / RECORDS).is_dir():
        shutil.copytree(home / RECORDS, own / RECORDS, symlinks=True)


def _refused(rejected: Rejected) -> Attempt:
    return Attempt(status=rejected.status, stage=rejected.stage, reason=rejected.reason)
