"""`alita search`, `list`, `show` and `log`: the tools of the library, and its journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alita_mcp.cli.application import open_library
from alita_mcp.cli.output import Output, Printer, columns, compact_json, list_code
from alita_mcp.cli.parameters import Count, Version

if TYPE_CHECKING:
    from alita_mcp.values import Manifest

ALL_ROWS = 1_000_000


async def search(words: list[str], /, *, limit: Count = 5, output: Printer) -> None:
    """Find tools by what they should do.

    Args:
        words: What the tool should do, in your own words.
        limit: Show at most this many tools.

    Examples:
        alita search "how many words are in this text"
        alita search read a csv file --limit 10
    """
    async with open_library() as library:
        query = " ".join(words)
        answer = await library.search(query, limit)
        library.calls.record_search(query, answer)
    rows = []
    for hit in answer.results:
        marks = [hit.trust, *not_here(hit.entry.manifest)]
        rows.append((hit.name, f"{hit.score:.2f}", ", ".join(marks), hit.summary))
    output.print_result(answer, columns(rows))
    verdicts = {"match": "A match.", "possible": "Possible matches; look closer.", "none": "No match."}
    output.hint(f"{verdicts[answer.fit]} {answer.total} tools searched.")


async def list_tools(*, output: Printer) -> None:
    """List all tools.

    Examples:
        alita list
        alita list --json
    """
    async with open_library() as library:
        entries = list(library.tools.entries())
    values, rows = [], []
    for entry in entries:
        manifest = entry.manifest
        values.append({
            "name": entry.name, "version": manifest.version, "state": entry.state, "pinned": entry.pinned,
            "trust": manifest.trust, "calls": entry.calls, "summary": manifest.summary,
        })  # fmt: skip
        marks = [manifest.trust, "" if entry.state == "enabled" else entry.state]
        marks += ["" if entry.approved else "not approved", "pinned" if entry.pinned else ""]
        marks += not_here(manifest)
        shown = ", ".join(filter(None, marks))
        rows.append((entry.name, f"v{manifest.version}", shown, f"{entry.calls} calls", manifest.summary))
    output.print_result(values, columns(rows))
    output.hint(f"{len(entries)} tools")


def not_here(manifest: Manifest) -> list[str]:
    """`not here: …` where the tool's packages cannot work in the sandbox that calls run in, as far as that is known."""
    if not manifest.packages:
        return []
    from alita_mcp.sandbox.choose import likely_kind
    from alita_mcp.sandbox.wasm.abilities import lacks_of_sandbox
    from alita_mcp.settings import read_settings

    found = lacks_of_sandbox(likely_kind(read_settings()), manifest.packages)
    return [f"not here: {reason}" for reason in found]


async def show(
    name: str, version: Version | None = None, /, *, source: bool = False, output: Printer
) -> None:
    """Show what a tool takes, gives and was proved to do.

    Args:
        name: The tool.
        version: The version; the current one by default.
        source: Show code and tests too.

    Examples:
        alita show calculate
        alita show calculate v1 --source
    """
    from alita_mcp.cli.library.card import evidence_card
    from alita_mcp.library.trust.evidence import evidence_of

    async with open_library() as library:
        entry = library.entry(name)
        stored = await library.read(name, version)
        sandboxes = tuple(sorted(library.tools.sandboxes_of(name, stored.manifest.version)))
        granted = library.effective_grants.of(stored.manifest)
    value: dict[str, Any] = {
        "manifest": stored.manifest,
        "state": entry.state,
        "pinned": entry.pinned,
        "versions": list(entry.versions),
        "sandboxes": list(sandboxes),
        "granted": granted,
        "calls": entry.calls,
        "failures": entry.failures,
        "last_used": entry.last_used,
        "report": stored.report,
        "evidence": evidence_of(stored.report, sandboxes),
    }
    text = evidence_card(entry, stored, sandboxes, granted)
    if source:
        value["source"] = stored.code
        value["tests"] = [example.as_json() for example in stored.examples]
        tests = "\n".join(map(compact_json, value["tests"]))
        text += f"\n\n{list_code(stored.code)}\n\n{list_code(tests)}"
    output.print_result(value, text)
    for reason in not_here(stored.manifest):
        output.hint(f"{name} is {reason}.")


async def log(name: str | None = None, /, *, limit: Count = 30, gaps: bool = False, output: Printer) -> None:
    """Show the journal, newest last.

    Args:
        name: Only what happened to this tool.
        limit: Show at most this many events or gaps.
        gaps: Show what was searched for and not found, the most wanted first.

    Examples:
        alita log
        alita log calculate --limit 5
        alita log --gaps
    """
    if gaps:
        await list_gaps(limit, output)
        return
    async with open_library() as library:
        rows = library.journal(limit if name is None else ALL_ROWS)
        if name is not None:
            rows = [row for row in rows if row.name == name][:limit]
            if not rows:
                library.entry(name)  # says that there never was such a tool, and which ones look alike
    rows.reverse()
    lines = []
    for row in rows:
        subject = f"{row.name or ''}{f' v{row.version}' if row.version else ''}"
        detail = {
            key: value for key, value in row.detail.items() if value not in (None, "") and key != "activity"
        }
        time = row.time[:19].replace("T", " ")
        lines.append((time, row.event, subject, compact_json(detail) if detail else ""))
    output.print_result(rows, columns(lines))


async def list_gaps(limit: int, output: Output) -> None:
    """Prints needs that no tool serves, the most wanted first; then those that one serves by now."""
    async with open_library() as library:
        gaps = await library.find_gaps(limit)
    lines = []
    for gap in gaps:
        others = f"also: {'; '.join(gap.others)}" if gap.others else ""
        lines.append((f"{gap.times}x", gap.last[:10], gap.need, f"now: {gap.now}" if gap.now else others))
    output.print_result(gaps, columns(lines))
    unserved = sum(not gap.now for gap in gaps)
    output.hint(f"{unserved} needs without a tool." if gaps else "No search was in vain.")
