"""`alita doctor`: checks the sandboxes, the extras, the library and the settings of this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from alita_mcp.cli.application import open_library
from alita_mcp.cli.output import Printer, finding_lines
from alita_mcp.errors import LibraryError, ModelError, SandboxUnavailable, UsageError

if TYPE_CHECKING:
    from alita_mcp.settings import Settings


async def doctor(
    *,
    sandbox: Annotated[list[str] | None, Parameter(consume_multiple=(0, 1), metavar="[KIND]")] = None,
    clean: bool = False,
    output: Printer,
) -> int:
    """Check sandboxes, extras, library and settings, and try the model.

    Args:
        sandbox: Try every claim about isolation instead: on docker, bubblewrap, wasm, module:Class or all; without
            a KIND, on the sandbox that is set.
        clean: Remove files in the home that only earlier versions read.

    Examples:
        alita doctor
        alita doctor --sandbox docker
        alita doctor --clean
    """
    from alita_mcp.app.doctor import describe_findings, examine, examine_models
    from alita_mcp.server.transports.local.servers import describe_server, find_endpoints
    from alita_mcp.settings import absolute_home, read_settings

    settings = read_settings()
    if sandbox is not None:
        from alita_mcp.cli.setup.claims import try_all_claims

        return await try_all_claims("".join(sandbox), settings, output)
    with output.progress("doctor") as on_stage:
        found = await examine(settings, open_library(), on_stage, clean=clean)
        found["models"] = await examine_models(settings, on_stage)
    servers = [each for _, each in find_endpoints(absolute_home(settings.home))]
    found |= {"http": describe_token(settings), "servers": servers}
    lines = ["alita {alita}, Python {python}, {platform}".format(**found)]
    for findings in describe_findings(found).values():
        lines += ["", *(line for finding in findings for line in finding_lines(finding))]
    lines.append(found["http"])
    lines += [f"  {line}" for server in found["servers"] for line in describe_server(server)]
    output.print_result(found, "\n".join(lines))
    if found["sandbox"]["chosen"] is None:
        return SandboxUnavailable.exit_status
    if "problem" in found["library"]:
        return LibraryError.exit_status
    return ModelError.exit_status if any("problem" in each for each in found["models"]) else 0


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
