"""HTML page of the library's entries and journal, without scripts or external resources."""

from __future__ import annotations

import html
from collections.abc import Iterable

from alita_mcp import __version__
from alita_mcp.library.rows import CatalogueEntry, JournalRow
from alita_mcp.unseen import spell_hidden

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #8884; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
code { font-size: .95em; }
.muted { opacity: .7; }
"""
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
)
"""Sent with the page: even text that slipped through the escaping could load and run nothing."""


def library_page(
    entries: Iterable[CatalogueEntry], journal: Iterable[JournalRow], total: int, following: str | None = None
) -> str:
    """The whole page; every value is escaped, for names and descriptions come from strangers.

    `following`: the last name on this page, where others come after it.
    """
    tools = "".join(map(_tool_row, entries))
    more = f"<p><a href='?after={escape(following)}'>more</a></p>" if following else ""
    events = "".join(_event_row(row) for row in journal)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>alita</title>'
        '<meta name="viewport" content="width=device-width"><meta http-equiv="refresh" content="10">'
        f"<style>{_STYLE}</style></head><body><h1>alita <small class='muted'>{escape(__version__)}</small></h1>"
        f"<h2>{total} tools</h2><table><thead><tr><th>tool</th><th>what it does</th><th>trust</th><th>state</th>"
        "<th>proved in</th><th class='number'>calls</th><th class='number'>failed</th></tr></thead>"
        f"<tbody>{tools}</tbody></table>{more}"
        "<h2>Journal</h2><table><thead><tr><th>when</th><th>event</th><th>tool</th></tr></thead>"
        f"<tbody>{events}</tbody></table></body></html>"
    )


def escape(text: str) -> str:
    """A stranger's text for the page: hidden characters spelled out, no markup."""
    return html.escape(spell_hidden(text))


def _tool_row(entry: CatalogueEntry) -> str:
    manifest = entry.manifest
    pinned = " (pinned)" if entry.pinned else ""
    return (
        f"<tr><td><code>{escape(entry.name)}</code> v{manifest.version}{pinned}</td><td>{escape(manifest.summary)}</td>"
        f"<td>{escape(manifest.trust)}</td><td>{escape(entry.state)}</td><td>{escape(', '.join(entry.sandboxes))}</td>"
        f"<td class='number'>{entry.calls}</td><td class='number'>{entry.failures}</td></tr>"
    )


def _event_row(row: JournalRow) -> str:
    version = f" v{row.version}" if row.version else ""
    return (
        f"<tr><td>{escape(row.time)}</td><td>{escape(row.event)}</td>"
        f"<td><code>{escape(row.name or '')}</code>{version}</td></tr>"
    )
