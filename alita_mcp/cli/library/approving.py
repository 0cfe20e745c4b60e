"""`alita approve`: shows one version and what it asks for, and grants it that, or a part of it."""

from __future__ import annotations

import argparse
from difflib import unified_diff
from typing import TYPE_CHECKING

from alita_mcp.cli.commands import Family
from alita_mcp.cli.library.cards import version_text
from alita_mcp.cli.library.code_approving import approve_code
from alita_mcp.cli.library.keeping import tell
from alita_mcp.cli.opened import opened_library
from alita_mcp.cli.output import Output, require_terminal
from alita_mcp.library.grants.approving import approved_last, difference, version_to_approve
from alita_mcp.library.grants.grants_file import read_grants
from alita_mcp.values import Grants, StoredVersion

if TYPE_CHECKING:
    from alita_mcp.library.library import Library


def add_commands(family: Family) -> None:
    """Declares the command."""
    parser = family.add("approve", approve, "grant one version of a tool what it asks for")
    parser.add_argument("name", metavar="NAME", help="a tool, or with --code the number of code that asked")
    parser.add_argument(
        "--code", action="store_true", help="NAME is the number of code that asked in run_code"
    )
    parser.add_argument(
        "digest",
        metavar="DIGEST",
        nargs="?",
        help="of the version, as `alita show` has it; else you are asked",
    )
    part = parser.add_argument_group("a part of what it asks for")
    part.add_argument("--network", nargs="+", metavar="HOST", default=())
    part.add_argument("--workspace", choices=("read", "write"), default="none")
    part.add_argument("--model", action="store_true")
    part.add_argument("--tools", nargs="+", metavar="NAME", default=())
    part.add_argument("--secrets", nargs="+", metavar="NAME", default=())


async def approve(options: argparse.Namespace, output: Output) -> int:
    """Grants nothing but what was looked at: by the digest that is given, or by what is shown on the terminal."""
    asked = read_grants({field: getattr(options, field) for field in Grants.model_fields})
    name, digest, part = options.name, options.digest, None if asked.is_pure else asked
    if options.code:
        return await approve_code(name, digest, part, output)
    async with opened_library() as library:
        stored = await version_to_approve(library, name, digest)
        current = library.entry(name).manifest.version
        asks = digest is None and not stored.manifest.grants.is_pure
        if asks and not await _agreed(stored, part, library, output):
            output.note("Nothing was approved.")
            return 1
        seen, source = (current, "terminal") if digest is None else (None, "digest")
        digest, origin = stored.manifest.digest, {"from": source}
        tell(await library.approve(name, digest, part=part, seen=seen, origin=origin), output)
    return 0


async def _agreed(stored: StoredVersion, part: Grants | None, library: Library, output: Output) -> bool:
    """Whether a person at the terminal says yes to what is shown there."""
    name, manifest = stored.manifest.name, stored.manifest
    require_terminal(
        ", so the digest of the version has to be named.",
        f"Look at `alita show {name} {manifest.version}`, then: alita approve {name} DIGEST",
    )
    before = await approved_last(library, name)
    output.note(f"{name} v{manifest.version}  {manifest.digest}")
    output.note(
        f"compared with v{before.manifest.version}, approved last:" if before else "never approved before:"
    )
    for line in difference(manifest, before.manifest if before else None):
        output.note(f"  {line}")
    old, new = (version_text(each).splitlines() if each else [] for each in (before, stored))
    was = "approved last" if before else "nothing"
    for line in unified_diff(old, new, was, f"v{manifest.version}", lineterm=""):
        output.note(line)
    what = "this part of it" if part is not None else "all that it asks for"
    return await output.agreed(f"Approve {what} for v{manifest.version}? [y/N] ")
