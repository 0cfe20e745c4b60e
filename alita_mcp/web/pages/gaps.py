"""Gaps: what was searched for in vain, and programs that came back, each with a button that makes a tool of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from alita_mcp.app.app import App
from alita_mcp.errors import AlitaError, UsageError
from alita_mcp.models.choices import steps_to_a_model
from alita_mcp.owners import Maker
from alita_mcp.runs.history.hints import RecurringProgram
from alita_mcp.toolsmith.jobs.jobs import SynthesisJob
from alita_mcp.toolsmith.requests.outcomes import Exists, Published, Rejected
from alita_mcp.toolsmith.requests.request import SynthesisRequest, name_problem
from alita_mcp.toolsmith.requests.template import ask_for_code, format_template
from alita_mcp.web.rendering import render
from alita_mcp.web.site import WEB_PAGE, Site

GAPS = 30
PROGRAMS = 20
MAX_BEGUN = 200
MAX_CODE = 4_000


class Making(NamedTuple):
    """How far what a person began here is."""

    colour: str
    text: str
    tool: str = ""


def routes(site: Site) -> list[Route]:
    """The routes of this page."""
    begun: dict[str, SynthesisJob] = {}

    def begin(app: App, key: str, **fields: Any) -> Response:
        """Starts a synthesis, and leads to where it can be watched."""
        try:
            request = SynthesisRequest(**fields)
        except ValidationError as invalid:
            wrong = invalid.errors()[0]
            raise UsageError(
                f"{wrong['loc'][0]}: {wrong['msg']}.", hint="Change it and try again."
            ) from invalid
        begun.pop(key, None)
        begun[key] = app.begin_synthesis(request)
        if len(begun) > MAX_BEGUN:
            del begun[next(iter(begun))]
        return RedirectResponse("/ui/activity", status_code=303)

    async def show(request: Request, problem: AlitaError | None = None) -> Response:
        app = await site.app()
        gaps = await app.library.find_gaps(GAPS)
        programs = await app.code.list_recurring(PROGRAMS)
        return render(
            request,
            "gaps.html",
            status=409 if problem else 200,
            problem=problem,
            gaps=[(gap, _describe(begun.get(gap.need))) for gap in gaps],
            programs=[(each, _describe(begun.get(_key_of(each)))) for each in programs],
            is_locked=app.settings.policy == "locked",
            has_model=app.tasks.has_model,
            most=MAX_CODE,
        )

    async def make(request: Request) -> Response:
        app, form = await site.app(), await request.form()
        need, description = str(form.get("need", ""))[:1_000], str(form.get("description", "")).strip()
        try:
            _refuse_where_locked(app)
            if not description:
                raise UsageError("There is no description.", hint="Say what the tool should do.")
            if app.tasks.has_model:
                return begin(
                    app, need, description=description, made_by=Maker(WEB_PAGE.client), client=WEB_PAGE
                )
        except AlitaError as problem:
            return await show(request, problem)
        similar = await app.library.similar(description)
        asked = ask_for_code(SynthesisRequest(description=description[:8_000]), similar)
        return render(
            request,
            "request.html",
            fields=format_template(asked.template),
            rules=asked.rules,
            similar=asked.similar,
            steps=steps_to_a_model(app.settings),
        )

    async def keep(request: Request) -> Response:
        app, form = await site.app(), await request.form()
        key, name = str(form.get("program", "")), str(form.get("name", "")).strip()
        programs = {_key_of(each): each for each in await app.code.list_recurring(PROGRAMS)}
        try:
            _refuse_where_locked(app)
            if key not in programs:
                raise UsageError(
                    "This program is not remembered any more.", hint="Run it again with run_code."
                )
            if unfit := name_problem(name):
                raise UsageError(unfit.reason, hint=unfit.fix)
            owner = programs[key].owner
            description = str(form.get("description", "")).strip()
            fields = {"name": name, "description": description, "from_run": programs[key].runs}
            made_by, client = Maker(WEB_PAGE.client, owner), WEB_PAGE._replace(owner=owner)
            return begin(app, key, **fields, made_by=made_by, client=client)
        except AlitaError as problem:
            return await show(request, problem)

    return [
        Route("/ui/gaps", show),
        Route("/ui/gaps/make", make, methods=["POST"]),
        Route("/ui/gaps/keep", keep, methods=["POST"]),
    ]


def _refuse_where_locked(app: App) -> None:
    if app.settings.policy == "locked":
        raise UsageError("No tool can be made here.", hint="ALITA_POLICY is locked.")


def _key_of(program: RecurringProgram) -> str:
    return f"{program.key} {program.owner}"


def _describe(job: SynthesisJob | None) -> Making | None:
    """How far a synthesis is; None where none was begun here."""
    if job is None:
        return None
    if job.finished is None:
        return Making("busy", f"being made: {job.stage}")
    match job.outcome:
        case Published() | Exists() as made:
            return Making("ok", made.status.replace("_", " "), made.tool)
        case Rejected() as rejected:
            return Making("bad", f"rejected at {rejected.stage}: {rejected.reason} {rejected.fix}")
    return Making("bad", f"not made: {job.failure}" if job.failure else "not made")
