"""`alita status`, which is `alita` alone too: how things stand, and what to do next."""

from __future__ import annotations

from typing import Any

from alita_mcp.cli.application import open_library
from alita_mcp.cli.output import Printer, columns
from alita_mcp.sandbox.wasm.embedded import find_embedded


async def status(*, output: Printer) -> None:
    """Show how things stand, and what to do next.

    Examples:
        alita
        alita status --json
    """
    from alita_mcp.server.transports.local.servers import describe_server, find_endpoints
    from alita_mcp.settings import absolute_home, read_settings

    settings = read_settings()
    value: dict[str, Any] = {"home": str(settings.home), "is_set_up": settings.home.exists()}
    if not value["is_set_up"]:
        lines = [f"Nothing is set up yet: there is no library in {settings.home}."]
        steps = [
            ("alita setup", "set up a model, your clients and the sandbox"),
            ("alita demo", "watch a tool being made, proved and used"),
        ]
    else:
        async with open_library() as library:
            states = library.tools.counts()
            waiting = [each.manifest.name for each in library.waiting_versions()]
        embedded = await find_embedded()
        value |= {"tools": sum(states.values()), "states": states, "sandbox": settings.sandbox}
        value |= {"embedded_is_compiled": embedded["compiled"], "model": settings.model}
        value["servers"] = [each for _, each in find_endpoints(absolute_home(settings.home))]
        counts = ", ".join(f"{count} {state}" for state, count in states.items() if state != "enabled")
        compiled = (
            "embedded Python is compiled" if embedded["compiled"] else "embedded Python is not compiled yet"
        )
        lines = [
            f"library  {settings.home}: {value['tools']} tools{f' ({counts})' if counts else ''}",
            f"sandbox  {settings.sandbox}; {compiled}",
            f"model    {settings.model or 'none; the connected agent writes the code'}",
            *(line for server in value["servers"] for line in describe_server(server)),
        ]
        steps = [("alita search WORDS", "find a tool"), ("alita install CLIENT", "connect a client")]
        if waiting:
            steps.insert(
                0, (f"alita approve {waiting[0]}", "grant what it asks for, so that it can be called")
            )
        if not embedded["compiled"]:
            steps.append(("alita prepare", "make the sandbox ready before the first call"))
        steps.append(("alita doctor", "check sandboxes, extras, library and settings"))
    steps.append(("alita --help", "all commands"))
    value["next"] = [{"command": command, "what_for": purpose} for command, purpose in steps]
    next_steps = columns([(f"  {command}", purpose) for command, purpose in steps])
    output.print_result(value, "\n".join([*lines, "", "Next:", next_steps]))
