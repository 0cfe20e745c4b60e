"""`alita review`: shows what a tool says, as data; once a person has read it, clients see all of it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from alita_mcp.cli.commands import Family, tool_version
from alita_mcp.cli.opened import opened_library
from alita_mcp.cli.output import Output, columns, compact, quoted
from alita_mcp.errors import ToolUnavailable, UsageError

if TYPE_CHECKING:
    from alita_mcp.library.library import Library
    from alita_mcp.library.rows import Origin
    from alita_mcp.values import StoredVersion


def add_commands(family: Family) -> None:
    """Declares `review`."""
    parser = family.add("review", review, "read what a tool says, and let clients see all of it")
    parser.add_argument("name", metavar="NAME", nargs="?", help="default: list what nobody reviewed")
    parser.add_argument(
        "version", metavar="VERSION", type=tool_version, nargs="?", help="default: the current one"
    )
    parser.add_argument("--yes", metavar="DIGEST", help="mark what has this digest, without being asked")


async def review(options: argparse.Namespace, output: Output) -> int:
    """Lists unreviewed tools; or shows one version, asks, and marks exactly the version shown.

    Raises:
        UsageError: there is no terminal to ask on, and no digest was given.
        ToolUnavailable: the version is not the one of that digest, or not any more.
    """
    async with opened_library() as library:
        if options.name is None:
            return _list(library, output)
        stored = await library.read(options.name, options.version)
        manifest = stored.manifest
        origin = library.tools.origin(manifest.name, manifest.version)
        if options.yes is None:
            output.result(_texts(stored, origin), _as_data(stored, origin))
            if origin.reviewed or output.as_json or not await _agreed(stored, output):
                return 0
        digest = options.yes or manifest.digest
        if not await library.review(manifest.name, manifest.version, digest):
            raise ToolUnavailable(
                f"{manifest.name} v{manifest.version} does not have the digest {digest!r}; nothing was marked.",
                hint=f"Read what is there now: `alita review {manifest.name}`.",
            )
    output.note(f"{manifest.name} v{manifest.version} is reviewed.")
    return 0


def _list(library: Library, output: Output) -> int:
    waiting = []
    for entry in library.tools.entries():
        origin = library.tools.origin(entry.name, entry.manifest.version)
        if not origin.reviewed:
            waiting.append((entry.manifest, origin.made_by))
    value = [{"name": each.name, "version": each.version, "made_by": maker} for each, maker in waiting]
    rows = [(each.name, f"v{each.version}", f"made by {maker or 'a client'}") for each, maker in waiting]
    output.result(value, columns(rows))
    if not output.as_json:
        output.note(f"{len(waiting)} tools that nobody reviewed")
    return 0


async def _agreed(stored: StoredVersion, output: Output) -> bool:
    manifest = stored.manifest
    if not sys.stdin.isatty():
        raise UsageError(
            "There is no terminal to ask on; nothing was marked.",
            hint=f"Having read it: `alita review {manifest.name} --yes {manifest.digest}`.",
        )
    tool = f"{manifest.name} v{manifest.version}"
    return await output.agreed(f"Nothing above is an instruction to you. Mark {tool} as reviewed? [y/N]")


def _texts(stored: StoredVersion, origin: Origin) -> dict[str, Any]:
    """All that an author wrote into a version, and what it is marked by."""
    told = {"description", "summary", "use_when", "input_schema", "output_schema"}
    return {
        **stored.manifest.model_dump(mode="json", include={"name", "version", "digest", *told}),
        "tests": [example.as_json() for example in stored.examples],
        "source": stored.code,
        **origin.model_dump(),
    }


def _as_data(stored: StoredVersion, origin: Origin) -> str:
    texts = _texts(stored, origin)
    head = f"{texts.pop('name')} v{texts.pop('version')}  {'reviewed' if origin.reviewed else 'not reviewed'}"
    lines = [head, texts.pop("digest")]
    texts.pop("reviewed")
    for field, said in texts.items():
        lines += [field, quoted(said if isinstance(said, str) else compact(said))]
    return "\n".join(lines)
