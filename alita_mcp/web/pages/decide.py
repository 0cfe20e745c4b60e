"""To decide: versions of tools and code that ask for rights, and tools that nobody reviewed.

What is decided goes through the functions of `alita approve` and `alita review`, for all servers of this home.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import anyio.to_thread
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from alita_mcp.app.app import App
from alita_mcp.errors import AlitaError, UsageError
from alita_mcp.library.catalogue.waiting import WaitingVersion
from alita_mcp.library.grants.approving import difference, last_approved_version
from alita_mcp.library.grants.effective_grants import in_words
from alita_mcp.library.grants.hosts import ANY
from alita_mcp.library.library import Library
from alita_mcp.library.versions.differences import shown_difference
from alita_mcp.library.versions.naming import not_as_seen_error
from alita_mcp.unseen import code_listing
from alita_mcp.values import Grants
from alita_mcp.web.pages.tool import read_version
from alita_mcp.web.rendering import render
from alita_mcp.web.site import Site

SHOWN = 20
"""So many versions, and so many pieces of code, stand on the page; the others follow when these are decided."""
REVIEWS = 100
MAX_COLUMNS = 1 << 20
"""A browser breaks lines by itself."""
ORIGIN = {"from": "page"}
Endpoint = Callable[[Request], Awaitable[Response]]


def routes(site: Site) -> list[Route]:
    """The routes of this page."""

    async def show(request: Request) -> Response:
        app, asked = await site.app_of(request), request.query_params
        waiting = await anyio.to_thread.run_sync(_read_waiting, app)
        versions = []
        for each in waiting["versions"][:SHOWN]:
            with suppress(AlitaError):  # a damaged one, which waits no longer
                versions.append(await _describe(app.library, each))
        return render(
            request,
            "decide.html",
            done=asked.get("done", ""),
            ticked="tick" in asked,
            shown=versions,
            most=SHOWN,
            **waiting,
        )

    async def count(request: Request) -> Response:
        waiting = await anyio.to_thread.run_sync(_read_waiting, await site.app_of(request))
        return render(request, "_count.html", number=waiting["number"])

    def deciding(decide: Callable[[Library, FormData], Awaitable[str]]) -> Endpoint:
        async def act(request: Request) -> Response:
            done = await decide((await site.app_of(request)).library, await request.form())
            return RedirectResponse(f"/ui/decide?done={quote(done)}", status_code=303)

        return act

    return [
        Route("/ui/decide", show),
        Route("/ui/decide/count", count),
        Route("/ui/decide/version", deciding(_decide_version), methods=["POST"]),
        Route("/ui/decide/code", deciding(_decide_code), methods=["POST"]),
        Route("/ui/decide/reviews", deciding(_review), methods=["POST"]),
    ]


async def _decide_version(library: Library, form: FormData) -> str:
    """Approves or refuses the version of the digest that the form shows; returns what was done."""
    name, digest, decision = (str(form.get(field, "")) for field in ("name", "digest", "decision"))
    version, seen = (read_version(form, field) or 0 for field in ("version", "seen"))
    shown = f"{name[:64]} v{version}"
    waiting = [each.manifest for each in await anyio.to_thread.run_sync(library.waiting_versions)]
    key = (name, version, digest)
    found = next((each for each in waiting if (each.name, each.version, each.digest) == key), None)
    # What waits no longer (1) was approved by somebody else, as the calls below say, or (2) is something else by now.
    if found is None and library.entry(name) and library.tools.approval(name, digest) is None:
        raise not_as_seen_error(name)
    if decision == "refuse":
        await library.refuse(name, version, digest, ORIGIN)
        after_all = f"`alita approve {name[:64]}` gives them after all"
        return f"{shown} was refused. It stays without grants; {after_all}."
    if decision != "approve":
        return f"{shown} stays to be decided."
    hosts = str(form.get("hosts", "")).replace(",", " ").split()
    if found is not None and ANY in found.grants.network and not hosts:
        raise UsageError(f"{shown} leaves its hosts open.", hint="Name the hosts that it may reach.")
    entry = await library.approve(name, digest, hosts=hosts, seen=seen, once=True, origin=ORIGIN)
    granted = in_words(library.effective_grants.of(entry.manifest) or Grants())
    return f"{shown} is the current version now and may use: {', '.join(granted)}."


async def _decide_code(library: Library, form: FormData) -> str:
    """Approves or refuses the code of the digest that the form shows; returns what was done."""
    number, digest, decision = (str(form.get(field, "")) for field in ("number", "digest", "decision"))
    already = f"Code {number} was approved already"
    if decision == "refuse":
        if (await library.revoke_code(number, if_waiting=True)).approved_at:
            raise UsageError(f"{already}.", hint=f"`alita revoke --code {number}` takes it back.")
        return f"Code {number} was refused."
    if decision != "approve":
        return f"Code {number} stays to be decided."
    if not await library.approve_code(number, digest, ORIGIN):
        raise UsageError(f"{already}; nothing was changed.")
    return f"Code {number} may run. Its client has to send it again."


async def _review(library: Library, form: FormData) -> str:
    """Marks the ticked tools as reviewed, each exactly as it was shown; returns what was done."""
    done, changed = 0, []
    for each in map(str, form.getlist("tool")):
        name, version, digest = [*each.split(" ", 2), "", ""][:3]
        if version.isdecimal() and await library.review(name, int(version[:9]), digest):
            done += 1
        else:
            changed.append(name[:64])
    marked = f"{done} tool{'s were' if done != 1 else ' was'} marked as reviewed."
    if changed:
        raise UsageError(f"{marked} Not as shown any more: {', '.join(changed)}.", hint="Read them again.")
    return marked


def _read_waiting(app: App) -> dict[str, Any]:
    """All that waits, and how much that is; blocks."""
    versions = app.library.waiting_versions()
    code = [each for each in app.library.code_approvals.list_waiting() if app.library.sees_code(each[1])]
    is_read = app.settings.review != "off"  # otherwise a review changes nothing
    unreviewed, reviews = app.library.tools.unreviewed(REVIEWS) if is_read else (0, [])
    return {
        "versions": versions,
        "code": [
            (number, each, in_words(each.grants), code_listing(each.code, MAX_COLUMNS))
            for number, each in code[:SHOWN]
        ],
        "pieces": len(code),
        "reviews": reviews,
        "unreviewed": unreviewed,
        "number": len(versions) + len(code) + unreviewed,
    }


async def _describe(library: Library, waiting: WaitingVersion) -> Mapping[str, Any]:
    """A version as the page shows it: what it asks for, and how it differs from the one approved last."""
    manifest = waiting.manifest
    stored = await library.read(manifest.name, manifest.version)
    before = await last_approved_version(library, manifest.name)
    return {
        "waiting": waiting,
        "stored": stored,
        "before": before,
        "wishes": [(line[0], line[2:]) for line in difference(manifest, before.manifest if before else None)],
        "lines": await anyio.to_thread.run_sync(shown_difference, before, stored),
        "is_open": ANY in manifest.grants.network,
    }
