"""`make bench NAME=synthesis`: sends requests to a real server, whole or broken, and counts what it publishes.

A request without code is written by the server's model.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.errors import SandboxError, SandboxUnavailable, UsageError
from alita_mcp.settings import Settings, read_settings
from benchmarks.synthesis import judge, recorded, server, tally, tool_requests

DISTRIBUTIONS = ("alita-mcp-server", "mcp", "wasmtime", "docker")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own options."""
    parser.add_argument("--requests", metavar="FILE", type=Path, help="JSON lines, one request each")
    parser.add_argument(
        "--recorded",
        metavar="FILE",
        type=Path,
        help="a session instead: requests in one library, written by a model whose answers were recorded",
    )
    parser.add_argument(
        "--weak", metavar="SEED", type=int, help="with --recorded: answers as a weak model might give"
    )
    parser.add_argument(
        "--break", metavar="SEED", type=int, dest="seed", help="break each solution by one mistake first"
    )
    parser.add_argument(
        "--sandbox",
        metavar="KIND",
        nargs="+",
        default=[],
        help="only these; default: each that isolates here",
    )
    parser.add_argument(
        "--model", metavar="M", help="that writes requests without code; default: as ALITA_MODEL says"
    )
    parser.add_argument("--base-url", metavar="URL", help="of an OpenAI-compatible server")
    parser.add_argument("--mode", metavar="MODE", help="of synthesis; default: as ALITA_SYNTHESIS_MODE says")
    parser.add_argument("--limit", metavar="N", type=_positive, help="only the first N requests")


def run(options: argparse.Namespace) -> dict[str, object]:
    """The figures of each sandbox under its kind, and `versions` and `date`.

    Raises:
        UsageError: the file holds no readable request.
        SandboxUnavailable: a sandbox that was asked for does not isolate here, or none does.
    """
    settings, seed = read_settings(), options.seed
    if options.recorded:
        recordings = recorded.read_recordings(options.recorded)[: options.limit]
        return anyio.run(partial(_play, recordings, options.weak, tuple(options.sandbox), settings))
    if not options.requests:
        raise UsageError("Nothing to do.", hint="Name --requests FILE, or --recorded FILE.")
    requests = tool_requests.read_requests(options.requests, options.limit)
    lacking = [request.name for request in requests if not request.code]
    if lacking and seed is not None:
        raise UsageError(f"{lacking[0]} has no code to break.")
    if lacking and not (options.model or settings.model):
        raise UsageError(f"{lacking[0]} has no code.", hint="Name a model that writes it, with --model.")
    given = {"MODEL": options.model, "MODEL_BASE_URL": options.base_url, "SYNTHESIS_MODE": options.mode}
    model = {f"ALITA_{name}": value for name, value in given.items() if value}
    return anyio.run(partial(_measure_all, requests, seed, tuple(options.sandbox), settings, model))


def table(result: dict[str, object]) -> str:
    """The figures as a reader wants them."""
    figures = {kind: each for kind, each in result.items() if isinstance(each, dict) and "requests" in each}
    versions = result["versions"]
    words = (
        ", ".join(f"{name} {each}" for name, each in versions.items()) if isinstance(versions, dict) else ""
    )
    return f"{tally.as_table(figures)}\n\n{result['date']}: {words}"


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not a positive number")
    return number


async def _play(
    recordings: Sequence[recorded.Recording], weak: int | None, wanted: tuple[str, ...], settings: Settings
) -> dict[str, object]:
    """The figures of a session whose model answers as recorded, or as a weak one."""
    if weak is not None:
        from alita_mcp.sandbox.choose import open_sandbox

        sandbox = await open_sandbox(settings.model_copy(update={"sandbox": wanted[0]} if wanted else {}))
        try:
            recordings = [await recorded.weaken(each, weak, sandbox) for each in recordings]
        finally:
            with anyio.CancelScope(shield=True):
                await sandbox.aclose()
    with recorded.serve(recordings) as url:
        model = {"ALITA_MODEL": "openai/recorded", "ALITA_MODEL_BASE_URL": url, "OPENAI_API_KEY": "none"}
        requests = [each.as_request() for each in recordings]
        return await _measure_all(requests, None, wanted, settings, model)


async def _measure_all(
    requests: Sequence[tool_requests.ToolRequest],
    seed: int | None,
    wanted: tuple[str, ...],
    settings: Settings,
    model: dict[str, str],
) -> dict[str, object]:
    kinds = await _kinds(wanted, settings)
    result: dict[str, object] = {}
    for kind in kinds:
        result[kind] = await _measure(kind, requests, seed, settings, model)
    result["versions"] = _versions()
    result["date"] = datetime.now(UTC).date().isoformat()
    return result


async def _kinds(wanted: tuple[str, ...], settings: Settings) -> tuple[str, ...]:
    """The sandboxes to measure, each of which was seen to isolate."""
    from alita_mcp.sandbox.choose import open_sandbox, probe_all

    for kind in wanted:
        await (await open_sandbox(settings.model_copy(update={"sandbox": kind}))).aclose()
    if wanted:
        return tuple(dict.fromkeys(wanted))
    reports = await probe_all(settings.model_copy(update={"sandbox": "auto"}))
    isolating = tuple(report.kind for report in reports if report.isolates)
    if not isolating:
        raise SandboxUnavailable("No sandbox isolates here.", hint="`alita doctor` says what to install.")
    return isolating


async def _measure(
    kind: str,
    requests: Sequence[tool_requests.ToolRequest],
    seed: int | None,
    settings: Settings,
    model: dict[str, str],
) -> dict[str, Any]:
    tell = partial(_tell, kind)
    broken, unbroken = list[judge.BrokenRequest](), list[judge.Unbroken]()
    if seed is not None:
        broken, unbroken = await _broken(kind, requests, seed, settings)
        requests = [each.request for each in broken]
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder:
        async with server.connected(kind, Path(folder), model) as connected:
            trials = await server.deliver(connected, requests, tell)
    found = tally.tally(trials)
    return found if seed is None else found | {"broken": tally.tally_broken(broken, unbroken, trials, seed)}


async def _broken(
    kind: str, requests: Sequence[tool_requests.ToolRequest], seed: int, settings: Settings
) -> tuple[list[judge.BrokenRequest], list[judge.Unbroken]]:
    """Each request with a mistake in it, and those in which no mistake is noticed."""
    from alita_mcp.sandbox.choose import open_sandbox

    broken, unbroken = list[judge.BrokenRequest](), list[judge.Unbroken]()
    sandbox = await open_sandbox(settings.model_copy(update={"sandbox": kind}))
    try:
        for count, request in enumerate(requests, start=1):
            try:
                each = await judge.break_request(request, seed, sandbox)
            except SandboxError as failure:
                each = judge.Unbroken(task_id=request.task_id, why=f"the sandbox failed: {failure}")
            if isinstance(each, judge.BrokenRequest):
                broken.append(each)
                found = f"{each.mutation.kind} in line {each.mutation.line}, noticed by {each.noticed_by}"
            else:
                unbroken.append(each)
                found = each.why
            _tell(kind, f"breaking {count}/{len(requests)} {request.name}: {found}")
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()
    return broken, unbroken


def _tell(kind: str, line: str) -> None:
    print(f"{kind}: {line}", file=sys.stderr, flush=True)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for distribution in DISTRIBUTIONS:
        try:
            found[distribution] = version(distribution)
        except PackageNotFoundError:
            continue
    return found
