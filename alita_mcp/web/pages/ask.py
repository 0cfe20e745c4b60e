"""Ask: a task, its run live, and the answer; without a model, the same box searches the library."""

from __future__ import annotations

import math
import mimetypes
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from shutil import copyfileobj, rmtree
from typing import Any
from urllib.parse import quote

import anyio
import anyio.to_thread
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from alita_mcp.agent.planning.plans import Plan
from alita_mcp.agent.runs.store import RunReader
from alita_mcp.agent.task_budget import task_budget
from alita_mcp.agent.values import RunProgress, Step, TaskRequest
from alita_mcp.app.app import App
from alita_mcp.errors import AlitaError, UsageError
from alita_mcp.models.choices import no_model_for_tasks
from alita_mcp.owners import USER
from alita_mcp.web.rendering import render
from alita_mcp.web.site import Site

EXAMPLES = (
    "How many working days are left this year?",
    "Plot sin(x)/x from -20 to 20 and save it as a picture.",
    "A loan of 250,000 over 20 years at 3.4 % a year: what do I pay each month, and how much of it is interest?",
    "Add up the amounts in the attached CSV file by month.",
)
SHOWN_RUNS = 20
MAX_QUERY = 2_000
MAX_NAME = 60
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"})


def routes(site: Site) -> list[Route]:
    """The routes of this page."""

    async def show_ask(request: Request) -> Response:
        app = await site.app_of(request)
        task = request.query_params.get("task", "")[:MAX_QUERY]
        problem = None if app.tasks.has_model else no_model_for_tasks(app.settings)
        runs = await _runs(app, request).list(SHOWN_RUNS)
        return render(request, "ask.html", task=task, examples=EXAMPLES, problem=problem, runs=runs)

    async def start(request: Request) -> Response:
        app, form = await site.app_of(request), await request.form()
        begun = anyio.Event()

        async def on_stage(_stage: str) -> None:
            begun.set()

        uploads = Path(await anyio.to_thread.run_sync(tempfile.mkdtemp))
        try:
            sent = [each for each in form.getlist("files") if isinstance(each, UploadFile) and each.filename]
            files = await anyio.to_thread.run_sync(_save_files, sent, uploads)
            task = _read_task(str(form.get("task", "")), files, app)
            task = task.model_copy(update={"makes_tools": "make" in request.state.principal.scopes})
            job = await app.tasks.begin_task(task, identity=request.state.identity)
            try:  # when it has begun it has copied the files
                within_s = math.inf if files else None
                await app.wait_for_job(job, on_stage, until=begun.wait, within_s=within_s)
            except AlitaError:
                if not begun.is_set():  # what happens later is said on the page of the run
                    raise
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(rmtree, uploads, ignore_errors=True))
        return RedirectResponse(f"/ui/ask/{job.id}", status_code=303)

    async def show_run(request: Request) -> Response:
        progress = await _runs(await site.app_of(request), request).progress(request.path_params["run"])
        # A page that was shown `seen` asks again and again: runs of other processes tell nobody.
        seen = f"{progress.summary.status}-{len(progress.events)}-{len(progress.files)}"
        if request.query_params.get("seen") == seen:
            return Response(status_code=204)
        return render(request, "run.html", seen=seen, **_describe(progress))

    async def show_file(request: Request) -> Response:
        app, name = await site.app_of(request), request.path_params["name"]
        data = await _runs(app, request).read_file(request.path_params["run"], name)
        # A browser shows it in the page of its run, but never opens it by itself.
        named = f"attachment; filename*=utf-8''{quote(PurePosixPath(name).name, errors='replace')}"
        media_type = picture_type(name) or "application/octet-stream"
        return Response(data, media_type=media_type, headers={"content-disposition": named})

    async def stop(request: Request) -> Response:
        app, run = await site.app_of(request), request.path_params["run"]
        summary = await _runs(app, request).summary(run)
        if summary.status == "running":
            try:
                job = await app.jobs.find_job(run, "solve_task", owner=summary.owner)
            except UsageError:
                raise UsageError(
                    "This run is not worked on here.", hint="Stop it where it was started."
                ) from None
            await app.jobs.cancel(job)
        return RedirectResponse(f"/ui/ask/{run}", status_code=303)

    return [
        Route("/ui/ask", show_ask),
        Route("/ui/ask", start, methods=["POST"]),
        Route("/ui/ask/{run}", show_run),
        Route("/ui/ask/{run}/files/{name:path}", show_file),
        Route("/ui/ask/{run}/stop", stop, methods=["POST"]),
    ]


def _save_files(sent: list[UploadFile], folder: Path) -> tuple[Path, ...]:
    """Writes what a browser sent into a folder, under the last part of each name, whatever system it is written for."""
    saved: list[Path] = []
    for file in sent:
        name = "".join(each for each in PureWindowsPath(file.filename or "").name if each.isprintable())
        path = folder / (name[-MAX_NAME:] if name.strip(". ") else f"file-{len(saved) + 1}")
        if path in saved:
            raise UsageError(f"Two files are named {path.name!r}.", hint="Rename one of them.")
        with path.open("xb") as target:
            copyfileobj(file.file, target)
        saved.append(path)
    return tuple(saved)


def _read_task(task: str, files: tuple[Path, ...], app: App) -> TaskRequest:
    if not task.strip():
        raise UsageError("There is no task.", hint="Say in plain words what you want to know or have made.")
    try:
        return TaskRequest(task=task, files=files, budget=task_budget(app.settings))
    except ValidationError:
        raise UsageError("The task is too long.", hint="Put long texts into a file.") from None


def _runs(app: App, request: Request) -> RunReader:
    """All runs for the person; those of its clients where the token opened the session."""
    owner = request.state.identity.owner
    return app.tasks.runs_of(None if owner == USER else owner)


def _describe(progress: RunProgress) -> dict[str, Any]:
    """What the page of a run shows; what its record has damaged is left out."""
    steps: dict[object, Step] = {}
    begun: dict[object, str] = {}
    plan: Plan | None = None
    for event in progress.events:
        with suppress(ValidationError):
            if event.kind == "step_started":
                begun[event.data.get("number")] = event.text
            elif event.kind == "step":
                step = Step.model_validate(event.data)
                steps[step.number] = step
            elif event.kind == "plan":
                plan = Plan.model_validate(event.data.get("chosen"))
    return {
        "progress": progress,
        "steps": list(steps.values()),
        "open_steps": [text for number, text in begun.items() if number not in steps],
        "plan": plan,
        "pictures": [name for name in progress.files if picture_type(name)],
    }


def picture_type(name: str) -> str:
    """The media type of a file that is shown as a picture; empty for all others."""
    found = mimetypes.guess_type(name, strict=False)[0]
    return found if found in PICTURES else ""
