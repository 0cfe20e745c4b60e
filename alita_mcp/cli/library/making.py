"""`alita synthesize`, `tool import`, `tool export`, `tool reindex`: the commands that bring tools in and out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alita_mcp.cli.commands import Family, tool_version
from alita_mcp.cli.opened import opened_app, opened_library
from alita_mcp.cli.output import Output, compact
from alita_mcp.errors import AlitaError, ExtraMissing, ToolUnavailable, UsageError
from alita_mcp.models.choices import model_problem
from alita_mcp.toolsmith.requests.outcomes import (
    Created,
    Exists,
    NeedsApproval,
    NeedsCode,
    Outcome,
    Rejected,
    Working,
)
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.toolsmith.requests.template import format_template
from alita_mcp.values import Grants

if TYPE_CHECKING:
    from alita_mcp.app import App

MAX_FILE_BYTES = 64 << 20
COMMAND_LINE = "the command line"
"""Who made a tool that came in through `alita`."""


def add_commands(family: Family) -> None:
    """Declares `synthesize`."""
    make = family.add("synthesize", synthesize, "make tools; each must pass the gates before it is published")
    add = make.add_argument
    add("requests", nargs="?", type=Path, metavar="FILE", help="JSON (Lines); - reads stdin")
    add("--name", help="the tool's name; its function is called the same")
    add("--code", type=Path, metavar="FILE", help="the Python file")
    add("--from-run", action="append", metavar="ID", help="a kept run to make it of; repeatable")
    add("--tests", type=Path, metavar="FILE", help="examples, as JSON or JSON Lines")
    add("--description", help="what it does, in a sentence; with --update what is wrong with it")
    add("--use-when", action="append", metavar="TEXT", help="a request that it serves; repeatable")
    add("--packages", nargs="+", metavar="PACKAGE", help="requirements as in 'numpy>=2'")
    add("--network", nargs="+", metavar="HOST", help="hosts that it asks for")
    add(
        "--varies",
        nargs="+",
        choices=("clock", "random"),
        help="what results may differ by from call to call",
    )
    add("--update", action="store_true", help="a new version of a tool that is there")
    add("--breaks", type=Path, metavar="FILE", help="arguments of examples that may break")
    modes = ("quick", "standard", "thorough")
    add("--mode", choices=modes, help="how much a model may spend on a description")


def add_actions(tool: Family) -> None:
    """Declares `tool import`, `tool export` and `tool reindex`."""
    bring = tool.add("import", import_folder, "verify a tool's folder again and publish it here")
    bring.add_argument("folder", type=Path, metavar="FOLDER")
    bring.add_argument("--update", action="store_true", help="a new version of a tool that is there")
    out = tool.add("export", export, "write a tool to a folder that runs without alita")
    out.add_argument("name", metavar="NAME")
    out.add_argument("--version", type=tool_version, metavar="N", help="another version than the current one")
    tool.add("reindex", reindex, "look at every tool's files, and make the search index anew")


async def synthesize(options: argparse.Namespace, output: Output) -> int:
    """Publishes each request's tool or says why not; the exit status is the worst of them."""
    return await _make_all(_requests(options), output)


async def import_folder(options: argparse.Namespace, output: Output) -> int:
    """Takes code and examples from a version's folder; its report counts for nothing, the gates run here."""
    update = {"update": True} if options.update else {}
    return await _make_all([request_in(options.folder) | update], output)


async def export(options: argparse.Namespace, output: Output) -> int:
    """Prints the folder that was written."""
    async with opened_library() as library:
        folder = await library.export(options.name, options.version)
    output.result({"tool": options.name, "folder": str(folder)}, str(folder))
    return 0


async def reindex(_options: argparse.Namespace, output: Output) -> int:
    """Says how many tools the new index holds."""
    async with opened_library() as library:
        with output.progress("reindex") as on_stage:
            await on_stage("index")
            count = await library.reindex()
    output.result({"indexed": count}, f"{count} tools indexed")
    return 0


async def _make_all(requests: list[dict[str, Any]], output: Output) -> int:
    worst, outcomes = 0, []
    async with opened_app() as app:
        for request in requests:
            outcome = await make(app, request, output)
            if not output.as_json:
                output.result(outcome, in_words(outcome))
            problem = model_problem(app.settings) if isinstance(outcome, NeedsCode) else None
            if isinstance(problem, ExtraMissing):  # a model is set, and would have written the code
                output.note(str(problem))
            outcomes.append(outcome)
            worst = max(worst, status_of(outcome))
    if output.as_json:
        output.result(outcomes[0] if len(outcomes) == 1 else outcomes, "")
    return worst


async def make(app: App, raw: Mapping[str, Any], output: Output) -> Outcome:
    """One synthesis, waited for however long it takes: a person can press Ctrl-C."""
    with output.progress(str(raw.get("name") or "synthesize")[:60]) as on_stage:
        async with app.report_preparation(on_stage):
            outcome = await app.synthesize(read_request(raw, COMMAND_LINE), on_stage)
            while isinstance(outcome, Working):
                outcome = await app.resume(outcome.job_id, on_stage)
    return outcome


def status_of(outcome: Outcome) -> int:
    """The exit status of an outcome."""
    if isinstance(outcome, Created | Exists):
        return 0
    if isinstance(outcome, NeedsApproval):
        return ToolUnavailable.exit_status
    return UsageError.exit_status if isinstance(outcome, NeedsCode) else AlitaError.exit_status


def in_words(outcome: Outcome) -> str:
    """An outcome as a person reads it."""
    match outcome:
        case Created():
            made = f"created {outcome.tool} v{outcome.version}: {outcome.trust}, {outcome.tests} tests pass"
            lines = [_with_line(made, outcome.to_raise_trust), *_details(outcome)]
            lines += [f"  question  {line}" for line in outcome.questions]
            return "\n".join(lines)
        case Exists():
            found = f"exists {outcome.tool} v{outcome.version}: {outcome.why}"
            return _with_line(found, outcome.to_raise_trust)
        case Rejected():
            return _rejection_in_words(outcome)
        case NeedsApproval():
            asked = f"{outcome.tool} v{outcome.version} passed and needs approval for {', '.join(outcome.grants)}."
            return "\n".join([asked, outcome.how, *_details(outcome)])
        case NeedsCode():
            line = "needs code; fill in this template and hand it in with `alita synthesize FILE`:"
            rules = [f"- {line}" for line in (*outcome.rules, *outcome.sandbox)]
            return "\n".join([line, format_template(outcome.template), *rules])
        case _:
            return outcome.status


def _details(outcome: Created | NeedsApproval) -> list[str]:
    """What an update gave up, why it is not current, what was assumed, and tools that sound alike but differ."""
    lines = [
        f"  breaks    {compact(each.arguments)}: was {compact(each.expected)}, is {compact(each.got)}"
        for each in outcome.breaks
    ]
    lines += [f"  kept      {outcome.kept}"] if outcome.kept else []
    lines += [f"  assumed   {line}" for line in outcome.assumed]
    apart = zip(outcome.similar[1:], outcome.differs, strict=False)
    return lines + [f"  not {name}  {differs}" for name, differs in apart]


def _with_line(said: str, line: str) -> str:
    return f"{said}\n  {line}" if line else said


def _rejection_in_words(outcome: Rejected) -> str:
    lines = [f"rejected at {outcome.stage}: {outcome.reason}"]
    if outcome.case is not None:
        lines.append(f"  case      {compact(outcome.case)}")
    if outcome.expected is not None or outcome.got is not None:
        lines += [f"  expected  {compact(outcome.expected)}", f"  got       {compact(outcome.got)}"]
    lines += [f"  | {line}" for line in outcome.trace]
    lines += [f"  breaks    {compact(case)}" for case in outcome.breaks]
    return "\n".join([*lines, f"  fix       {outcome.fix}"])


def _requests(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The requests of a file, or the one that the options spell out."""
    plain = ("name", "description", "from_run", "use_when", "packages", "network", "varies", "mode")
    given = {field: getattr(options, field) for field in plain} | {
        "code": _text(options.code) if options.code else None,
        "tests": _documents(options.tests) if options.tests else None,
        "update": options.update or None,
        "breaks": _documents(options.breaks) if options.breaks else None,
    }
    spelt_out = {key: value for key, value in given.items() if value is not None}
    if options.requests is None:
        if not spelt_out:
            raise UsageError("Nothing to make.", hint="Give a FILE of requests, or --code and --tests.")
        return [spelt_out]
    if alone := sorted(spelt_out.keys() - {"update", "mode"}):
        raise UsageError(f"A FILE of requests stands alone; leave out --{alone[0]}.")
    requests = _documents(options.requests)
    if not requests:
        raise UsageError(f"{options.requests} holds no request.")
    return [{**request, **spelt_out} for request in requests]


def request_in(folder: Path) -> dict[str, Any]:
    """The request that a version's folder amounts to.

    Raises:
        UsageError: the folder lacks `tool.py` or `manifest.json`, or they cannot be read.
    """
    code, document = _text(folder / "tool.py"), _documents(folder / "manifest.json")
    if len(document) != 1 or not isinstance(document[0].get("manifest"), dict):
        raise UsageError(
            f"{folder / 'manifest.json'} is no tool's manifest.",
            hint="Import what `alita tool export` wrote.",
        )
    manifest = document[0]["manifest"]
    request = {field: manifest.get(field) for field in ("name", "description")}
    request |= {field: manifest.get(field, []) for field in ("use_when", "packages", "varies")}
    request |= {"code": code, "tests": document[0].get("examples")}
    grants = manifest.get("grants")
    for grant, value in (grants if isinstance(grants, dict) else {}).items():
        if grant in Grants.model_fields:
            request[grant] = value
        elif value:
            raise UsageError(
                f"The tool asks for {grant}, which cannot be requested.", hint="Nothing was imported."
            )
    return request


def _text(path: Path) -> str:
    try:
        if str(path) == "-":
            return sys.stdin.read(MAX_FILE_BYTES)
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UsageError(f"{path} is larger than {MAX_FILE_BYTES >> 20} MB.")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as unreadable:
        raise UsageError(f"{path} cannot be read: {unreadable}.") from unreadable


def _documents(path: Path) -> list[dict[str, Any]]:
    """The objects of one JSON document (an object or an array of them), or of JSON Lines."""
    text = _text(path)
    try:
        found = json.loads(text)
    except ValueError as whole:
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            raise UsageError(f"{path} is neither JSON nor JSON Lines: {whole}.") from whole
    except RecursionError as deep:
        raise UsageError(f"{path} is nested too deeply.") from deep
    documents = found if isinstance(found, list) else [found]
    strange = next((item for item in documents if not isinstance(item, dict)), None)
    if strange is not None:
        raise UsageError(f"{path} should hold objects, not {compact(strange)[:60]}.")
    return documents
