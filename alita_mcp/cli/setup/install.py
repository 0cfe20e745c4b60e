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

    Examples:
        alita install cursor
        alita install --all --dry-run
        alita install claude-desktop --env GITHUB_TOKEN=...
        alita install cursor --http 127.0.0.1:8765
    """
    from alita_mcp.clients.changes import plan_install
    from alita_mcp.server.transports.guard import in_brackets
    from alita_mcp.server.transports.http_token import TOKEN_FILE, ensure_token
    from alita_mcp.settings import read_settings

    settings = read_settings()
    launch = launch_command(uvx=uvx, extra=read_variables(env or ()))
    if http and env:
        raise UsageError(
            "--env sets variables of a server that the client starts; with --http it starts none.",
            hint="Set them where `alita serve` starts.",
        )

    def plan(known: Client) -> Change:
        if not (file or dry_run or known.is_here()):
            program = known.program or known.name
            raise UsageError(
                f"{known.title} is not on this machine: there is no {known.home()} and no `{program}` on PATH.",
                hint=f"`--file {known.usual_file()}` makes it all the same.",
            )
        if http is None:
            return plan_install(known, launch, file)
        # A dry run makes no token.
        token = known.reference or ("TOKEN" if dry_run else ensure_token(settings))
        return plan_install(known, Remote(f"http://{in_brackets(http[0])}:{http[1]}/mcp", token), file)

    clients = choose_clients(client, output, every=every, file=file, also_projects=False)
    status = print_changes(change_clients(clients, plan, every=every, dry_run=dry_run), every, output)
    if http is None and launch.env:
        output.hint(f"Carried over to the client: {', '.join(launch.env)}.")
    if http is not None and any(known.reference for known in clients):
        where = "" if settings.token else f", which the server keeps in {settings.home / TOKEN_FILE}"
        output.hint(f"Start the client with ALITA_TOKEN set to the token{where}.")
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

    clients = choose_clients(client, output, every=every, file=file, also_projects=True)
    found = change_clients(clients, lambda known: plan_uninstall(known, file), every=every, dry_run=dry_run)
    return print_changes(found, every, output)


def choose_clients(
    client: str | None, output: Output, *, every: bool, file: Path | None, also_projects: bool
) -> list[Client]:
    """The client that is named, or all on this machine."""
    here = [each for each in CLIENTS.values() if each.is_here()]
    if (client is None) is not every or (every and file):
        found = ", ".join(each.name for each in here) or "none that is known"
        raise UsageError(
            "Name one client, or --all; --file goes with one client.", hint=f"On this machine: {found}."
        )
    if client:
        return [CLIENTS[client]]
    if not here:
        raise UsageError("No client was found on this machine.", hint=f"Known: {', '.join(CLIENTS)}.")
    for each in here:
        if each.is_project_file and not also_projects:
            output.hint(f"{each.title}: its file is a project's: run `alita install {each.name}` there.")
    return [each for each in here if also_projects or not each.is_project_file]


def change_clients(
    clients: Iterable[Client],
    plan: Callable[[Client], Change],
    *,
    every: bool = True,
    dry_run: bool = False,
    agrees: Callable[[Change], bool] = lambda _: True,
) -> list[dict[str, Any]]:
    """Plans and writes the changes of clients; with `every`, one that fails does not keep back the others."""
    from alita_mcp.clients.changes import apply_change
    from alita_mcp.clients.skills import apply_own_files, plan_own_files

    found: list[dict[str, Any]] = []
    for known in clients:
        try:
            change = plan(known)
            if not agrees(change):
                continue
            own_files = plan_own_files(change)
            backup = None if dry_run else apply_change(change)
            apply_own_files({} if dry_run else own_files)
        except AlitaError as failed:
            if not every:
                raise
            said = {"error": str(failed), "status": failed.exit_status, "text": f"✗ {known.title}: {failed}"}
            found.append({"client": known.name, "state": "failed", **said})
            continue
        verb = "removed" if change.after is None else "made" if change.before is None else "changed"
        state = f"{'would be' if dry_run else 'is'} {verb}" if change.is_change else "is unchanged"
        link = "" if change.file == change.target else f", a link to {change.target},"
        kept = f" (backup: {backup})" if backup else ""
        lines = [f"{known.title}: {change.file}{link} {state}{kept}."]
        if change.entry is None:
            ends = "The client goes on with the server until it is restarted."
            lines.append(ends if change.is_change else "It has no entry of this server.")
        else:
            lines.append(known.afterwards)
            if change.entry.get("disabled") or change.entry.get("enabled") is False:
                lines.append("The entry is switched off in the file, and stays so.")
        if own_files:
            files = ", ".join(map(str, own_files))
            lines.append(f"{'Without' if change.entry is None else 'With'} it: {files}.")
        found.append({
            "client": known.name, "file": change.file, "target": change.target, "state": state, "backup": backup,
            "difference": change.difference(), "own_files": [*own_files], "text": " ".join(lines),
        })  # fmt: skip
    return found


def print_changes(found: list[dict[str, Any]], every: bool, output: Output) -> int:
    """Shows what became of clients; returns the exit status of the first that failed, or 0."""
    texts = [f"{each.get('difference', '')}\n{each['text']}".lstrip() for each in found]
    output.print_result(found if every else found[0], "\n\n".join(texts))
    return next((each["status"] for each in found if each["state"] == "failed"), 0)


def launch_command(*, uvx: bool = False, extra: Mapping[str, str] | None = None) -> Launch:
    """How a client is to start the server: absolute paths, for clients give their children hardly any PATH.

    The settings of this process's environment go along, and `extra`; keys do not, unless `extra` holds them.
    """
    from alita_mcp.settings import settings_in_environment

    env = {**settings_in_environment(), **(extra or {})}
    if uvx:
        return Launch(shutil.which("uvx") or "uvx", (PACKAGE,), env)
    return Launch(sys.executable, ("-P", "-m", ENTRY_POINT), env)


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
