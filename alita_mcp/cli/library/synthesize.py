"""`alita synthesize` and `alita tool import`: requests in, tools that passed every gate out."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from alita_mcp.cli.application import open_app
from alita_mcp.cli.output import Output, Printer, compact_json
from alita_mcp.cli.parameters import STDIN
from alita_mcp.errors import AlitaError, ExtraMissing, ToolUnavailable, UsageError

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.toolsmith.requests.outcomes import Outcome

MAX_FILE_BYTES = 64 << 20
EXIT_STATUSES = {
    "created": 0,
    "exists": 0,
    "needs_approval": ToolUnavailable.exit_status,
    "needs_code": UsageError.exit_status,
}
"""Those of the outcomes that are not failures."""
DETAILS = {
    "to_raise_trust": "to raise", "rests_on": "rests on", "case": "case", "expected": "expected", "got": "got",
    "trace": "|", "breaks": "breaks", "kept": "kept", "assumed": "assumed",
    "fix": "fix",
}  # fmt: skip
"""What an outcome may say besides, in this order → its label."""


async def synthesize(
    requests: Annotated[Path | None, Parameter(name="FILE")] = None,
    /,
    *,
    name: str | None = None,
    code: Path | None = None,
    tests: Path | None = None,
    description: str | None = None,
    update: bool = False,
    mode: Literal["quick", "standard", "thorough"] | None = None,
    output: Printer,
) -> int:
    """Make tools; each must pass every gate before it is published.

    Args:
        requests: Requests as JSON or JSON Lines; - reads stdin. Only --update and --mode go with it.
        name: The tool's name, and that of its function.
        code: The Python file.
        tests: Examples, as JSON or JSON Lines.
        description: What the tool does, in a sentence; with --update, what is wrong with it.
        update: Make a new version of a tool that exists.
        mode: How much a model may spend on a description.

    Examples:
        alita synthesize request.json
        alita synthesize --code double.py --tests tests.jsonl
        alita synthesize --description "Count vowels" --mode quick
    """
    fields = {
        "name": name, "description": description, "mode": mode, "update": update or None,
        "code": read_text(code) if code else None,
        "tests": read_objects(tests) if tests else None,
    }  # fmt: skip
    given = {field: value for field, value in fields.items() if value is not None}
    if requests is None:
        if not given:
            raise UsageError("Nothing to make.", hint="Give a FILE of requests, or --code and --tests.")
        return await make_tools([given], output)
    if alone := sorted(given.keys() - {"update", "mode"}):
        option = f"--{alone[0].replace('_', '-')}"
        raise UsageError(f"{option} does not go with a FILE of requests.", hint=f"Leave out {option}.")
    found = read_objects(requests)
    if not found:
        raise UsageError(f"{requests} holds no request.")
    return await make_tools([{**request, **given} for request in found], output)


async def import_tool(folder: Path, /, *, update: bool = False, output: Printer) -> int:
    """Verify a tool's folder again, and publish it here.

    Args:
        folder: What `alita tool export` wrote.
        update: Make a new version of a tool that exists.

    Examples:
        alita tool import exports/calculate
    """
    request = read_tool_folder(folder)
    return await make_tools([{**request, "update": True} if update else request], output)


async def make_tools(requests: Sequence[Mapping[str, Any]], output: Output) -> int:
    """Makes one tool after the other, and prints each outcome.

    Returns:
        The worst exit status of the outcomes.
    """
    from alita_mcp.models.choices import model_problem
    from alita_mcp.toolsmith.requests.outcomes import NeedsCode

    worst, outcomes = 0, []
    async with open_app() as app:
        for request in requests:
            outcome = await make_tool(app, request, output)
            if not output.as_json:
                output.print_result(outcome, describe_outcome(outcome))
            problem = model_problem(app.settings) if isinstance(outcome, NeedsCode) else None
            if isinstance(problem, ExtraMissing):  # a model is set, and would have written the code
                output.note(str(problem))
            outcomes.append(outcome)
            worst = max(worst, EXIT_STATUSES.get(outcome.status, AlitaError.exit_status))
    if output.as_json:
        output.print_result(outcomes[0] if len(outcomes) == 1 else outcomes, "")
    return worst


async def make_tool(app: App, request: Mapping[str, Any], output: Output) -> Outcome:
    """One synthesis, waited for however long it takes: a person can press Ctrl-C."""
    from alita_mcp.owners import COMMAND_LINE, USER
    from alita_mcp.toolsmith.requests.outcomes import Working
    from alita_mcp.toolsmith.requests.request import read_request

    with output.progress(str(request.get("name") or "synthesize")[:60]) as on_stage:
        async with app.preparation.report(on_stage):
            outcome = await app.synthesize(read_request(request, COMMAND_LINE), on_stage)
            while isinstance(outcome, Working):
                job = await app.jobs.find_job(outcome.job_id, owner=USER)
                outcome = await app.wait_for_job(job, on_stage)
    return outcome


def describe_outcome(outcome: Outcome) -> str:
    """An outcome for a person: what became of the request, then what the outcome says besides."""
    from alita_mcp.toolsmith.requests.template import format_template

    fields = outcome.model_dump(mode="json")
    match outcome.status:
        case "created":
            head = "created {tool} v{version}: {trust}, {tests} tests pass"
        case "exists":
            head = "exists {tool} v{version}: {why}"
        case "rejected":
            head = "rejected at {stage}: {reason}"
        case "needs_approval":
            fields["grants"] = ", ".join(fields["grants"])
            head = "{tool} v{version} passed and needs approval for {grants}.\n{how}"
        case "needs_code":
            rules = [f"- {rule}" for rule in (*outcome.rules, *outcome.sandbox)]
            head = "The code is missing. Fill in this template, then run `alita synthesize FILE`:"
            return "\n".join([head, format_template(outcome.template), *rules])
        case _:
            head = "{status}"
    lines = [head.format_map(fields)]
    for field, label in DETAILS.items():
        found = fields.get(field)
        values = [each for each in (found if isinstance(found, list) else [found]) if each not in (None, "")]
        texts = [each if isinstance(each, str) else compact_json(each) for each in values]
        lines += [f"  {label:<10}{text}".rstrip() for text in texts]
    return "\n".join(lines)


def read_tool_folder(folder: Path) -> dict[str, Any]:
    """The request that an exported folder amounts to; its report counts for nothing, the gates run here.

    Raises:
        UsageError: the folder lacks `tool.py` or `manifest.json`, or they cannot be read.
    """
    from alita_mcp.values import Grants

    code, document = read_text(folder / "tool.py"), read_objects(folder / "manifest.json")
    if len(document) != 1 or not isinstance(document[0].get("manifest"), dict):
        raise UsageError(
            f"{folder / 'manifest.json'} is not the manifest of a tool.",
            hint="Import a folder that `alita tool export` wrote.",
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
                f"The tool asks for {grant}, which nobody can grant.", hint="Nothing was imported."
            )
    return request


def read_text(path: Path) -> str:
    """The text of a file, or of stdin for `-`.

    Raises:
        UsageError: it cannot be read, is no text, or is too large.
    """
    try:
        if str(path) == STDIN:
            return sys.stdin.read(MAX_FILE_BYTES)
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UsageError(f"{path} is larger than {MAX_FILE_BYTES >> 20} MB.")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as unreadable:
        raise UsageError(f"{path} cannot be read: {unreadable}.") from unreadable


def read_objects(path: Path) -> list[dict[str, Any]]:
    """The objects of one JSON document (an object or an array of them), or of JSON Lines.

    Raises:
        UsageError: the file holds something else.
    """
    text = read_text(path)
    try:
        found = json.loads(text)
    except ValueError as whole:
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            raise UsageError(f"{path} is neither JSON nor JSON Lines: {whole}.") from whole
    except RecursionError as deep:
        raise UsageError(f"{path} is nested too deeply.") from deep
    objects = found if isinstance(found, list) else [found]
    for item in objects:
        if not isinstance(item, dict):
            raise UsageError(f"{path} must hold JSON objects, not {compact_json(item)[:60]}.")
    return objects
