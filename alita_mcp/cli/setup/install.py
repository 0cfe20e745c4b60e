"""`alita install` and `alita uninstall`: put the server into clients' configuration files, and take it out."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from alita_mcp.cli.output import Output, Printer
from alita_mcp.cli.server import Address
from alita_mcp.clients.table import CLIENTS, Client, Launch, Remote
from alita_mcp.errors import AlitaError, UsageError

if TYPE_CHECKING:
    from alita_mcp.clients.changes import Change
    from alita_mcp.settings import Settings

PACKAGE = "alita-mcp-server"
ENTRY_POINT = "alita_mcp.server.transports.entry"

ClientName = Annotated[str | None, Parameter(choices=(*CLIENTS,))]
All = Annotated[bool, Parameter(name="--all")]


def install(
    client: ClientName = None,
    /,
    *,
    every: All = False,
    http: Address | None = None,
    env: list[str] | None = None,
    dry_run: bool = False,
    file: Path | None = None,
    uvx: bool = False,
    write: Annotated[bool, Parameter(show=False)] = False,  # noqa: ARG001 - what 0.1.0 needed
    output: Printer,
) -> int | None:
    """Connect a client: put this server into its configuration.

    Comments, order and all else in the file stay as they are, and a copy of it is kept beside it.

    Args:
        client: The client that is to start the server.
        every: All clients on this machine whose file is the person's, not a project's.
        http: Connect to the server that `alita serve --http` runs at this address, with its token.
        env: NAME=VALUE, a variable that the client sets for the server; may be repeated.
        dry_run: Show what would change, and write nothing.
        file: Another file than the client's usual one, or that one where the client is not on this machine.
        uvx: Start the server with `uvx alita-mcp-server` instead of this installation.
        write: As is done anyway; 0.1.0 needed it.

    Examples:
        alita install cursor
        alita install --all --dry-run
        alita install claude-desktop --env GITHUB_TOKEN=...
        alita install cursor --http 127.0.0.1:8765
    """
    from alita_mcp.clients.changes import plan_install
    from alita_mcp.settings import read_settings

    settings = read_settings()
    launch = launch_command(uvx=uvx, extra=read_variables(env or ()))
    if http and env:
        raise UsageError(
            "--env sets variables of a server that the client starts; with --http it starts none.",
            hint="Set them where `alita serve` starts.",
        )

    def plan(name: str, known: Client) -> Change:
        if not (file or dry_run or known.is_here()):
            program = f" and no `{known.program}` on PATH" if known.program else ""
            raise UsageError(
                f"{known.title} is not on this machine: there is no {known.home()}{program}.",
                hint=f"`--file {known.usual_file()}` makes it all the same.",
            )
        server = launch if http is None else remote_server(settings, known, http, dry_run=dry_run)
        return plan_install(name, known, server, file)

    def explain(change: Change) -> str:
        lines = [change.client.afterwards]
        if http is not None and change.client.reference:
            lines.append(f"Start it with ALITA_TOKEN set to the token{token_place(settings)}.")
        elif http is not None and dry_run:
            lines.append(f"TOKEN stands for the token{token_place(settings)}.")
        if change.entry.get("disabled") or change.entry.get("enabled") is False:
            lines.append("The entry is switched off in the file, and stays so.")
        return " ".join(lines)

    names = choose_clients(client, output, every=every, file=file, also_projects=False)
    status = print_changes(change_clients(names, plan, explain, every=every, dry_run=dry_run), every, output)
    if http is None and launch.env:
        output.hint(f"Carried over to the client: {', '.join(launch.env)}.")
    return status


def uninstall(
    client: ClientName = None,
    /,
    *,
    every: All = False,
    dry_run: bool = False,
    file: Path | None = None,
    output: Printer,
) -> int | None:
    """Take this server out of a client's configuration.

    All else in the file stays byte for byte; one that holds nothing else goes.

    Args:
        client: The client.
        every: All clients on this machine.
        dry_run: Show what would change, and write nothing.
        file: Another file than the client's usual one.

    Examples:
        alita uninstall cursor
        alita uninstall --all
    """
    from alita_mcp.clients.changes import plan_uninstall

    def plan(name: str, known: Client) -> Change:
        return plan_uninstall(name, known, file)

    def explain(change: Change) -> str:
        ends = "The client goes on with the server until it is restarted."
        return ends if change.is_change else "It has no entry of this server."

    names = choose_clients(client, output, every=every, file=file, also_projects=True)
    changes = change_clients(names, plan, explain, every=every, dry_run=dry_run, remove=True)
    return print_changes(changes, every, output)


def choose_clients(
    client: str | None, output: Output, *, every: bool, file: Path | None, also_projects: bool
) -> list[str]:
    """The client that is named, or all on this machine."""
    from alita_mcp.clients.changes import find_clients

    here = find_clients()
    if (client is None) is not every or (every and file):
        found = ", ".join(each.name for each in here) or "none that is known"
        raise UsageError(
            "Name one client, or --all; --file goes with one client.", hint=f"On this machine: {found}."
        )
    if client:
        return [client]
    if not here:
        raise UsageError("No client was found on this machine.", hint=f"Known: {', '.join(CLIENTS)}.")
    for each in here:
        if each.is_project_file and not also_projects:
            output.hint(f"{each.title}: its file is a project's: run `alita install {each.name}` there.")
    return [each.name for each in here if also_projects or not each.is_project_file]


def change_clients(
    names: Iterable[str],
    plan: Callable[[str, Client], Change],
    explain: Callable[[Change], str],
    *,
    every: bool = True,
    dry_run: bool = False,
    remove: bool = False,
    agrees: Callable[[Change], bool] = lambda _: True,
) -> list[dict[str, Any]]:
    """Plans and writes the changes of clients; with `every`, one that fails does not keep back the others."""
    from alita_mcp.clients.changes import apply_change
    from alita_mcp.clients.skills import apply_own_files, plan_own_files

    found: list[dict[str, Any]] = []
    for name in names:
        known = CLIENTS[name]
        try:
            change = plan(name, known)
            if not agrees(change):
                continue
            own_files = plan_own_files(change, remove=remove)
            backup = None if dry_run else apply_change(change)
            apply_own_files({} if dry_run else own_files)
        except AlitaError as failed:
            if not every:
                raise
            said = {"client": name, "state": "failed", "error": str(failed), "status": failed.exit_status}
            found.append({**said, "text": f"✗ {known.title}: {failed}"})
            continue
        state = describe_state(change, dry_run=dry_run)
        link = "" if change.file == change.target else f", a link to {change.target},"
        kept = f" (backup: {backup})" if backup else ""
        text = f"{known.title}: {change.file}{link} {state}{kept}. {explain(change)}".strip()
        paths = [str(file) for file in own_files]
        if paths:
            text += f" {'Without' if remove else 'With'} it: {', '.join(paths)}."
        found.append({
            "client": name, "file": str(change.file), "target": str(change.target), "state": state,
            "backup": str(backup) if backup else None, "difference": change.difference(), "own_files": paths,
            "text": text,
        })  # fmt: skip
    return found


def print_changes(found: list[dict[str, Any]], every: bool, output: Output) -> int:
    """Shows what became of clients; returns the exit status of the first that failed, or 0."""
    texts = [f"{each.get('difference', '')}\n{each['text']}".lstrip() for each in found]
    output.print_result(found if every else found[0], "\n\n".join(texts))
    return next((each["status"] for each in found if each["state"] == "failed"), 0)


def describe_state(change: Change, *, dry_run: bool) -> str:
    """What became of the file, or would."""
    if not change.is_change:
        return "is unchanged"
    verb = "removed" if change.after is None else "made" if change.before is None else "changed"
    return f"would be {verb}" if dry_run else f"is {verb}"


def launch_command(*, uvx: bool = False, extra: Mapping[str, str] | None = None) -> Launch:
    """How a client is to start the server: absolute paths, for clients give their children hardly any PATH.

    The settings of this process's environment go along, and `extra`; keys do not, unless `extra` holds them.
    """
    from alita_mcp.settings import settings_in_environment

    env = {**settings_in_environment(), **(extra or {})}
    if uvx:
        return Launch(shutil.which("uvx") or "uvx", (PACKAGE,), env)
    return Launch(sys.executable, ("-P", "-m", ENTRY_POINT), env)


def remote_server(settings: Settings, client: Client, address: tuple[str, int], *, dry_run: bool) -> Remote:
    """A server at an address, with the token as the client's file is to hold it.

    1. Codex, and clients whose file belongs to a project, read the token from the environment.
    2. The file of any other holds it; a dry run neither shows one nor makes one.
    """
    from alita_mcp.server.transports.guard import in_brackets
    from alita_mcp.server.transports.http_token import ensure_token

    url = f"http://{in_brackets(address[0])}:{address[1]}/mcp"
    return Remote(url, client.reference or ("TOKEN" if dry_run else ensure_token(settings)))


def token_place(settings: Settings) -> str:
    """Where a person finds the token of the HTTP server."""
    from alita_mcp.server.transports.http_token import TOKEN_FILE

    return "" if settings.token else f", which the server keeps in {settings.home / TOKEN_FILE}"


def read_variables(given: Iterable[str]) -> dict[str, str]:
    """The variables written as NAME=VALUE.

    Raises:
        UsageError: one is not; the message does not hold its value.
    """
    variables = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not (equals and name.isidentifier() and name.isascii() and value.isprintable()):
            raise UsageError(f"Invalid --env {name[:40]!r}: expected NAME=VALUE, all on one line.")
        variables[name] = value
    return variables
