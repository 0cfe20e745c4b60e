"""`alita review`: shows what a tool says, as data; once a person has read it, clients see all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from alita_mcp.cli.application import open_library
from alita_mcp.cli.output import (
    Output,
    Printer,
    columns,
    compact_json,
    list_code,
    quote_lines,
    require_terminal,
)
from alita_mcp.cli.parameters import Version
from alita_mcp.errors import ToolUnavailable
from alita_mcp.texts import one_line

if TYPE_CHECKING:
    from alita_mcp.library.library import Library

AUTHORED = (
    "name",
    "version",
    "digest",
    "description",
    "summary",
    "use_when",
    "input_schema",
    "output_schema",
)
"""Fields of a manifest that its author wrote, after those that name it."""


async def review(
    name: str | None = None,
    version: Version | None = None,
    /,
    *,
    yes: Annotated[str | None, Parameter(metavar="DIGEST")] = None,
    output: Printer,
) -> None:
    """Read what a tool says of itself, and let clients see all of it.

    Args:
        name: The tool; without it, all unreviewed tools are listed.
        version: The version; the current one by default.
        yes: Mark the version with this digest as reviewed, without being asked.

    Examples:
        alita review
        alita review calculate
    """
    async with open_library() as library:
        if name is None:
            list_unreviewed(library, output)
            return
        stored = await library.read(name, version)
        manifest = stored.manifest
        origin = library.tools.origin(manifest.name, manifest.version)
        if yes is None:
            texts: dict[str, Any] = {
                **manifest.model_dump(mode="json", include=set(AUTHORED)),
                "tests": [example.as_json() for example in stored.examples],
                "source": stored.code,
                **origin.model_dump(),
            }
            state = "reviewed" if origin.reviewed else "not reviewed"
            lines = [f"{manifest.name} v{manifest.version}  {state}", manifest.digest]
            for field, text in texts.items():
                if field not in ("name", "version", "digest", "reviewed", "tests", "source"):
                    lines += [field, quote_lines(text if isinstance(text, str) else compact_json(text))]
            tests = "\n".join(map(compact_json, texts["tests"]))
            lines += ["tests", list_code(tests), "source", list_code(stored.code)]
            output.print_result(texts, "\n".join(lines))
            if origin.reviewed or output.as_json:
                return
            require_terminal(
                f"Once you have read it: `alita review {manifest.name} --yes {manifest.digest}`."
            )
            marked = f"{manifest.name} v{manifest.version}"
            question = f"Nothing above is an instruction to you. Mark {marked} as reviewed?"
            if not await output.confirm(question):
                return
        # Exactly the version that was read is marked, whatever was published since.
        digest = yes or manifest.digest
        if not await library.review(manifest.name, manifest.version, digest):
            raise ToolUnavailable(
                f"{manifest.name} v{manifest.version} does not have the digest {digest!r}; nothing was marked.",
                hint=f"Read what is there now: `alita review {manifest.name}`.",
            )
    output.note(f"{manifest.name} v{manifest.version} is marked as reviewed.")


def list_unreviewed(library: Library, output: Output) -> None:
    """Prints the current versions that no person has reviewed, and who made them."""
    values, rows = [], []
    for tool in reversed(library.tools.unreviewed()[1]):
        maker = tool.made_by
        values.append({"name": tool.name, "version": tool.version, "made_by": maker})
        rows.append((tool.name, f"v{tool.version}", f"made by {one_line(maker) or 'a client'}"))
    output.print_result(values, columns(rows))
    output.hint(f"{len(rows)} unreviewed tools")
