"""Ask: a task, its run live, and the answer; without a model, the same box searches the library."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any

import anyio
import anyio.to_thread
from pydantic import ValidationError
from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from alita_mcp.agent.interface import AskPerson
from alita_mcp.agent.values import Solution, TaskBudget, TaskEvent, TaskRequest
from alita_mcp.app.app import App
from alita_mcp.errors import AlitaError, ModelError, ToolNotFound, UsageError
from alita_mcp.models.choices import no_model_for_tasks
from alita_mcp.owners import USER
from alita_mcp.progress import ignore_stage
from alita_mcp.toolsmith.jobs.jobs import Job
from alita_mcp.toolsmith.jobs.person_questions import FilledForm, FormField, PendingQuestions
from alita_mcp.web.rendering import render, templates
from alita_mcp.web.run_view import RunView, picture_type, view_run
from alita_mcp.web.site import WEB_PAGE, Site
from alita_mcp.web.uploads import save_uploads

EXAMPLES = (
    "How many working days are left this year?",
    "Plot sin(x)/x from -20 to 20 and save it as a picture.",
    "A loan of 250,000 over 20 years at 3.4 % a year: what do I pay each month, and how much of it is interest?",
    "Add up the amounts in the attached CSV file by month.",
)
SEARCHES = ("business days between two dates", "evaluate a formula", "rows of a CSV file that fit a query")
SHOWN_RUNS = 20
FOUND = 8
MAX_QUERY = 2_000
MAX_ANSWER = 4_000
MAX_QUESTION = 2_000
ANSWER_WITHIN_S = 900.0
"""How long the agent's question waits for its answer."""
MAX_STREAMS = 32
LOOK_EVERY_S = 0.1
"""How often a stream looks whether its run has come on: runs of other processes tell nobody."""
_FIELD = FormField("answer", "Answer", "")
_FILE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "cross-origin-resource-policy": "same-origin",
}
"""A file that is opened by itself runs nothing and belongs to no page."""
_TOO_MANY = "<p>Too many pages show a run live. Close some of them, then reload this one.</p>"
_GONE = "<p>The record of this run was removed to make room for others.</p>"
_PARTS = ("head", "questions", "answer", "output", "plan", "steps")


def routes(site: Site) -> list[Route]:
    """The routes of this page."""
    streams = anyio.Semaphore(MAX_STREAMS)

    async def show_ask(request: Request) -> Response:
        app = await site.app()
        task = request.query_params.get("task", "")[:MAX_QUERY]
        values: dict[str, Any] = {"task": task, "examples": EXAMPLES, "problem": None, "found": None}
        if not app.tasks.has_model:
            values |= {"problem": no_model_for_tasks(app.settings), "examples": SEARCHES}
            if task.strip():
                values["found"] = await app.search_tools(task, FOUND, identity=WEB_PAGE)
        runs = await app.tasks.runs_of(None).list(SHOWN_RUNS)
        return render(request, "ask.html", runs=runs, **values)

    async def start(request: Request) -> Response:
        app, form = await site.app(), await request.form()
        uploads = Path(await anyio.to_thread.run_sync(tempfile.mkdtemp))
        begun = anyio.Event()

        async def on_event(_event: TaskEvent) -> None:
            begun.set()

        try:
            files = await save_uploads(form, "files", uploads)
            task = _read_task(str(form.get("task", "")), files, app)
            person = PendingQuestions(ANSWER_WITHIN_S, client=WEB_PAGE.client)
            job = app.tasks.begin_task(
                task, identity=WEB_PAGE, person=person, ask=_asker(person), on_event=on_event, uploads=uploads
            )
        except BaseException:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(rmtree, uploads, ignore_errors=True))
            raise

        try:
            await app.wait_for_job(job, ignore_stage, until=begun.wait)
        except AlitaError:
            if not begun.is_set():  # what happens later is said on the page of the run
                raise
        return RedirectResponse(f"/ui/ask/{job.id}", status_code=303)

    async def show_run(request: Request) -> Response:
        view = await _look(await site.app(), request.path_params["run"])
        return render(request, "run.html", run=view, parts=_PARTS)

    async def stream_run(request: Request) -> Response:
        app, run = await site.app(), request.path_params["run"]
        view = await _look(app, run)

        async def parts() -> AsyncIterator[dict[str, str]]:
            try:
                streams.acquire_nowait()
            except anyio.WouldBlock:
                yield {"event": "head", "data": _TOO_MANY}
            else:
                try:
                    async for name, text in _changed_parts(app, view, request.state.csrf_token):
                        yield {"event": name, "data": text}
                except ToolNotFound:
                    yield {"event": "head", "data": _GONE}
                finally:
                    streams.release()
            yield {"event": "done", "data": ""}

        return EventSourceResponse(parts(), sep="\n")

    async def show_file(request: Request) -> Response:
        app, name = await site.app(), request.path_params["name"]
        path = await app.tasks.runs_of(None).find_file(request.path_params["run"], name)
        media_type = picture_type(name)
        # A picture is shown in its page. By itself all but the harmless ones are downloaded: an SVG is a document.
        is_shown = bool(media_type) and media_type != "image/svg+xml"
        return FileResponse(
            path,
            media_type=media_type or "application/octet-stream",
            filename=path.name,
            content_disposition_type="inline" if is_shown else "attachment",
            headers=_FILE_HEADERS,
        )

    async def stop(request: Request) -> Response:
        app, run = await site.app(), request.path_params["run"]
        job = _find_job(app, run, (await app.tasks.runs_of(None).progress(run)).summary.owner)
        if job is None:
            raise UsageError("This run is not worked on here.", hint="Stop it where it was started.")
        await app.jobs.cancel(job)
        return RedirectResponse(f"/ui/ask/{run}", status_code=303)

    async def answer(request: Request) -> Response:
        app, run, form = await site.app(), request.path_params["run"], await request.form()
        job = _find_job(app, run, USER)
        person = job.person if job is not None and job.person is not None else None
        answers = {
            question.key: FilledForm({_FIELD.key: str(form[question.key])[:MAX_ANSWER].strip()})
            for question in (person.open_questions if person is not None else ())
            if question.key in form
        }
        if person is None or not answers:
            raise UsageError("This question is no longer open.", hint="The run went on without an answer.")
        person.take_answers(person.next_round().token, answers)
        return RedirectResponse(f"/ui/ask/{run}", status_code=303)

    return [
        Route("/ui/ask", show_ask),
        Route("/ui/ask", start, methods=["POST"]),
        Route("/ui/ask/{run}", show_run),
        Route("/ui/ask/{run}/events", stream_run),
        Route("/ui/ask/{run}/files/{name:path}", show_file),
        Route("/ui/ask/{run}/stop", stop, methods=["POST"]),
        Route("/ui/ask/{run}/answer", answer, methods=["POST"]),
    ]


def _read_task(task: str, files: tuple[Path, ...], app: App) -> TaskRequest:
    settings = app.settings
    if not task.strip():
        raise UsageError("There is no task.", hint="Say in plain words what you want to know or have made.")
    budget = TaskBudget(
        steps=settings.limits.task_steps,
        tokens=settings.limits.task_tokens,
        usd=settings.budget_usd,
        seconds=settings.limits.task_seconds,
    )
    try:
        return TaskRequest(task=task, files=files, budget=budget)
    except ValidationError:
        raise UsageError("The task is too long.", hint="Put long texts into a file.") from None


def _asker(person: PendingQuestions) -> AskPerson:
    async def ask(question: str) -> str | None:
        try:
            form = await person.ask_form(question[:MAX_QUESTION], [_FIELD])
        except ModelError:  # nobody answered in time
            return None
        return form.texts.get(_FIELD.key) or None if isinstance(form, FilledForm) else None

    return ask


def _find_job(app: App, run: str, owner: str) -> Job[Solution] | None:
    """The job of a run that this process works on."""
    try:
        job: Job[Solution] = app.jobs.find_job(run, "solve_task", owner=owner)
    except UsageError:
        return None
    return job if job.finished is None else None


async def _look(app: App, run: str, known: RunView | None = None) -> RunView:
    """How a run stands; the same as `known` where nothing has come since."""
    progress = await app.tasks.runs_of(None).progress(run, known.progress if known else None)
    job = _find_job(app, run, progress.summary.owner)
    person = job.person if job is not None else None
    questions = person.open_questions if person is not None and person.client == WEB_PAGE.client else ()
    is_here = job is not None
    if known and (progress, questions, is_here) == (known.progress, known.questions, known.is_here):
        return known
    return view_run(progress, questions=questions, is_here=is_here)


async def _changed_parts(app: App, view: RunView, csrf_token: str) -> AsyncIterator[tuple[str, str]]:
    """The parts of a run's page, each when it has changed, until the run has ended."""
    macros = templates().get_template("_run.html").module
    shown: dict[str, str] = {}
    rendered: RunView | None = None
    while True:
        if view is not rendered:
            for name in _PARTS:
                text = str(getattr(macros, name)(view, csrf_token))
                if shown.get(name) != text:
                    shown[name] = text
                    yield name, text
            rendered = view
        if view.summary.status != "running":
            return
        await anyio.sleep(LOOK_EVERY_S)
        view = await _look(app, view.summary.run, view)
