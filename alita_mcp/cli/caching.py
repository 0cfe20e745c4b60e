"""`alita tool cache`: shows and clears the kept results of deterministic tools, and switches keeping on or off."""

from __future__ import annotations

import argparse

from alita_mcp.cli.commands import Family
from alita_mcp.cli.opened import opened_library
from alita_mcp.cli.output import Output
from alita_mcp.errors import UsageError


def add_actions(tool: Family) -> None:
    """Declares `tool cache`."""
    parser = tool.add("cache", cache, "keep results of deterministic tools, or forget them")
    parser.add_argument(
        "action",
        choices=["show", "on", "off", "clear"],
        nargs="?",
        default="show",
        help="on, off: keep results of tool NAME or not; clear: forget those of NAME, or all",
    )
    parser.add_argument("name", metavar="NAME", nargs="?")


async def cache(options: argparse.Namespace, output: Output) -> int:
    """Changes or shows what is kept; other processes follow within a second."""
    from alita_mcp.library.results import MAX_BYTES, open_result_cache
    from alita_mcp.settings import read_settings

    settings, name = read_settings(), options.name
    if name is None and options.action in ("on", "off"):
        raise UsageError(f"alita tool cache {options.action} needs the name of a tool.")
    async with opened_library(settings) as library, open_result_cache(settings) as results:
        if options.action in ("on", "off"):
            await library.set_caching(name, on=options.action == "on")
        elif name is not None:
            library.entry(name)
        removed = 0
        if options.action in ("off", "clear"):
            removed = await results.clear(name)
        entries, size = await results.size()
        off = library.tools.uncached()
    now = {"kept": entries, "bytes": size, "limit_mb": MAX_BYTES >> 20, "removed": removed, "off": off}
    words = [f"{entries} results kept, {size:,} bytes of {MAX_BYTES >> 20} MB."]
    if removed:
        words.append(f"{removed} forgotten.")
    if off:
        words.append(f"Off for {', '.join(off)}.")
    output.result(now, " ".join(words))
    return 0
