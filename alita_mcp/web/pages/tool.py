"""A tool's page: evidence, code, versions and their differences, grants, use; and what a person may do with it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from alita_mcp.app.app import App
from alita_mcp.errors import ToolUnavailable, UsageError
from alita_mcp.library.catalogue.use import Use
from alita_mcp.library.grants.effective_grants import in_words
from alita_mcp.library.rows import CatalogueEntry, JournalRow, Origin
from alita_mcp.library.search.signature import ALL_CHOICES, signature_of
from alita_mcp.library.trust.evidence import evidence_of, evidence_rows
from alita_mcp.library.trust.trust import what_verifies
from alita_mcp.library.versions.testfile import render_tests
from alita_mcp.values import Example, StoredVersion
from alita_mcp.web.differences import difference_lines
from alita_mcp.web.pages.library import badges_of, describe_standing, waiting_versions
from alita_mcp.web.pages.worth import list_days
from alita_mcp.web.rendering import render
from alita_mcp.web.schema_form import form_fields
from alita_mcp.web.site import Site

MAX_HIGHLIGHTED = 100_000
"""Characters of code; more stand there without colours."""
EXAMPLES = 20
DAYS = 30
ACTIONS = ("pin", "unpin", "enable", "disable", "delete", "rollback")
"""Methods of the library."""
LESS = ("sandbox", "environment", "seeds", "took")
"""Labels of evidence that few want to see."""


def routes(site: Site) -> list[Route]:
    """The routes of this page."""
    acting = anyio.Lock()

    async def show(request: Request) -> Response:
        app, name = await site.app(), request.path_params["name"]
        return await _show_tool(request, app, name)

    async def compare(request: Request) -> Response:
        library, name, asked = (await site.app()).library, request.path_params["name"], request.query_params
        sides = [read_version(asked, "from"), read_version(asked, "to")]
        old, new = [await library.read(name, version) for version in sides]
        lines = await anyio.to_thread.run_sync(difference_lines, old, new)
        return render(request, "compare.html", before=old, stored=new, lines=lines, title="")

    async def change(request: Request) -> Response:
        app, name = await site.app(), request.path_params["name"]
        action, form = request.path_params["action"], await request.form()
        if action not in ACTIONS:
            raise UsageError(f"There is no action {action[:40]!r}.")
        async with acting:  # of two people the second one is told what the first one did
            entry = app.library.tools.entry(name)
            standing = describe_standing(entry) if entry else ""
            if entry is not None and standing != form.get("seen"):
                problem = f"{name} changed while you looked at it; it is {standing} now. Nothing was done."
                return await _show_tool(request, app, name, problem=problem, status=409)
            if action == "rollback":
                await app.library.rollback(name, read_version(form))
            else:
                await getattr(app.library, action)(name)
        return RedirectResponse(f"/ui/library/{quote(name)}", status_code=303)

    async def export(request: Request) -> Response:
        app, name = await site.app(), request.path_params["name"]
        async with acting:
            folder = await app.library.export(name, read_version(await request.form()))
            packed = await anyio.to_thread.run_sync(_pack, folder)
        headers = {"content-disposition": f'attachment; filename="{folder.name}.zip"'}
        return Response(packed, media_type="application/zip", headers=headers)

    return [
        Route("/ui/library/{name}", show),
        Route("/ui/library/{name}/compare", compare),
        Route("/ui/library/{name}/export", export, methods=["POST"]),
        Route("/ui/library/{name}/do/{action}", change, methods=["POST"]),
    ]


def read_version(values: Mapping[str, Any], field: str = "version") -> int | None:
    """The version that a query or a form names, as in `3` or `v3`; None where it names none.

    Raises:
        UsageError: it is no number.
    """
    text = str(values.get(field, "")).strip().removeprefix("v")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UsageError(f"Invalid version {text[:40]!r}: expected a number, as in 3.")
    return int(text)


async def _show_tool(
    request: Request, app: App, name: str, *, problem: str = "", status: int = 200
) -> Response:
    library = app.library
    await library.settle()
    entry = await anyio.to_thread.run_sync(library.tools.entry, name) or library.entry(name)
    stored = None
    if entry.state != "deleted":
        try:
            stored = await library.read(name, read_version(request.query_params), entry)
        except ToolUnavailable as damaged:
            problem, entry = problem or str(damaged), library.entry(name)
    page = await anyio.to_thread.run_sync(_describe, app, entry, stored)
    page |= {"problem": problem, "standing": describe_standing(entry)}
    return await anyio.to_thread.run_sync(partial(render, request, "tool.html", status=status, **page))


def _describe(app: App, entry: CatalogueEntry, stored: StoredVersion | None) -> dict[str, Any]:
    """What the page shows of a tool, and of the version of it that could be read; blocks."""
    library = app.library
    manifest = stored.manifest if stored else entry.manifest
    name, version = manifest.name, manifest.version
    origin = library.tools.origin(name, version)
    waiting = waiting_versions(library).get(name)
    page = {
        "entry": entry,
        "manifest": manifest,
        "stored": stored,
        "badges": badges_of(entry, waiting, reviewed=origin.reviewed),
        "waiting": waiting,
    }
    if stored is None:
        return page
    report, granted = stored.report, library.effective_grants.of(manifest)
    sandboxes = library.tools.sandboxes_of(name, version)
    last_call = library.tools.last_calls([name]).get(name)
    days = list_days(DAYS)
    use = library.tools.daily_use(name, days[0])
    return page | {
        "not_here": app.calls.verifier.why_not(manifest),
        "signature": signature_of(manifest, ALL_CHOICES),
        "fields": form_fields(manifest.input_schema),
        "stages": evidence_of(report, sandboxes).stages,
        "evidence": _group(evidence_rows(report, sandboxes)),
        "less": LESS,
        "rests_on": what_verifies(report),
        "examples": [_example_row(each) for each in stored.examples[:EXAMPLES]],
        "tests": render_tests(manifest.name, stored.code, stored.examples, manifest.varies),
        "most": MAX_HIGHLIGHTED,
        "versions": library.tools.versions(name),
        "asked": in_words(manifest.grants),
        "granted": None if granted is None else in_words(granted),
        "making": _making(origin, library.tools.making(name, version), stored),
        "call_days": [(day, use.get(day, Use()).calls) for day in days],
        "failure_days": [(day, use.get(day, Use()).failures) for day in days],
        "last_call": last_call,
    }


def _group(rows: list[tuple[str, str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for label, text in rows:
        groups.setdefault(label, []).append(text)
    return groups


def _example_row(example: Example) -> tuple[str, str, str]:
    """Arguments, what is said of the result, and the result."""
    said = example.as_json()
    (kind,) = example.outcome_fields
    outcome = said[kind] if kind == "check" else json.dumps(said[kind], ensure_ascii=False)
    return json.dumps(said.get("arguments", {}), ensure_ascii=False), kind, outcome


def _making(origin: Origin, rows: list[JournalRow], stored: StoredVersion) -> list[tuple[str, str]]:
    """How a version came to be, as labels and what there is to say."""
    report, events = stored.report, {row.event for row in rows}
    told = next((row.detail for row in reversed(rows) if row.event == "synthesis"), {})
    client = str(told.get("client") or origin.made_by)
    if "starter installed" in events:
        how = "a starter tool, which came with alita"
    elif "adopted" in events:
        how = "found in a folder of this home, without a catalogue that knows it"
    elif report.recorded:
        how = f"made of {len(report.recorded.runs)} runs of code"
    elif report.written_from or report.agreement:
        how = "written by models from a description"
    else:
        how = "code and tests that a client sent"
    models = told.get("models")
    found = [("how", how), ("client", client)]
    if isinstance(models, dict):
        found += [(str(role), str(model)) for role, model in models.items()]
    found += [("request", report.written_from.request)] if report.written_from else []
    return [(label, text) for label, text in found if text]


def _pack(folder: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"{folder.name}/{path.name}")
    return packed.getvalue()
