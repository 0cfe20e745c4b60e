"""To decide: versions of tools and code that ask for rights, and tools that nobody reviewed.

What is decided goes through the functions of `alita approve` and `alita review`, for all servers of this home.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from alita_mcp.app.app import App
from alita_mcp.errors import AlitaError, UsageError
from alita_mcp.library.catalogue.waiting import UnreviewedTool, WaitingVersion
from alita_mcp.library.grants.approving import difference, last_approved_version
from alita_mcp.library.grants.code_approvals import AskedCode, CodeApprovals
from alita_mcp.library.grants.effective_grants import in_words
from alita_mcp.library.grants.hosts import ANY
from alita_mcp.library.library import Library
from alita_mcp.library.trust.evidence import evidence_rows
from alita_mcp.library.trust.trust import what_would_raise
from alita_mcp.library.versions.naming import not_as_seen_error
from alita_mcp.unseen import code_listing
from alita_mcp.values import Grants, StoredVersion
from alita_mcp.web.differences import ROW, difference_lines
from alita_mcp.web.rendering import render
from alita_mcp.web.site import Site

SHOWN = 20
"""So many versions, and so many pieces of code, stand on the page; the others follow when these are decided."""
REVIEWS = 100
MAX_NOTES = 100
ORIGIN = {"from": "page"}
Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Waiting:
    """All that waits at one moment."""

    stamp: tuple[int, int] = (-1, -1)
    versions: tuple[WaitingVersion, ...] = ()
    set_aside: tuple[WaitingVersion, ...] = ()
    """What a person refused or took back, what came with alita, and what cannot be granted anything yet."""
    code: tuple[tuple[str, AskedCode], ...] = ()
    reviews: tuple[UnreviewedTool, ...] = ()
    """The newest of them."""
    unreviewed: int = 0

    @property
    def number(self) -> int:
        """How much waits."""
        return len(self.versions) + len(self.code) + self.unreviewed

    @property
    def mark(self) -> str:
        """Another text whenever something else waits."""
        keys = [
            *(each.manifest.digest for each in self.versions + self.set_aside),
            *(n for n, _ in self.code),
        ]
        keys += [each.digest for each in self.reviews]
        return _key_of(*keys, self.number)


@dataclass
class Desk:
    """What the page knows between two requests."""

    waiting: Waiting = field(default_factory=Waiting)
    later: set[str] = field(default_factory=set)
    """Digests of what a person put off; it comes last."""
    notes: OrderedDict[str, str] = field(default_factory=OrderedDict)
    """What was done, for the page that the browser is sent to."""

    async def read(self, app: App) -> Waiting:
        """All that waits, read again where something changed."""
        return await anyio.to_thread.run_sync(self._read, app)

    def _read(self, app: App) -> Waiting:
        library, approvals = app.library, CodeApprovals(app.library.home)
        stamp = (library.tools.changes().standing, approvals.stamp())
        if self.waiting.stamp == stamp:
            return self.waiting
        found = library.waiting_versions()
        is_read = app.settings.review != "off"  # otherwise a review changes nothing
        unreviewed, reviews = library.tools.unreviewed(REVIEWS) if is_read else (0, [])
        self.waiting = Waiting(
            stamp=stamp,
            versions=tuple(each for each in found if not each.set_aside),
            set_aside=tuple(each for each in found if each.set_aside),
            code=tuple(approvals.list_waiting()),
            reviews=tuple(reviews),
            unreviewed=unreviewed,
        )
        return self.waiting

    def add_note(self, text: str) -> str:
        """Keeps a text for one page; returns its address."""
        key = secrets.token_urlsafe(8)
        self.notes[key] = text
        if len(self.notes) > MAX_NOTES:
            self.notes.popitem(last=False)
        return f"/ui/decide?note={key}"


def routes(site: Site) -> list[Route]:
    """The routes of this page."""
    desk = Desk()

    async def show(request: Request, problem: AlitaError | None = None) -> Response:
        app = await site.app()
        waiting = await desk.read(app)
        note = desk.notes.pop(request.query_params.get("note", ""), "")
        values = await _describe(app.library, waiting, desk.later, request.query_params.get("tool", ""))
        ticked = "tick" in request.query_params
        return render(
            request,
            "decide.html",
            status=409 if problem else 200,
            note=note,
            problem=problem,
            ticked=ticked,
            **values,
        )

    async def refresh(request: Request) -> Response:
        app = await site.app()
        waiting = await desk.read(app)
        if waiting.mark == request.query_params.get("mark"):
            return Response(status_code=204)
        values = await _describe(app.library, waiting, desk.later, request.query_params.get("tool", ""))
        return render(request, "_waiting.html", ticked=False, **values)

    async def count(request: Request) -> Response:
        waiting = await desk.read(await site.app())
        return render(request, "_count.html", number=waiting.number)

    async def read_review(request: Request) -> Response:
        library = (await site.app()).library
        name, version = request.path_params["name"], request.path_params["version"]
        stored = await library.read(name, version)
        before = await _last_reviewed(library, stored)
        lines = await anyio.to_thread.run_sync(difference_lines, before, stored)
        is_part = request.headers.get("hx-request") == "true"
        template = "_difference.html" if is_part else "review.html"
        return render(request, template, stored=stored, before=before, lines=lines, title="reviewed last")

    def deciding(act: Callable[[Library, FormData, Desk], Awaitable[str]]) -> Endpoint:
        async def decide(request: Request) -> Response:
            library = (await site.app()).library
            try:
                note = await act(library, await request.form(), desk)
            except AlitaError as problem:
                return await show(request, problem)
            return RedirectResponse(desk.add_note(note), status_code=303)

        return decide

    return [
        Route("/ui/decide", show),
        Route("/ui/decide/waiting", refresh),
        Route("/ui/decide/count", count),
        Route("/ui/decide/review/{name}/{version:int}", read_review),
        Route("/ui/decide/version", deciding(_decide_version), methods=["POST"]),
        Route("/ui/decide/code", deciding(_decide_code), methods=["POST"]),
        Route("/ui/decide/reviews", deciding(_review), methods=["POST"]),
    ]


async def _decide_version(library: Library, form: FormData, desk: Desk) -> str:
    """Approves, refuses or puts off the version of the digest that the form shows; returns what was done."""
    name, digest, version = _text(form, "name"), _text(form, "digest"), _number(form, "version")
    shown = f"{name[:64]} v{version}"
    found = next(
        (
            each.manifest
            for each in await anyio.to_thread.run_sync(library.waiting_versions)
            if (each.manifest.name, each.manifest.version, each.manifest.digest) == (name, version, digest)
        ),
        None,
    )
    # What waits no longer (1) was approved by somebody else, as the calls below say, or (2) is something else by now.
    if found is None and library.entry(name) and library.tools.approval(name, digest) is None:
        raise not_as_seen_error(name)
    match _text(form, "decision"):
        case "later":
            desk.later.add(digest)
            return f"{shown} stays to be decided."
        case "refuse":
            await library.refuse(name, version, digest, ORIGIN)
            return f"{shown} was refused. It stays in the library without grants."
        case "approve":
            hosts = _text(form, "hosts").replace(",", " ").split()
            if found is not None and ANY in found.grants.network and not hosts:
                raise UsageError(f"{shown} leaves its hosts open.", hint="Name the hosts that it may reach.")
            seen = _number(form, "seen")
            entry = await library.approve(name, digest, hosts=hosts, seen=seen, once=True, origin=ORIGIN)
            granted = library.effective_grants.of(entry.manifest)
            return (
                f"{shown} is the current version now and may use: {', '.join(in_words(granted or Grants()))}."
            )
    raise _unknown_decision()


async def _decide_code(library: Library, form: FormData, desk: Desk) -> str:
    """Approves, refuses or puts off the code of the digest that the form shows; returns what was done."""
    number, digest = _text(form, "number"), _text(form, "digest")
    approved_already = f"Code {number} was approved already"
    match _text(form, "decision"):
        case "later":
            desk.later.add(CodeApprovals(library.home).find(number).digest)
            return f"Code {number} stays to be decided."
        case "refuse":
            if (await library.revoke_code(number, if_waiting=True)).approved_at:
                raise UsageError(
                    f"{approved_already}.", hint=f"`alita revoke --code {number}` takes it back."
                )
            return f"Code {number} was refused."
        case "approve":
            if not await library.approve_code(number, digest, ORIGIN):
                raise UsageError(f"{approved_already}; nothing was changed.")
            return f"Code {number} may run. Its client has to send it again."
    raise _unknown_decision()


async def _review(library: Library, form: FormData, _desk: Desk) -> str:
    """Marks the ticked tools as reviewed, each exactly as it was shown; returns what was done."""
    done, changed = 0, []
    for each in map(str, form.getlist("tool")):
        name, _, rest = each.partition(" ")
        version, _, digest = rest.partition(" ")
        if version.isdecimal() and await library.review(name, int(version[:9]), digest):
            done += 1
        else:
            changed.append(name[:64])
    marked = f"{done} tool{'s were' if done != 1 else ' was'} marked as reviewed."
    if changed:
        raise UsageError(f"{marked} Not as shown any more: {', '.join(changed)}.", hint="Read them again.")
    return marked if done else "No tool was ticked."


def _unknown_decision() -> UsageError:
    return UsageError("The form says neither approve, refuse nor later.", hint="Press one of its buttons.")


def _text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def _number(form: FormData, name: str) -> int:
    text = _text(form, name)
    if not text.isdecimal() or len(text) > 9:
        raise UsageError("The form is incomplete.", hint="Reload the page and try again.")
    return int(text)


async def _describe(library: Library, waiting: Waiting, later: set[str], tool: str) -> dict[str, Any]:
    """What the templates show; of what is set aside, in full the version of a `tool` alone."""
    versions = sorted(waiting.versions, key=lambda each: each.manifest.digest in later)[:SHOWN]
    versions = [each for each in waiting.set_aside if each.manifest.name == tool] + versions
    code = sorted(waiting.code, key=lambda each: each[1].digest in later)[:SHOWN]
    return {
        "waiting": waiting,
        "tool": tool,
        "versions": [await _describe_version(library, each) for each in versions],
        "code": [
            {
                "number": number,
                "asked": each,
                "rights": in_words(each.grants),
                "lines": code_listing(each.code, ROW),
            }
            for number, each in code
        ],
        "most": SHOWN,
    }


async def _describe_version(library: Library, waiting: WaitingVersion) -> dict[str, Any]:
    manifest = waiting.manifest
    key = _key_of(manifest.digest)
    found: dict[str, Any] = {"waiting": waiting, "manifest": manifest, "key": key, "problem": None}
    try:
        stored = await library.read(manifest.name, manifest.version)
        before = await last_approved_version(library, manifest.name)
    except AlitaError as damaged:
        return {**found, "problem": damaged}
    return {
        **found,
        "key": _key_of(manifest.digest, before.manifest.digest if before else "", waiting.current),
        "stored": stored,
        "before": before,
        "wishes": [(line[0], line[2:]) for line in difference(manifest, before.manifest if before else None)],
        "lines": await anyio.to_thread.run_sync(difference_lines, before, stored),
        "proof": evidence_rows(stored.report, library.tools.sandboxes_of(manifest.name, manifest.version)),
        "to_raise": what_would_raise(stored.report),
        "is_open": ANY in manifest.grants.network,
    }


def _key_of(*parts: object) -> str:
    """A word for the page that differs whenever one of the parts does."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


async def _last_reviewed(library: Library, stored: StoredVersion) -> StoredVersion | None:
    """The newest earlier version that a person reviewed, if its files are as they were."""
    name = stored.manifest.name
    for version in sorted(library.entry(name).versions, reverse=True):
        if version < stored.manifest.version and library.tools.origin(name, version).reviewed:
            try:
                return await library.read(name, version)
            except AlitaError:
                return None
    return None
