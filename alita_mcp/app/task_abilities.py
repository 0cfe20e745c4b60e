"""Abilities of one agent run: the flows of the app, under the rights of the person who asked."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread

from alita_mcp.agent.actions.abilities import ActionResult, BuildRequest, FoundTool, FoundTools
from alita_mcp.agent.actions.workspace import Workspace
from alita_mcp.app.activity import ActivityFeed
from alita_mcp.app.broker_factory import BrokerFactory
from alita_mcp.app.calls import Calls
from alita_mcp.app.code_rights import CodeWaits
from alita_mcp.app.code_runner import FILES, CodeRunner, ShowManifest
from alita_mcp.app.followed import make_tool, search_tools
from alita_mcp.errors import AlitaError, ToolNotFound
from alita_mcp.library.library import Library
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.search.signature import signature_of
from alita_mcp.models.roles import RoleModels
from alita_mcp.owners import ClientIdentity, Maker
from alita_mcp.progress import ReportStage
from alita_mcp.research.reading.readers import Readers
from alita_mcp.research.values import Document, MayFollow, Researched
from alita_mcp.research.web_agent import WebAgent
from alita_mcp.runs.code_run import CodeRequest
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, Rejected
from alita_mcp.toolsmith.requests.request import read_request, strip_fence
from alita_mcp.toolsmith.toolsmith import Toolsmith
from alita_mcp.values import Grants
from alita_mcp.verification.images import decode_image

MAX_OUTPUT = 20_000
"""Characters of what code printed that are kept."""
_REPR = (
    "`result` is a text, the repr of a value that is no JSON: perhaps a dictionary with keys that are no text. "
    "Return {str(key): value}, or lists."
)
_COPY_FILES = (
    "import alita_tool as _files, os as _os\n"
    "for _name in NAMES:\n"
    "    _os.makedirs(_os.path.dirname(_name) or '.', exist_ok=True)\n"
    "    with open(_name, 'wb') as _copy: _copy.write(_files.read_bytes(_name))\n"
    "del _files, _os, _name, _copy\n"
)
"""Puts files of the task into the working folder of code."""


@dataclass(frozen=True)
class Flows:
    """Flows of the app that an agent run uses."""

    library: Library
    calls: Calls
    code: CodeRunner
    brokers: BrokerFactory
    toolsmith: Toolsmith
    web: WebAgent
    readers: Readers
    """Processes that read files."""
    activity: ActivityFeed
    models: RoleModels | None = None
    """Models on the budget of the run, for the tools that it has made; None: the toolsmith's own."""


class RunAbilities:
    """Fills `agent.abilities.Abilities` for one run."""

    def __init__(
        self,
        flows: Flows,
        workspace: Workspace,
        identity: ClientIdentity,
        on_stage: ReportStage,
        shown: ShowManifest,
    ) -> None:
        self._flows = replace(flows, library=flows.library.seen_by(identity.owner))
        self._workspace = workspace
        self._identity = identity
        self._on_stage = on_stage
        self._shown = shown

    async def search_tools(self, query: str, limit: int = 5) -> FoundTools:
        """Tools for a need that can be called here, best first."""
        flows = self._flows
        found = await search_tools(flows.activity, flows.library, query, limit, self._identity)
        tools = tuple(tool for hit in found.results if (tool := self._describe_tool(hit.entry, hit.score)))
        return FoundTools(fit=found.fit if tools else "none", tools=tools)

    async def find_tool(self, name: str) -> FoundTool | None:
        """The tool of that name, if it can be called here."""
        try:
            return self._describe_tool(self._flows.library.entry(name))
        except AlitaError:
            return None

    def names_like(self, name: str) -> Sequence[str]:
        """Names that look like one that does not exist."""
        return self._flows.library.tools.names_like(name)[:3]

    def _describe_tool(self, entry: CatalogueEntry, score: float = 0.0) -> FoundTool | None:
        """A tool as the model may see it; None where it cannot run here."""
        if self._flows.calls.verifier.why_not(entry.manifest):
            return None
        seen = self._shown(entry.manifest)
        return FoundTool(
            name=seen.name,
            signature=signature_of(seen),
            summary=seen.summary,
            description=seen.description,
            input_schema=seen.input_schema,
            trust=seen.trust,
            score=score,
            calls=entry.calls,
            failures=entry.failures,
        )

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ActionResult:
        """Calls a tool; raises as `Calls.run_tool`."""
        try:
            is_private = self._is_granted(name)
            run = await self._flows.calls.run_tool(name, arguments, identity=self._identity)
        except ToolNotFound as missing:
            near = f" Near it: {', '.join(missing.nearest)}." if missing.nearest else ""
            return ActionResult(ok=False, error=f"{missing}{near}")
        result = run.result
        if run.is_image:  # a file of the task, like those that code writes
            file, shown = f"{name}.{result.value['format']}", run.structured_content or {}
            if self._workspace.add(file, decode_image(result.value)):
                shown["file"] = file
            return ActionResult(ok=True, value=shown, is_private=is_private)
        if result.ok:
            return ActionResult(ok=True, value=result.value, is_private=is_private)
        error = f"{result.error_type or result.status}: {result.message}"
        return ActionResult(ok=False, error=error, is_private=is_private)

    def _is_granted(self, name: str) -> bool:
        """Whether a tool can return more than its arguments hold; raises ToolNotFound."""
        return not self._flows.library.entry(name).manifest.grants.is_pure

    async def run_code(self, code: str, arguments: dict[str, Any], packages: Sequence[str]) -> ActionResult:
        """Runs code once; raises as `CodeRunner.run_code`."""
        code = strip_fence(code)
        # 1. The code gets the files of the task that it or an argument names, and may read others by `alita_tool`.
        values = {each for each in arguments.values() if isinstance(each, str)}
        named = tuple(name for name in self._workspace.names if name in code or name in values)
        reads = bool(named) or (bool(self._workspace.names) and "alita_tool" in code)
        if named:
            code = f"exec({_COPY_FILES.replace('NAMES', json.dumps(list(named)))!r})\n{code}"
        request = CodeRequest(
            code=code,
            arguments=arguments,
            packages=tuple(packages),
            grants=FILES if reads else Grants(),
        )
        outcome = await self._flows.code.run_code(
            request, self._identity, self._on_stage, shown=self._shown, files=self._workspace.folder
        )
        if isinstance(outcome, CodeWaits):
            return ActionResult(ok=False, error=outcome.how)
        # 2. The files that it wrote join those of the task.
        run = outcome.run
        written = [
            file.name
            for file in run.files
            if file.name not in named and self._workspace.add(file.name, file.data)
        ]
        written += filter(
            None, (self._workspace.add_picture(b64decode(each.data), "png") for each in run.figures)
        )
        value: dict[str, Any] = {"result": run.result}
        value |= {"stdout": run.stdout[:MAX_OUTPUT]} if run.stdout else {}
        value |= {"files": written} if written else {}
        notes = [*run.notes, *([_REPR] if run.result_kind == "repr" and not run.figures else [])]
        value |= {"notes": notes} if notes else {}
        is_private = reads or any(map(self._is_granted, run.tools))
        if run.ok:
            return ActionResult(ok=True, value=value, used=run.tools, is_private=is_private)
        error = run.trace or f"{run.error_type or run.status}: {run.error}"
        error = "\n".join(filter(None, (error, run.stderr[-500:])))
        shown = value if run.stdout else None
        return ActionResult(ok=False, error=error, value=shown, used=run.tools, is_private=is_private)

    async def build_tool(self, request: BuildRequest) -> ActionResult:
        """Has a tool made; one that waits for a person, or was rejected, is a failed result."""
        fields = {"description": request.description, "name": request.name, "code": request.code}
        words: dict[str, Any] = {name: value for name, value in fields.items() if value}
        if request.examples:
            words["tests"] = list(request.examples)
        maker = Maker(self._identity.client, self._identity.owner)
        wanted = await anyio.to_thread.run_sync(partial(read_request, words, maker, self._identity))
        if isinstance(wanted, Rejected):
            return ActionResult(ok=False, error=f"{wanted.reason} {wanted.fix}")
        wanted = wanted.model_copy(update={"looks_up": request.looks_up})
        flows = self._flows
        outcome = await make_tool(flows.activity, flows.toolsmith, wanted, self._on_stage, flows.models)
        value = outcome.model_dump(mode="json", exclude_defaults=True) | {"status": outcome.status}
        if isinstance(outcome, Created | Exists):
            made = outcome.tool if isinstance(outcome, Created) else ""
            return ActionResult(ok=True, value=value, made=made)
        error = f"The tool cannot be called yet: {outcome.status}."
        if isinstance(outcome, Rejected):
            error = f"{outcome.stage}: {outcome.reason} {outcome.fix}"
        return ActionResult(ok=False, error=error, value=value)

    async def research_web(self, question: str, *, may_fetch: MayFollow | None = None) -> Researched:
        """Passages of the web."""
        return await self._flows.web.research(question, on_stage=self._on_stage, may_fetch=may_fetch)

    async def fetch_page(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        """A page of the web; raises as `Fetcher.fetch`."""
        return await self._flows.web.fetch(url, may_follow=may_follow)

    def files(self) -> tuple[str, ...]:
        """Names of the files of the run."""
        return self._workspace.names

    def given_files(self) -> Mapping[str, Path]:
        """The files that the person gave: where each can be read, by its name."""
        return self._workspace.given_files()

    def file_text(self, name: str) -> str:
        """A file as it is."""
        return self._workspace.text(name)

    async def read_file(self, name: str) -> Document:
        """The text of a file."""
        from alita_mcp.research.reading.readers import read_file

        return await read_file(self._workspace.path(name), name, self._flows.readers)
