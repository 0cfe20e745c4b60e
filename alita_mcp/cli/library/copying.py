"""`alita library copy`: a whole library from a home to PostgreSQL, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from cyclopts import Parameter

from alita_mcp.cli.output import Printer


async def copy(*, to: Annotated[str, Parameter(required=True)], output: Printer) -> None:
    """Copy the library to a database or, with ALITA_LIBRARY, to a new home; the source stays as it is.

    Args:
        to: `postgresql://…` of an empty database, or a new folder.

    Examples:
        alita library copy --to postgresql://alita@db.example/alita
        alita library copy --to ./home
    """
    import anyio

    from alita_mcp.library.copying import copy_library
    from alita_mcp.settings import read_settings

    settings = read_settings()
    copied = await anyio.to_thread.run_sync(copy_library, settings.home, settings.library_url, to)
    output.print_result(
        copied,
        f"{copied.tools} tools, {copied.versions} versions and {copied.journal} lines of the journal copied;"
        f" both sides have the digest {copied.digest}.",
    )


LIBRARY_ACTIONS: dict[str, Callable[..., Any]] = {"copy": copy}
"""The actions in the order of `alita library --help`."""
