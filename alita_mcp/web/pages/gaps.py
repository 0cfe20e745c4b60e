"""Gaps: what was searched for in vain, and programs that came back, each with a button that makes a tool of it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from alita_mcp.errors import UsageError
from alita_mcp.owners import Maker
from alita_mcp.toolsmith.requests.request import SynthesisRequest, name_problem
from alita_mcp.web.rendering import render
from alita_mcp.web.security import WEB_PAGE
from alita_mcp.web.site import Site

GAPS = 30
MAX_DESCRIPTION = 8_000


def routes(site: Site) -> list[Route]:
    """The routes of this page."""

    async def show(request: Request) -> Response:
        app = await site.app_of(request)
        gaps, programs = await app.library.find_gaps(GAPS), app.code.hints.list_recurring()
        return render(request, "gaps.html", gaps=gaps, programs=programs, has_model=app.tasks.has_model)

    async def make(request: Request) -> Response:
        """Has a model write the tool for a search, or makes one of the runs of a program."""
        app, form = await site.app_of(request), await request.form()
        description = str(form.get("description", "")).strip()[:MAX_DESCRIPTION]
        if not description:
            raise UsageError("There is no description.", hint="Say what the tool should do.")
        wanted = SynthesisRequest(description=description, made_by=Maker(WEB_PAGE.client), client=WEB_PAGE)
        if "program" in form:
            programs = {each.runs[-1]: each for each in app.code.hints.list_recurring()}
            program, name = programs.get(str(form["program"])), str(form.get("name", "")).strip()
            if program is None:
                raise UsageError("This program is forgotten.", hint="Run it again with run_code.")
            if unfit := name_problem(name):
                raise UsageError(unfit.reason, hint=unfit.fix)
            made_by = Maker(WEB_PAGE.client, program.owner)
            client = WEB_PAGE._replace(owner=program.owner)
            found = {"name": name, "from_run": program.runs, "made_by": made_by, "client": client}
            wanted = wanted.model_copy(update=found)
        elif not app.tasks.has_model:
            hint = f"Tell a connected agent: “Make a tool: {description}” Or run `alita setup`."
            raise UsageError("There is no model here that could write it.", hint=hint)
        await app.begin_synthesis(wanted)
        return RedirectResponse("/ui/activity", status_code=303)

    return [Route("/ui/gaps", show), Route("/ui/gaps", make, methods=["POST"])]
