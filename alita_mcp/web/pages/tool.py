"""A tool's page: evidence, code, versions and their differences, grants, use; and what a person may do with it."""

from __future__ import annotations

import base64
import json
import shutil
import time
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from alita_mcp.app.app import App
from alita_mcp.errors import InvalidArguments, ToolUnavailable, UsageError
from alita_mcp.library.catalogue.use import Use
from alita_mcp.library.grants.effective_grants import in_words
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.search.signature import ALL_CHOICES, signature_of
from alita_mcp.library.trust.evidence import evidence_rows
from alita_mcp.library.trust.trust import what_verifies
from alita_mcp.library.versions.differences import shown_difference
from alita_mcp.library.versions.testfile import render_tests
from alita_mcp.progress import ignore_stage
from alita_mcp.values import Schema, StoredVersion
from alita_mcp.verification.images import decode_image
from alita_mcp.web.pages.worth import list_days
from alita_mcp.web.rendering import render
from alita_mcp.web.site import Site

DAYS = 30
PREFIX = "argument."
"""Before a parameter's name in the name of its field."""
MAX_SHOWN = 200_000
"""Characters of a result."""
ACTIONS = ("pin", "unpin", "enable", "disable", "delete", "rollback")
"""Methods of the library."""


def routes(site: Site) -> list[Route]:
    """The routes of this page."""
    exporting = anyio.Lock()

    async def show(request: Request) -> Response:
        app, name, asked = await site.app_of(request), request.path_params["name"], request.query_params
        library, problem, stored, before, lines = app.library, "", None, None, None
        await library.settle()
        entry = await anyio.to_thread.run_sync(library.tools.entry, name) or library.entry(name)
        if entry.state != "deleted":
            try:
                stored = await library.read(name, read_version(asked), entry)
                if earlier := read_version(asked, "from"):
                    before = await library.read(name, earlier)
                    lines = await anyio.to_thread.run_sync(shown_difference, before, stored)
            except ToolUnavailable as damaged:
                problem, entry = str(damaged), library.entry(name)
        page = await anyio.to_thread.run_sync(_describe, app, entry, stored)
        page |= {"problem": problem, "before": before, "lines": lines}
        return await anyio.to_thread.run_sync(partial(render, request, "tool.html", **page))

    async def change(request: Request) -> Response:
        app, name = await site.app_of(request), request.path_params["name"]
        action, form = request.path_params["action"], await request.form()
        if action not in ACTIONS:
            raise UsageError(f"There is no action {action[:40]!r}.")
        if action == "rollback":
            await app.library.rollback(name, read_version(form))
        else:
            await getattr(app.library, action)(name)
        return RedirectResponse(f"/ui/library/{quote(name)}", status_code=303)

    async def export(request: Request) -> Response:
        app, name = await site.app_of(request), request.path_params["name"]
        async with exporting:
            folder = await app.library.export(name, read_version(await request.form()))
            pack = partial(shutil.make_archive, str(folder), "zip", folder.parent, folder.name)
            packed = await anyio.to_thread.run_sync(pack)
        return FileResponse(packed, filename=f"{folder.name}.zip")

    async def call(request: Request) -> Response:
        app, name, form = await site.app_of(request), request.path_params["name"], await request.form()
        manifest = (await app.library.read(name, read_version(form))).manifest
        is_current = manifest.version == app.library.entry(name).manifest.version
        arguments = read_form(manifest.input_schema, form)
        version, began = None if is_current else manifest.version, time.monotonic()
        async with app.preparation.report(ignore_stage):
            answer = await app.run_tool(name, arguments, version, identity=request.state.identity)
        value = answer.structured_content if answer.is_image else answer.result.value
        picture = ""
        if answer.is_image:  # browsers run and load nothing that an SVG names
            image = answer.result.value
            media_type = "image/png" if image["format"] == "png" else "image/svg+xml"
            picture = f"data:{media_type};base64,{base64.b64encode(decode_image(image)).decode()}"
        return render(
            request,
            "_call.html",
            answer=answer,
            picture=picture,
            text=value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2),
            seconds=round(time.monotonic() - began, 1),
            most=MAX_SHOWN,
        )

    return [
        Route("/ui/library/{name}", show),
        Route("/ui/library/{name}/calls", call, methods=["POST"]),
        Route("/ui/library/{name}/export", export, methods=["POST"]),
        Route("/ui/library/{name}/do/{action}", change, methods=["POST"]),
    ]


def read_version(values: Mapping[str, Any], field: str = "version") -> int | None:
    """The version that a query or a form names; None where it names none.

    Raises:
        UsageError: it is no number.
    """
    text = str(values.get(field, ""))
    if text and not (text.isdecimal() and len(text) < 10):
        raise UsageError(f"Invalid version {text[:40]!r}: expected a number, as in 3.")
    return int(text) if text else None


def _describe(app: App, entry: CatalogueEntry, stored: StoredVersion | None) -> dict[str, Any]:
    """What the page shows of a tool, and of the version of it that could be read; blocks."""
    tools, manifest = app.library.tools, stored.manifest if stored else entry.manifest
    name, version = manifest.name, manifest.version
    origin, waiting = tools.origin(name, version), app.library.waiting_versions()
    page = {
        "entry": entry,
        "manifest": manifest,
        "stored": stored,
        "origin": origin,
        "waiting": next((each for each in waiting if each.manifest.name == name), None),
    }
    if stored is None:
        return page
    granted, days = app.library.effective_grants.of(manifest), list_days(DAYS)
    rows = evidence_rows(stored.report, tools.sandboxes_of(name, version))
    use = tools.daily_use(days[0], name)
    return page | {
        "not_here": app.calls.verifier.why_not(manifest),
        "signature": signature_of(manifest, ALL_CHOICES),
        "evidence": {label: [text for other, text in rows if other == label] for label, _ in rows},
        "rests_on": what_verifies(stored.report),
        "tests": render_tests(name, stored.code, stored.examples, manifest.varies),
        "asked": in_words(manifest.grants),
        "granted": None if granted is None else in_words(granted),
        "call_days": [(day, use.get(day, Use()).calls) for day in days],
        "last_call": tools.last_calls([name]).get(name),
    }


def read_form(schema: Schema, form: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a filled-in form stands for; an empty field of an optional parameter leaves it out.

    Raises:
        InvalidArguments: a field does not hold what its type wants.
    """
    arguments: dict[str, Any] = {}
    for name, node in schema.get("properties", {}).items():
        text = str(form.get(PREFIX + name, ""))
        if not text and not (name in schema.get("required", ()) and PREFIX + name in form):
            continue
        if node.get("type") == "string":
            arguments[name] = text.replace("\r\n", "\n")  # browsers send line ends so
            continue
        try:
            arguments[name] = json.loads(text)
        except (ValueError, RecursionError) as broken:
            raise InvalidArguments(
                f"{name}: {text[:40]!r} is not JSON of the type {node.get('type', 'any')}.",
                hint='Lists are written as in ["a", "b"], objects as in {"key": 1}.',
            ) from broken
    return arguments
