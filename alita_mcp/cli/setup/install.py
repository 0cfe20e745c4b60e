"""`alita install`: prints or writes the configuration of a client."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from alita_mcp.cli.output import Printer
from alita_mcp.cli.server import Address
from alita_mcp.cli.setup.clients import CLIENTS, CODEX_AFTERWARDS, KEY, Client, Launch, Remote, codex_toml
from alita_mcp.errors import UsageError

if TYPE_CHECKING:
    from alita_mcp.settings import Settings

PACKAGE = "alita-mcp-server"
ENTRY_POINT = "alita_mcp.server.transports.entry"


def install(
    client: Annotated[str, Parameter(choices=(*CLIENTS, "codex"))],
    /,
    *,
    write: bool = False,
    file: Path | None = None,
    uvx: bool = False,
    http: Address | None = None,
    output: Printer,
) -> None:
    """Print or write the configuration that a client needs.

    Args:
        client: The client that is to start the server.
        write: Merge the entry into the client's file, and keep a backup.
        file: Another file than the client's usual one.
        uvx: Start the server with `uvx alita-mcp-server` instead of this installation.
        http: Connect to the server that `alita serve --http` runs at this address, with its token.

    Examples:
        alita install cursor
        alita install claude-desktop --write
        alita install cursor --http 127.0.0.1:8765 --write
    """
    from alita_mcp.settings import read_settings

    settings = read_settings()
    server: Launch | Remote = launch_command(settings, uvx=uvx)
    known = CLIENTS.get(client)
    advice = known.afterwards if known else CODEX_AFTERWARDS
    if http is not None:
        from alita_mcp.server.transports.guard import in_brackets
        from alita_mcp.server.transports.http_token import TOKEN_FILE, ensure_token

        url = f"http://{in_brackets(http[0])}:{http[1]}/mcp"
        where = "" if settings.token else f", which the server keeps in {settings.home / TOKEN_FILE}"
        # 1. Codex, and clients whose file belongs to a project, read the token from the environment.
        # 2. The file of any other holds it. What is printed never does.
        reference = known.reference if known else "ALITA_TOKEN"
        server = Remote(url, reference or (ensure_token(settings) if write else "TOKEN"))
        if reference:
            advice += f" Start it with ALITA_TOKEN set to the token{where}."
        elif not write:
            advice += f" TOKEN stands for the token{where}; --write puts it in."
    if known is None:
        if write:
            raise UsageError(
                "The configuration of Codex is TOML, which --write does not change.",
                hint="Paste what `alita install codex` prints.",
            )
        output.print_result({"toml": codex_toml(server)}, codex_toml(server))
        output.note(advice)
        return
    target = file or known.usual_file()
    if not write:
        document = known.document(server)
        output.print_result(document, json.dumps(document, indent=2))
        output.note(f"For {target}; --write merges it in. {advice}")
        return
    try:
        backup = merge_entry(target, known, server)
    except OSError as refused:
        raise UsageError(f"{target} cannot be written: {refused}.", hint="Nothing was changed.") from refused
    kept = f" (backup: {backup})" if backup else ""
    value = {"file": str(target), "backup": str(backup) if backup else None}
    output.print_result(value, f"{known.title}: {KEY!r} is in {target}{kept}. {advice}")


def launch_command(settings: Settings, *, uvx: bool = False) -> Launch:
    """How a client is to start the server: absolute paths, for clients give their children hardly any PATH."""
    env = {
        f"ALITA_{name.upper()}": str(getattr(settings, name))
        for name in ("home", "sandbox", "docker_image")
        if name in settings.model_fields_set
    }
    if uvx:
        return Launch(shutil.which("uvx") or "uvx", (PACKAGE,), env)
    return Launch(sys.executable, ("-m", ENTRY_POINT), env)


def merge_entry(file: Path, client: Client, server: Launch | Remote) -> Path | None:
    """Puts our entry into a client's file; all else in it stays, and so does a copy of the file.

    A file that holds a token is its owner's alone from then on, and so is the copy.

    Returns:
        The backup, or None when there was no file or it already says so.

    Raises:
        UsageError: the file is not a JSON object, or its servers are not, or the client takes no such server; nothing
            was written.
    """
    entry = client.entry_for(server)
    holds_token = isinstance(server, Remote) and not client.reference
    file = file.resolve()
    present = file.read_bytes() if file.exists() else None
    document = read_configuration(file, present)
    servers = document.setdefault(client.servers_key, {})
    if not isinstance(servers, dict):
        raise UsageError(
            f"{client.servers_key!r} in {file} is not a JSON object; nothing was written.",
            hint="Fix the file, then try again.",
        )
    if servers.get(KEY) == entry:
        return None
    servers[KEY] = entry
    backup = None
    if present is not None:
        stem = f"{file.name}.{time.strftime('%Y%m%d-%H%M%S')}"
        names = (f"{stem}{f'-{number}' if number else ''}.bak" for number in itertools.count())
        backup = next(path for name in names if not (path := file.with_name(name)).exists())
        replace_file(backup, present, mode_of=file, is_private=holds_token)
    file.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    replace_file(file, content.encode(), mode_of=file, is_private=holds_token)
    return backup


def read_configuration(file: Path, present: bytes | None) -> dict[str, Any]:
    """The JSON object in a client's file; an empty one where there is nothing.

    Raises:
        UsageError: it is not a JSON object.
    """
    if present is None or not present.strip():
        return {}
    hint = "Fix it, or paste the entry in by hand: `alita install` prints it without --write."
    try:
        document = json.loads(present.decode("utf-8-sig"))
    except (ValueError, RecursionError) as broken:
        raise UsageError(f"{file} is not valid JSON ({broken}); nothing was written.", hint=hint) from broken
    if not isinstance(document, dict):
        raise UsageError(f"{file} is not a JSON object; nothing was written.", hint=hint)
    return document


def replace_file(target: Path, content: bytes, *, mode_of: Path, is_private: bool) -> None:
    """Writes a file whole or not at all, as private as `mode_of` is, at least: such files hold servers' secrets."""
    aside = target.with_name(f".{target.name}.{os.getpid()}.new")
    mode = stat.S_IMODE(mode_of.stat().st_mode) if mode_of.exists() else 0o600
    mode = mode & 0o600 if is_private else mode
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    aside.replace(target)
