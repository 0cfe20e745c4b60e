"""`alita install`: prints or writes the configuration of a client."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import stat
import sys
import time
from pathlib import Path
from typing import Any

from alita_mcp.cli.commands import Family
from alita_mcp.cli.output import Output
from alita_mcp.cli.setting_up.clients import CLIENTS, CODEX_AFTERWARDS, KEY, Client, Launch, codex_toml
from alita_mcp.errors import UsageError
from alita_mcp.settings import Settings, read_settings

PACKAGE = "alita-mcp-server"


def add_commands(family: Family) -> None:
    """Declares `install`."""
    add = family.add("install", install, "print or write the configuration that a client needs").add_argument
    add("client", choices=[*CLIENTS, "codex"], metavar="CLIENT", help=", ".join([*CLIENTS, "codex"]))
    add("--write", action="store_true", help="merge it into the client's file, keeping a backup")
    add("--file", type=Path, help="another file than the client's usual one")
    add(
        "--uvx",
        action="store_true",
        help=f"start the server with `uvx {PACKAGE}` instead of this installation",
    )


def install(options: argparse.Namespace, output: Output) -> int:
    """Prints our entry in the client's own format, or merges it into the client's file."""
    launch = launch_of(read_settings(), uvx=options.uvx)
    if options.client == "codex":
        if options.write:
            raise UsageError(
                "Codex keeps TOML, which is not written here.",
                hint="Paste what `alita install codex` prints.",
            )
        output.result({"toml": codex_toml(launch)}, codex_toml(launch))
        output.note(CODEX_AFTERWARDS)
        return 0
    client = CLIENTS[options.client]
    file = options.file or client.file()
    if not options.write:
        document = client.document(launch)
        output.result(document, json.dumps(document, indent=2))
        output.note(f"For {file}; --write merges it in. {client.afterwards}")
        return 0
    try:
        backup = merge(file, client, launch)
    except OSError as refused:
        raise UsageError(f"{file} cannot be changed: {refused}.", hint="Nothing was written.") from refused
    told = {"file": str(file), "backup": str(backup) if backup else None}
    kept = f" (before: {backup})" if backup else ""
    output.result(told, f"{client.title}: {KEY!r} is in {file}{kept}. {client.afterwards}")
    return 0


def launch_of(settings: Settings, *, uvx: bool = False) -> Launch:
    """How a client is to start the server: absolute paths, for clients give their children hardly any PATH."""
    env = {
        f"ALITA_{name.upper()}": str(getattr(settings, name))
        for name in ("home", "sandbox", "docker_image")
        if name in settings.model_fields_set
    }
    if uvx:
        return Launch(shutil.which("uvx") or "uvx", (PACKAGE,), env)
    return Launch(sys.executable, ("-m", "alita_mcp.server.transports.entry"), env)


def merge(file: Path, client: Client, launch: Launch) -> Path | None:
    """Puts our entry into a client's file; all else in it stays, and so does a copy of the file.

    Returns:
        The backup, or None when there was no file or it already says so.

    Raises:
        UsageError: the file is no JSON object, or its servers are none; nothing was written.
    """
    file = file.resolve()
    present = file.read_bytes() if file.exists() else None
    document = _read_document(file, present)
    servers = document.setdefault(client.servers_key, {})
    if not isinstance(servers, dict):
        raise UsageError(
            f"{client.servers_key!r} in {file} is no JSON object.", hint="Mend the file, then try again."
        )
    entry = client.entry(launch)
    if servers.get(KEY) == entry:
        return None
    servers[KEY] = entry
    backup = None
    if present is not None:
        backup = _free_name(file)
        _write_aside(backup, present, file)
    file.parent.mkdir(parents=True, exist_ok=True)
    _write_aside(file, (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode(), file)
    return backup


def _free_name(file: Path) -> Path:
    """A backup's name that no earlier backup has."""
    stem = f"{file.name}.{time.strftime('%Y%m%d-%H%M%S')}"
    names = (f"{stem}{f'-{number}' if number else ''}.bak" for number in itertools.count())
    return next(path for name in names if not (path := file.with_name(name)).exists())


def _read_document(file: Path, present: bytes | None) -> dict[str, Any]:
    if present is None or not present.strip():
        return {}
    try:
        document = json.loads(present.decode("utf-8-sig"))
    except (ValueError, RecursionError) as broken:
        raise UsageError(
            f"{file} is not valid JSON ({broken}); nothing was written.",
            hint="Mend it, or paste the entry in by hand: `alita install` prints it without --write.",
        ) from broken
    if not isinstance(document, dict):
        raise UsageError(
            f"{file} holds no JSON object; nothing was written.", hint="Mend it, then try again."
        )
    return document


def _write_aside(target: Path, content: bytes, model: Path) -> None:
    """Writes whole or not at all, with the model file's permissions: such files hold other servers' secrets."""
    aside = target.with_name(f".{target.name}.{os.getpid()}.new")
    mode = stat.S_IMODE(model.stat().st_mode) if model.exists() else 0o600
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    aside.replace(target)
