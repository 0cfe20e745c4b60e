"""`alita approve --code` and `revoke --code`: approval of code of `run_code` that asks for more than computing."""

from __future__ import annotations

from alita_mcp.cli.opened import opened_library
from alita_mcp.cli.output import Output, printable, require_terminal
from alita_mcp.errors import UsageError
from alita_mcp.library.grants.code_approvals import AskedCode, CodeApprovals
from alita_mcp.library.grants.effective_grants import in_words
from alita_mcp.values import Grants


async def approve_code(number: str, digest: str | None, part: Grants | None, output: Output) -> int:
    """Grants code what it asks for, looked at as a tool's version is: all of it, or nothing.

    Raises:
        UsageError: a part is asked for, or there is no terminal to ask on.
    """
    if part is not None:
        raise UsageError("Code is granted all that it asks for, or nothing.", hint="Leave the part out.")
    async with opened_library() as library:
        approvals = CodeApprovals(library.home)
        asked = approvals.find(number)
        if digest is None and not await _agreed(number, asked, output):
            output.note("Nothing was approved.")
            return 1
        approvals.approve(number, digest or asked.digest)
        origin = {"from": "terminal" if digest is None else "digest", "digest": asked.digest}
        await library.record("code approved", None, origin)
        words = in_words(asked.grants)
        told = {"code": number, "digest": asked.digest, "grants": list(words)}
        output.result(told, f"The code {number} may run with: {', '.join(words)}.")
    return 0


async def _agreed(number: str, asked: AskedCode, output: Output) -> bool:
    output.note(f"code {number}  {asked.digest}")
    for right in in_words(asked.grants):
        output.note(f"  {right}")
    output.note(
        f"packages: {', '.join(asked.packages) or 'none'}; asked by {printable(asked.client) or 'nobody named'}"
    )
    for line in asked.code.splitlines():
        output.note(f"| {printable(line)}")
    require_terminal(", so the digest of the code has to be named.", f"alita approve --code {number} DIGEST")
    return await output.agreed("Approve it, word for word as it stands here? [y/N] ")


async def revoke_code(number: str, output: Output) -> int:
    """Takes back what code was granted, or refuses it while it waits."""
    async with opened_library() as library:
        asked = CodeApprovals(library.home).revoke(number)
        await library.record("code revoked", None, {"digest": asked.digest})
    output.result({"code": number, "digest": asked.digest}, f"The code {number} may not run.")
    return 0
