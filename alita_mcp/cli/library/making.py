"""`alita synthesize`, `import`, `export`, `reindex`: what brings tools in and out."""

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
from alita_mcp.errors import AlitaError, ToolUnavailable, UsageError
from alita_mcp.synthesis.requests.outcomes import (
    Created,
    Exists,
    NeedsApproval,
    NeedsCode,
    Outcome,
    Rejected,
    Working,
)
from alita_mcp.synthesis.requests.request import read_request
from alita_mcp.synthesis.requests.template import laid_out
from alita_mcp.values import Grants

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.models.recording.recorded import Exchanges

MAX_FILE_BYTES = 64 << 20
COMMAND_LINE = "the command line"
"""Who made a tool that came in through `alita`."""


def add_commands(family: Family) -> None:
    """Declares the four commands."""
    make = family.add("synthesize", synthesize, "bring new tools through the gates")
    make.add_argument("requests", nargs="?", type=Path, metavar="FILE", help="JSON (Lines); - reads stdin")
    make.add_argument("--name", help="the tool's name; its function is called the same")
    make.add_argument("--code", type=Path, metavar="FILE", help="the Python file")
    make.add_argument(
        "--from-run", action="append", metavar="ID", help="a kept run to make it of; repeatable"
    )
    make.add_argument("--tests", type=Path, metavar="FILE", help="examples, as JSON or JSON Lines")
    make.add_argument(
        "--description", help="what it does, in a sentence; with --update what is wrong with it"
    )
    make.add_argument(
        "--use-when", action="append", metavar="TEXT", help="a request that it serves; repeatable"
    )
    make.add_argument("--packages", nargs="+", metavar="PACKAGE", help="requirements as in 'numpy>=2'")
    make.add_argument("--network", nargs="+", metavar="HOST", help="hosts that it asks for")
    make.add_argument(
        "--varies",
        nargs="+",
        choices=("clock", "random"),
        help="what results may differ by from call to call",
    )
    _add_writing_options(make)
    kept = make.add_mutually_exclusive_group()
    kept.add_argument("--record", type=Path, metavar="DIR", help="keep what models answer as files in DIR")
    kept.add_argument("--replay", type=Path, metavar="DIR", help="answer from DIR instead of asking models")
    bring = family.add("import", import_folder, "verify a tool's folder again and publish it here")
    bring.add_argument("folder", type=Path, metavar="FOLDER")
    bring.add_argument("--update", action="store_true", help="a new version of a tool that is there")
    out = family.add("export", export, "write a tool to a folder that runs without alita")
    out.add_argument("name", metavar="NAME")
    out.add_argument("--version", type=tool_version, metavar="N", help="another version than the current one")
    family.add("reindex", reindex, "look at every tool's files, and make the search tables anew")


def _add_writing_options(make: argparse.ArgumentParser) -> None:
    make.add_argument("--update", action="store_true", help="a new version of a tool that is there")
    make.add_argument("--breaks", type=Path, metavar="FILE", help="arguments of examples that may break")
    make.add_argument(
        "--overrule",
        nargs=2,
        action="append",
        metavar=("RULE", "TEXT"),
        help="what holds instead of a rule that was assumed; repeatable",
    )
    make.add_argument(
        "--mode",
        choices=("quick", "standard", "thorough"),
        help="how much a model may spend on a description",
    )


async def synthesize(options: argparse.Namespace, output: Output) -> int:
    """Publishes each request's tool or says why not; the exit status is the worst of them."""
    requests = _requests(options)
    return await _make_all(requests, output, _exchanges(options))


async def import_folder(options: argparse.Namespace, output: Output) -> int:
    """Takes code and examples from a version's folder; its report counts for nothing, the gates run here."""
    request = request_in(options.folder)
    if options.update:
        request["update"] = True
    return await _make_all([request], output)


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


def _exchanges(options: argparse.Namespace) -> Exchanges | None:
    if options.record is None and options.replay is None:
        return None
    from alita_mcp.models.recording.recorded import Recorder, Replayer

    return Recorder(options.record) if options.record is not None else Replayer(options.replay)


async def _make_all(
    requests: list[dict[str, Any]], output: Output, exchanges: Exchanges | None = None
) -> int:
    worst, outcomes = 0, []
    async with opened_app(exchanges=exchanges) as app:
        for request in requests:
            outcome = await make(app, request, output)
            if not output.as_json:
                output.result(outcome, in_words(outcome))
            outcomes.append(outcome)
            worst = max(worst, status_of(outcome))
    if output.as_json:
        output.result(outcomes[0] if len(outcomes) == 1 else outcomes, "")
    return worst


async def make(app: App, raw: Mapping[str, Any], output: Output) -> Outcome:
    """One synthesis, waited for however long it takes: a person can press Ctrl-C."""
    with output.progress(str(raw.get("name") or "synthesize")[:60]) as on_stage:
        async with app.told_of_preparation(on_stage):
            outcome = await app.synthesize(read_request(raw, COMMAND_LINE), on_stage)
            while isinstance(outcome, Working):
                outcome = await app.resume(outcome.job_id, on_stage)
    return outcome


def status_of(outcome: Outcome) -> int:
    """The exit status that it ends a command with."""
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
            lines = [
                _with_line(made, outcome.to_raise_trust),
                *_update(outcome),
                *_assumed(outcome),
                *_told_apart(outcome),
            ]
            return "\n".join(
                [*lines, *(f"  question  {line}" for line in outcome.questions), *_proposed(outcome)]
            )
        case Exists():
            found = f"exists {outcome.tool} v{outcome.version}: {outcome.why}"
            return "\n".join([_with_line(found, outcome.to_raise_trust), *_proposed(outcome)])
        case Rejected():
            return _rejection_in_words(outcome)
        case NeedsApproval():
            asked = f"{outcome.tool} v{outcome.version} passed and needs approval for {', '.join(outcome.grants)}."
            return "\n".join(
                [asked, outcome.how, *_update(outcome), *_assumed(outcome), *_told_apart(outcome)]
            )
        case NeedsCode():
            return "\n".join(
                [
                    *([f"no tool as it is: {outcome.why}"] if outcome.why else []),
                    "needs code; fill in this template and hand it in with `alita synthesize FILE`:",
                    laid_out(outcome.template),
                ]
                + [f"- {line}" for line in (*outcome.rules, *outcome.sandbox)]
            )
        case _:
            return outcome.status


def _update(outcome: Created | NeedsApproval) -> list[str]:
    """What an update gave up, and why it is not the current version."""
    lines = [
        f"  breaks    {compact(each.arguments)}: was {compact(each.expected)}, is {compact(each.got)}"
        for each in outcome.breaks
    ]
    return [*lines, f"  kept      {outcome.kept}"] if outcome.kept else lines


def _assumed(outcome: Created | NeedsApproval) -> list[str]:
    """A line for each rule that its writer had to invent."""
    return [f"  assumed   {line}" for line in outcome.assumed]


def _told_apart(outcome: Created | NeedsApproval) -> list[str]:
    """A line for each tool that sounds like it and does something else."""
    return [
        f"  not {name}  {differs}"
        for name, differs in zip(outcome.similar[1:], outcome.differs, strict=False)
    ]


def _proposed(outcome: Created | Exists | Rejected) -> list[str]:
    """A line for each example that --tests could confirm or correct."""
    return [f"  proposed  {compact(each)}" for each in outcome.proposed]


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
    return "\n".join([*lines, f"  fix       {outcome.fix}", *_proposed(outcome)])


def _requests(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The requests of a file, or the one that the options spell out."""
    given = {
        "name": options.name,
        "description": options.description,
        "code": _text(options.code) if options.code else None,
        "tests": _documents(_text(options.tests), options.tests) if options.tests else None,
        "from_run": options.from_run,
        "use_when": options.use_when,
        "packages": options.packages,
        "network": options.network,
        "varies": options.varies,
        "update": options.update or None,
        "breaks": _documents(_text(options.breaks), options.breaks) if options.breaks else None,
        "overrule": dict(options.overrule) if options.overrule else None,
        "mode": options.mode,
    }
    spelt_out = {key: value for key, value in given.items() if value is not None}
    if options.requests is None:
        if not spelt_out:
            raise UsageError("Nothing to make.", hint="Give a FILE of requests, or --code and --tests.")
        return [spelt_out]
    if alone := sorted(spelt_out.keys() - {"update", "mode"}):
        raise UsageError(f"A FILE of requests stands alone; leave out --{alone[0]}.")
    requests = _documents(_text(options.requests), options.requests)
    if not requests:
        raise UsageError(f"{options.requests} holds no request.")
    return [{**request, **spelt_out} for request in requests]


def request_in(folder: Path) -> dict[str, Any]:
    """The request that a version's folder amounts to.

    Raises:
        UsageError: the folder lacks `tool.py` or `manifest.json`, or they cannot be read.
    """
    code, document = (
        _text(folder / "tool.py"),
        _documents(_text(folder / "manifest.json"), folder / "manifest.json"),
    )
    if len(document) != 1 or not isinstance(document[0].get("manifest"), dict):
        raise UsageError(
            f"{folder / 'manifest.json'} is no tool's manifest.", hint="Import what `alita export` wrote."
        )
    manifest = document[0]["manifest"]
    request = {
        "name": manifest.get("name"),
        "description": manifest.get("description"),
        "code": code,
        "tests": document[0].get("examples"),
        "use_when": manifest.get("use_when", []),
        "packages": manifest.get("packages", []),
        "varies": manifest.get("varies", []),
    }
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


def _documents(text: str, path: Path) -> list[dict[str, Any]]:
    """The objects of one JSON document (an object or an array of them), or of JSON Lines."""
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
