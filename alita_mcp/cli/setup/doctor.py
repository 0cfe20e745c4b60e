"""`alita doctor`: checks the sandboxes, the extras, the library and the settings of this machine."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from alita_mcp import __version__
from alita_mcp.cli.application import open_library
from alita_mcp.cli.output import Printer
from alita_mcp.errors import AlitaError, LibraryError, SandboxUnavailable, UsageError
from alita_mcp.machine import HTTP_CLIENTS, lack_of_descriptors

if TYPE_CHECKING:
    from alita_mcp.sandbox.interface import ProbeReport
    from alita_mcp.settings import Settings


async def doctor(
    *,
    sandbox: Annotated[list[str] | None, Parameter(consume_multiple=(0, 1), metavar="[KIND]")] = None,
    clean: bool = False,
    output: Printer,
) -> int:
    """Check the sandboxes, the extras, the library and the settings.

    Args:
        sandbox: Try every claim about isolation instead: on docker, bubblewrap, wasm, module:Class or all; without
            a KIND, on the sandbox that is set.
        clean: Remove files in the home that only earlier versions read.

    Examples:
        alita doctor
        alita doctor --sandbox docker
        alita doctor --clean
    """
    import anyio.to_thread

    from alita_mcp.cli.setup.prepare import find_embedded
    from alita_mcp.sandbox.choose import probe_all
    from alita_mcp.server.transports.local.servers import find_servers
    from alita_mcp.settings import absolute_home, find_unknown_settings, read_settings

    settings = read_settings()
    if sandbox is not None:
        from alita_mcp.cli.setup.claims import try_all_claims

        return await try_all_claims("".join(sandbox), settings, output)
    with output.progress("doctor") as on_stage:
        await on_stage("sandboxes")
        reports = await probe_all(settings, on_stage)
        await on_stage("library")
        library = await check_library(settings, clean=clean)
        await on_stage("extras")
        extras = await anyio.to_thread.run_sync(check_extras)
    # Tools run in the first kind that isolates, of those that the setting allows; one from elsewhere is probed first.
    own = ":" in settings.sandbox
    allowed = reports[:1] if own else [each for each in reports if settings.sandbox in ("auto", each.kind)]
    chosen = next((report.kind for report in allowed if report.isolates), None)
    findings: dict[str, Any] = {
        "alita": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "sandbox": {"setting": settings.sandbox, "chosen": chosen},
        "probes": [{**report.model_dump(mode="json"), "isolates": report.isolates} for report in reports],
        "embedded": await find_embedded(),
        "extras": extras,
        "library": library,
        "http": describe_token(settings),
        "servers": find_servers(absolute_home(settings.home)),
        "policy": settings.policy,
        "model": settings.model,
        "unknown_settings": find_unknown_settings(settings.home),
        "open_files": lack_of_descriptors(settings.max_workers, HTTP_CLIENTS),
    }
    output.print_result(findings, "\n".join(describe_findings(findings, reports)))
    if chosen is None:
        return SandboxUnavailable.exit_status
    return LibraryError.exit_status if "problem" in library else 0


async def check_library(settings: Settings, *, clean: bool) -> dict[str, Any]:
    """What is in the library, or what is wrong with it; `clean` removes what only earlier versions read."""
    from alita_mcp.library.leftovers import find_leftovers, remove_leftovers

    try:
        async with open_library() as library:
            states = library.tools.counts()
            rebuilt = library.journal(1, "rebuilt")
    except AlitaError as broken:
        return {"home": str(settings.home), "problem": str(broken)}
    findings: dict[str, Any] = {"home": str(settings.home), "tools": sum(states.values()), "states": states}
    findings["rebuilt"] = {"at": rebuilt[0].time[:10], **rebuilt[0].detail} if rebuilt else None
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


def describe_token(settings: Settings) -> str:
    """Where the token of HTTP clients is and who shares it, or what is wrong with its file; nothing is made."""
    from alita_mcp.server.transports.http_token import TOKEN_FILE, read_token_file

    path = settings.home / TOKEN_FILE
    try:
        if settings.token is None and not os.path.lexists(path):
            return (
                "- HTTP has no token yet: all clients that send the one of `alita serve` are one trust group"
            )
        if settings.token is None:
            read_token_file(path)
    except UsageError as unfit:
        return f"✗ {unfit}"
    where = "ALITA_TOKEN" if settings.token else path
    return f"✓ HTTP token in {where}: all clients that send it are one trust group"


def check_extras() -> dict[str, Any]:
    """Whether each extra is installed; if not, why, and the command that adds it."""
    from alita_mcp.extras import EXTRAS, FEATURES, find_extra_problem, find_installation

    installation = find_installation()
    found: dict[str, Any] = {}
    for extra in EXTRAS:
        found[extra] = {"here": True, "for": FEATURES[extra]}
        if problem := find_extra_problem(extra):
            command = installation.command(extra, repair=problem.is_broken)
            found[extra] |= {"here": False, "problem": problem.reason, "command": command}
    absent = [extra for extra in EXTRAS if not found[extra]["here"]]
    if len(absent) > 1:
        found["all"] = {"command": installation.command(*absent)}
    return found


def describe_findings(findings: dict[str, Any], reports: tuple[ProbeReport, ...]) -> list[str]:
    """The findings for a person; `→` marks what to do next."""
    from alita_mcp.cli.setup.claims import describe_probes
    from alita_mcp.cli.setup.prepare import describe_embedded
    from alita_mcp.server.transports.local.servers import describe_server

    lines = [f"alita {findings['alita']}, Python {findings['python']}, {findings['platform']}", ""]
    lines += [line for report in reports for line in describe_probes(report)]
    chosen = findings["sandbox"]["chosen"]
    lines.append(
        f"Tools run in: {chosen or 'none; no sandbox isolates here, so no tool can be made or called'}"
    )
    lines += [describe_embedded(findings["embedded"]), ""]
    for name, extra in findings["extras"].items():
        if name == "all":
            lines.append(f"    → all missing extras: {extra['command']}")
        elif extra["here"]:
            lines.append(f"✓ extra {name}: {extra['for']}")
        else:
            lines.append(f"- extra {name} is not here ({extra['problem']}): {extra['for']}")
            lines.append(f"    → {extra['command']}")
    library = findings["library"]
    lines.append("")
    if "problem" in library:
        lines.append(f"✗ library {library['problem']}")
    else:
        states = ", ".join(f"{count} {state}" for state, count in library["states"].items())
        lines.append(
            f"✓ library {library['home']}: {library['tools']} tools{f' ({states})' if states else ''}"
        )
        if library["rebuilt"]:
            lines.append("  {at}: {report}".format(**library["rebuilt"]))
        lines += [f"  removed {name}" for name in library["removed"]]
        lines += [f"  {name} ({what}) is not used any more" for name, what in library["leftovers"].items()]
        if library["leftovers"]:
            lines.append("    → alita doctor --clean removes it")
    lines.append(findings["http"])
    lines += [f"  {line}" for server in findings["servers"] for line in describe_server(server)]
    model = findings["model"] or "none; the connected agent writes the code"
    lines.append(f"  policy {findings['policy']}, model {model}")
    lines += [
        f"✗ {sentence}" for sentence in (*findings["unknown_settings"], findings["open_files"]) if sentence
    ]
    return lines
