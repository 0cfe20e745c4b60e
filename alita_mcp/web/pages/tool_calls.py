"""Calls of tools from a form: begun, watched, cancelled, and their results shown or downloaded."""

from __future__ import annotations

import base64
import json
import logging
import time
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from alita_mcp.app.app import App
from alita_mcp.app.calls import ToolRunResult
from alita_mcp.errors import AlitaError, Cancelled, InvalidArguments, SandboxError, ToolNotFound
from alita_mcp.machine import edge_error
from alita_mcp.owners import USER
from alita_mcp.progress import ReportStage
from alita_mcp.toolsmith.jobs.jobs import Job
from alita_mcp.verification.images import decode_image
from alita_mcp.web.pages.tool import read_version
from alita_mcp.web.rendering import render
from alita_mcp.web.schema_form import read_form
from alita_mcp.web.site import WEB_PAGE, Site

SHOWN_WITHIN_S = 1.0
"""A call that takes longer is shown as running, and asked about again as often."""
MAX_SHOWN = 20_000
"""Characters of a result that the page shows; the whole can be downloaded."""
log = logging.getLogger(__name__)


class FinishedCall(NamedTuple):
    """What a call gave."""

    answer: ToolRunResult
    picture: str
    """Its image as PNG in base64; empty where it is none, or cannot be drawn."""

    @property
    def text(self) -> str:
        """Its value for a reader."""
        value = self.answer.structured_content if self.answer.is_image else self.answer.result.value
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def routes(site: Site) -> list[Route]:
    """The routes of these pages."""

    async def begin(request: Request) -> Response:
        app, name, form = await site.app(), request.path_params["name"], await request.form()
        version = read_version(form)
        stored = await app.library.read(name, version)
        try:
            arguments = read_form(stored.manifest.input_schema, form)
        except InvalidArguments as wrong:
            return _render_call(request, name=name, job=None, failure=wrong)
        if version == app.library.entry(name).manifest.version:
            version = None  # it is called as clients call it
        job = app.jobs.start_run(_work(app, name, arguments, version), USER, tool="run_tool")
        if not _is_part(request):
            return RedirectResponse(f"/ui/library/{quote(name)}/calls/{job.id}", status_code=303)
        return await _show_call(request, name, job)

    async def show(request: Request) -> Response:
        return await _show_call(request, request.path_params["name"], await find_call(request))

    async def cancel(request: Request) -> Response:
        job = await find_call(request)
        await (await site.app()).jobs.cancel(job)
        if not _is_part(request):
            return RedirectResponse(request.url.path.removesuffix("/cancel"), status_code=303)
        return await _show_call(request, request.path_params["name"], job)

    async def download(request: Request) -> Response:
        """The whole result: an image as it is, a text as it is, anything else as JSON."""
        job = await find_call(request)
        if job.outcome is None or not job.outcome.answer.result.ok:
            raise ToolNotFound("This call has no result.", hint="Call the tool again.")
        answer, name = job.outcome.answer, job.outcome.answer.manifest.name
        kind, content = "json", job.outcome.text.encode("utf-8", "replace")
        if answer.is_image:
            kind, content = answer.result.value["format"], decode_image(answer.result.value)
        elif isinstance(answer.result.value, str):
            kind = "txt"
        types = {"json": "application/json", "txt": "text/plain", "png": "image/png", "svg": "image/svg+xml"}
        headers = {"content-disposition": f'attachment; filename="{name}.{kind}"'}
        return Response(content, media_type=types[kind], headers=headers)

    async def find_call(request: Request) -> Job[FinishedCall]:
        app = await site.app()
        return app.jobs.find_job(request.path_params["call"], "run_tool", owner=USER)

    call = "/ui/library/{name}/calls/{call}"
    return [
        Route("/ui/library/{name}/calls", begin, methods=["POST"]),
        Route(call, show),
        Route(f"{call}/cancel", cancel, methods=["POST"]),
        Route(f"{call}/result", download),
    ]


def _work(app: App, name: str, arguments: dict[str, Any], version: int | None) -> Any:
    async def work(on_stage: ReportStage) -> FinishedCall:
        await on_stage("running")
        async with app.preparation.report(on_stage):
            answer = await app.run_tool(name, arguments, version, identity=WEB_PAGE, on_stage=on_stage)
        png: bytes | None = None
        if answer.is_image and answer.result.value["format"] == "png":
            png = decode_image(answer.result.value)
        elif answer.is_image:
            with suppress(SandboxError):  # the SVG itself can be downloaded
                png = await app.calls.draw_svg(answer)
        return FinishedCall(answer, base64.b64encode(png or b"").decode())

    return work


async def _show_call(request: Request, name: str, job: Job[FinishedCall]) -> Response:
    with anyio.move_on_after(SHOWN_WITHIN_S):
        await job.done.wait()
    failure: AlitaError | None = None
    if job.failure is not None:
        found = edge_error(job.failure)
        if isinstance(found, Cancelled):
            failure = Cancelled("The call was cancelled.")
        elif isinstance(found, AlitaError):
            failure = found
        else:
            log.error("A call of %s from the page failed", name, exc_info=found)
            failure = AlitaError("Internal error.", hint="The server's log has the details.")
    seconds = round((job.finished or time.monotonic()) - job.started, 1)
    show = partial(
        _render_call, request, name=name, job=job, failure=failure, seconds=seconds, most=MAX_SHOWN
    )
    return await anyio.to_thread.run_sync(show)


def _render_call(request: Request, **values: Any) -> Response:
    return render(request, "_call.html" if _is_part(request) else "call.html", **values)


def _is_part(request: Request) -> bool:
    return request.headers.get("hx-request") == "true"
