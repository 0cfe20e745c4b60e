"""`alita approve` and `alita revoke`: what a version of a tool, or code of `run_code`, may do beyond computing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_mcp.cli.application import open_library
from alita_mcp.cli.output import Output, Printer, list_code, require_terminal
from alita_mcp.cli.parameters import Several
from alita_mcp.errors import AlitaError, UsageError
from alita_mcp.unseen import spell_hidden

if TYPE_CHECKING:
    from alita_mcp.library.library import Library
    from alita_mcp.library.rows import CatalogueEntry
    from alita_mcp.values import StoredVersion


async def approve(
    name: str,
    digest: str | None = None,
    /,
    *,
    code: bool = False,
    network: Several = None,
    output: Printer,
) -> None:
    """Grant one version of a tool what it asks for.

    Args:
        name: The tool; with --code the number of code that asked in run_code.
        digest: Digest of the version, as `alita show` prints it; without it you are shown the version and asked.
        code: Approve code of run_code instead of a tool.
        network: Of the hosts that it asks for, those it may reach; needed where it leaves them open.

    Examples:
        alita approve fetch_rates
        alita approve fetch_rates --network api.example.org
        alita approve --code 3
    """
    from alita_mcp.library.grants.approving import version_to_approve

    if code:
        if network:
            raise UsageError("Code is granted all that it asks for, or nothing.", hint="Leave --network out.")
        await approve_code(name, digest, output)
        return
    async with open_library() as library:
        stored = await version_to_approve(library, name, digest)
        manifest = stored.manifest
        current = library.entry(name).manifest.version
        # Only what was looked at is granted: the version of this digest, or the one that was shown and agreed to.
        if digest is None and not manifest.grants.is_pure:
            lines = await show_for_approval(library, stored, output)
            what = (
                f"what it asks for, with the hosts {', '.join(network)},"
                if network
                else "all that it asks for"
            )
            await require_consent(
                f"Approve {what} for v{manifest.version}, the {lines:,} lines above?", output
            )
        seen, source = (current, "terminal") if digest is None else (None, "digest")
        entry = await library.approve(
            name, manifest.digest, hosts=network or (), seen=seen, origin={"from": source}
        )
        print_entry(entry, output)


async def show_for_approval(library: Library, stored: StoredVersion, output: Output) -> int:
    """Prints what a version asks for, and how it differs from the one approved last; returns in how many lines.

    Raises:
        UsageError: there is no terminal to print it on.
    """
    from alita_mcp.cli.library.card import difference_rows
    from alita_mcp.library.grants.approving import difference, last_approved_version

    manifest = stored.manifest
    require_terminal(
        f"Read `alita show {manifest.name} v{manifest.version} --source`, then run "
        f"`alita approve {manifest.name} DIGEST`."
    )
    before = await last_approved_version(library, manifest.name)
    output.note(f"{manifest.name} v{manifest.version}  {manifest.digest}")
    output.note(
        f"compared with v{before.manifest.version}, approved last:" if before else "never approved before:"
    )
    for line in difference(manifest, before.manifest if before else None):
        output.note(f"  {line}")
    label = "approved last" if before else "nothing"
    rows = difference_rows(before, stored, label, f"v{manifest.version}")
    output.note("\n".join(rows))
    return len(rows)


async def approve_code(number: str, digest: str | None, output: Output) -> None:
    """Grants code of `run_code` all that it asks for.

    Raises:
        UsageError: there is no terminal to ask on.
    """
    from alita_mcp.library.grants.effective_grants import in_words

    async with open_library() as library:
        asked = library.code_approvals.find(number)
        rights = in_words(asked.grants)
        if digest is None:
            packages, client = ", ".join(asked.packages) or "none", spell_hidden(asked.client) or "unnamed"
            output.note(f"code {number}  {asked.digest}")
            for line in (*rights, f"packages: {packages}", f"asked by: {client} ({asked.owner})"):
                output.note(f"  {line}")
            output.note(list_code(asked.code))
            require_terminal(f"Run `alita approve --code {number} DIGEST` once you have read it.")
            lines = asked.code.count("\n") + 1
            await require_consent(
                f"Approve this code, word for word, all {lines:,} lines above, with any arguments?", output
            )
        origin = {"from": "terminal" if digest is None else "digest"}
        await library.approve_code(number, digest or asked.digest, origin)
    value = {"code": number, "digest": asked.digest, "grants": list(rights)}
    output.print_result(value, f"Code {number} may run with: {', '.join(rights)}.")


async def require_consent(question: str, output: Output) -> None:
    """Returns once a person at the terminal says yes.

    Raises:
        AlitaError: the answer is not yes.
    """
    if not await output.confirm(question):
        raise AlitaError("Nothing was approved.")


async def revoke(name: str, /, *, code: bool = False, output: Printer) -> None:
    """Take back what a tool was granted.

    Args:
        name: The tool; with --code the number of code that asked in run_code.
        code: Take back, or refuse, what code of run_code asked for.

    Examples:
        alita revoke fetch_rates
        alita revoke --code 3
    """
    async with open_library() as library:
        if not code:
            print_entry(await library.revoke(name), output)
            return
        asked = await library.revoke_code(name)
    output.print_result({"code": name, "digest": asked.digest}, f"Code {name} may not run.")


def print_entry(entry: CatalogueEntry, output: Output) -> None:
    """Prints how a tool stands after a change."""
    from alita_mcp.library.grants.effective_grants import how_to_grant, in_words

    grants = entry.manifest.grants
    value = {
        "name": entry.name,
        "version": entry.manifest.version,
        "state": entry.state,
        "pinned": entry.pinned,
        "grants": grants,
        "approved": entry.approved,
    }
    words: list[str] = [entry.state, *(["pinned"] if entry.pinned else [])]
    if not grants.is_pure:
        words.append(f"{'approved' if entry.approved else 'not approved'}: {', '.join(in_words(grants))}")
    if not entry.approved:
        output.note(how_to_grant(entry.manifest))
    output.print_result(value, f"{entry.name} v{entry.manifest.version}: {', '.join(words)}")
