"""`alita serve` and `alita doctor`: the server, and the check of this machine's sandboxes, library and settings."""

from __future__ import annotations

import argparse
import os
import platform
from typing import TYPE_CHECKING, Any

from alita_mcp import __version__
from alita_mcp.cli.commands import Family
from alita_mcp.cli.opened import opened_library
from alita_mcp.cli.output import Output
from alita_mcp.cli.setting_up.preparing import embedded, embedded_line
from alita_mcp.errors import AlitaError, LibraryError, SandboxUnavailable, UsageError
from alita_mcp.settings import Settings, keep_litellm_to_itself, read_settings, retired_settings

if TYPE_CHECKING:
    from alita_mcp.sandbox.interface import ProbeReport

DEFAULT_HOST = "127.0.0.1"


def add_commands(family: Family) -> None:
    """Declares `serve` and `doctor`."""
    serve_parser = family.add("serve", serve, "serve MCP over stdin and stdout, or over HTTP")
    where = f"Streamable HTTP at /mcp, as in {DEFAULT_HOST}:8765"
    serve_parser.add_argument("--http", metavar="ADDR:PORT", type=address, help=where)
    serve_parser.add_argument(
        "--allow-host", metavar="NAME", action="append", default=[], help="a further name clients reach it by"
    )
    doctor_parser = family.add("doctor", doctor, "check the sandboxes, the library and the settings")
    doctor_parser.add_argument(
        "--sandbox",
        nargs="?",
        const="",
        metavar="KIND",
        help="try every claim about a sandbox: docker, bubblewrap, wasm, module:Class or all;"
        " without a KIND the one that is set",
    )
    doctor_parser.add_argument(
        "--clean", action="store_true", help="remove files in the home that only earlier versions read"
    )


def address(text: str) -> tuple[str, int]:
    """Reads `127.0.0.1:8765`, `[::1]:8765` or a port alone, which means this machine only."""
    host, colon, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port) > 65_535 or (colon and not host):
        raise argparse.ArgumentTypeError(f"{text!r} is no address: write {DEFAULT_HOST}:8765")
    return host.removeprefix("[").removesuffix("]") or DEFAULT_HOST, int(port)


def serve(options: argparse.Namespace, _output: Output) -> int:
    """Serves until the client is gone (stdio) or a signal comes (HTTP)."""
    if options.http is None:
        if options.allow_host:
            raise UsageError("--allow-host goes with --http.")
        from alita_mcp.server.transports.entry import serve_over_stdio
        from alita_mcp.server.transports.wire import claim_standard_streams

        serve_over_stdio(claim_standard_streams(), os.getppid())
    import anyio

    from alita_mcp.server.transports.http import serve_http
    from alita_mcp.web.routes import library_routes

    settings, (host, port) = read_settings(), options.http

    async def listen() -> int:
        async with opened_library(settings) as library:
            allowed, pages = tuple(options.allow_host), library_routes(library)
            return await serve_http(settings, host, port, allowed_hosts=allowed, pages=pages)

    return anyio.run(listen)


async def doctor(options: argparse.Namespace, output: Output) -> int:
    """Tries each sandbox in earnest and opens the library; the exit status is that of the first thing missing."""
    import anyio.to_thread

    from alita_mcp.event_loop import LoopLag
    from alita_mcp.library.background import background
    from alita_mcp.sandbox.choose import probe_all

    settings = read_settings()
    if options.sandbox is not None:
        from alita_mcp.cli.conforming import examine

        return await examine(options.sandbox, settings, output)
    lag = LoopLag()
    with output.progress("doctor") as on_stage:
        async with background() as tasks:
            tasks.start_soon(lag.watch, 0.02)
            await on_stage("sandboxes")
            reports = await probe_all(settings, on_stage)
            await on_stage("library")
            library = await _library_findings(settings, clean=options.clean)
            tasks.cancel_scope.cancel()
        await on_stage("extras")
        extras = await anyio.to_thread.run_sync(_extras_findings)
    chosen = _chosen(settings, reports)
    findings: dict[str, Any] = {
        "alita": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "sandbox": {"setting": settings.sandbox, "chosen": chosen},
        "probes": [{**report.model_dump(mode="json"), "isolates": report.isolates} for report in reports],
        "embedded": await embedded(),
        "extras": extras,
        "library": library,
        "policy": settings.policy,
        "model": settings.model,
        "retired_settings": retired_settings(),
        "event_loop": {"worst_lag_s": round(lag.worst_s, 3)},
    }
    output.result(findings, "\n".join(_lines(findings, reports)))
    if chosen is None:
        return SandboxUnavailable.exit_status
    return LibraryError.exit_status if "problem" in library else 0


def _chosen(settings: Settings, reports: tuple[ProbeReport, ...]) -> str | None:
    """The kind that tools would run in: the first that isolates, of those that the setting allows."""
    if ":" in settings.sandbox:
        allowed = reports[:1]  # a back end from elsewhere is probed first
    else:
        allowed = tuple(report for report in reports if settings.sandbox in ("auto", report.kind))
    return next((report.kind for report in allowed if report.isolates), None)


async def _library_findings(settings: Settings, *, clean: bool) -> dict[str, Any]:
    from alita_mcp.library.leftovers import find_leftovers, remove_leftovers

    try:
        async with opened_library(settings) as library:
            states = library.tools.counts()
    except AlitaError as broken:
        return {"home": str(settings.home), "problem": str(broken)}
    findings = {"home": str(settings.home), "tools": sum(states.values()), "states": states}
    leftovers = find_leftovers(settings.home)
    try:
        if clean:
            remove_leftovers(settings.home)
    except OSError as failure:
        findings["problem"] = f"Cannot remove what earlier versions left in {settings.home}: {failure}"
    remaining = find_leftovers(settings.home)
    findings["removed"] = sorted(leftovers.keys() - remaining.keys())
    findings["leftovers"] = remaining
    return findings


def _extras_findings() -> dict[str, Any]:
    """Whether each extra can be used, by importing its packages; where not, why, and the command that changes it."""
    from alita_mcp.extras import EXTRAS, FEATURES, find_installation, import_problem

    keep_litellm_to_itself()
    installation = find_installation()
    found: dict[str, Any] = {}
    for extra in EXTRAS:
        found[extra] = {"here": True, "for": FEATURES[extra]}
        if problem := import_problem(extra):
            command = installation.command(extra, repair=problem.is_broken)
            found[extra] |= {"here": False, "problem": problem.said, "command": command}
    absent = [extra for extra in EXTRAS if not found[extra]["here"]]
    if len(absent) > 1:
        found["all"] = {"command": installation.command(*absent)}
    return found


def _extras_lines(extras: dict[str, Any]) -> list[str]:
    lines = []
    for name, found in extras.items():
        if name == "all":
            lines.append(f"    → all that is not here: {found['command']}")
        elif found["here"]:
            lines.append(f"✓ extra {name}: {found['for']}")
        else:
            lines.append(f"- extra {name} is not here ({found['problem']}): {found['for']}")
            lines.append(f"    → {found['command']}")
    return lines


def _lines(findings: dict[str, Any], reports: tuple[ProbeReport, ...]) -> list[str]:
    library, chosen = findings["library"], findings["sandbox"]["chosen"]
    lines = [f"alita {findings['alita']}, Python {findings['python']}, {findings['platform']}", ""]
    for report in reports:
        lines.append(f"{'✓' if report.isolates else '✗'} sandbox {report.kind}")
        for probe in report.probes:
            detail = f": {probe.detail}" if probe.detail else ""
            lines.append(f"    {'✓' if probe.passed else '✗'} {probe.name}{detail}")
        if report.hint and not report.isolates:
            lines.append(f"    → {report.hint}")
    lines.append(f"Tools run in: {chosen or 'nothing that isolates; no tool can be made or called'}")
    lines.append(embedded_line(findings["embedded"]))
    lines += ["", *_extras_lines(findings["extras"]), ""]
    if "problem" in library:
        lines.append(f"✗ library {library['problem']}")
    else:
        states = ", ".join(f"{count} {state}" for state, count in library["states"].items())
        known = f"{library['tools']} tools{f' ({states})' if states else ''}"
        lines.append(f"✓ library {library['home']}: {known}")
        lines += [f"  removed {name}" for name in library["removed"]]
        lines += [
            f"  {name} ({meaning}) is not used any more" for name, meaning in library["leftovers"].items()
        ]
        if library["leftovers"]:
            lines.append("    → alita doctor --clean removes it")
    model = findings["model"] or "none; the connected agent writes the code"
    lines.append(f"  policy {findings['policy']}, model {model}")
    lines += [f"✗ {sentence}" for sentence in findings["retired_settings"]]
    lag = findings["event_loop"]["worst_lag_s"]
    lines.append(f"  event loop at most {lag * 1000:.0f} ms late while this was found out")
    return lines
