"""HTML of the pages: Jinja2 templates in which everything is escaped."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from starlette.requests import Request
from starlette.responses import HTMLResponse

from alita_mcp.unseen import spell_hidden

STATIC = Path(__file__).with_name("static")
_DAY_S = 24 * 3600


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page, or the part of one that htmx swaps.

    In every template: `request`, `csrf_token`, `static(name)`, and the filters `seen` (a stranger's text, hidden
    characters spelled out), `ago` and `when` (of ISO times), `code` (highlighted), `json`.
    """
    values |= {"request": request, "csrf_token": getattr(request.state, "csrf_token", "")}
    return HTMLResponse(templates().get_template(template).render(values), status_code=status)


@functools.cache
def templates() -> jinja2.Environment:
    """The templates of this package."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("alita_mcp.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["static"] = static_url
    environment.filters |= {each.__name__: each for each in (seen, ours, ago, when, code)} | {"json": to_json}
    return environment


@functools.cache
def static_url(name: str) -> str:
    """The URL of a file in `static`, which changes with what it holds."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/ui/static/{name}?v={digest}"


def seen(text: object) -> str:
    """A stranger's text as people are shown it: each hidden character is spelled out; Jinja2 escapes the markup."""
    return spell_hidden(str(text))


def ours(text: str) -> Markup:
    """A message of ours: what stands between backticks is set as code. Names of strangers in it are shown as `seen`."""
    parts = enumerate(re.split("`([^`]+)`", seen(text)))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in parts
    )


def ago(time: str) -> str:
    """An ISO time in words: `just now`, `5 min ago`, `3 h ago`, `2 days ago`, else the date."""
    parsed = _parse(time)
    if parsed is None:
        return seen(time)
    seconds = (datetime.now(UTC) - parsed).total_seconds()
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min ago"
    if seconds < _DAY_S:
        return f"{seconds // 3600:.0f} h ago"
    return f"{seconds // _DAY_S:.0f} days ago" if seconds < 14 * _DAY_S else when(time)[:10]


def when(time: str) -> str:
    """An ISO time as local date and time."""
    parsed = _parse(time)
    return seen(time) if parsed is None else parsed.strftime("%Y-%m-%d %H:%M:%S")


def to_json(value: object) -> str:
    """A value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)


def code(text: str, language: str = "python") -> Markup:
    """Highlighted code; hidden characters are spelled out. Its colours are classes of the stylesheet."""
    formatter = HtmlFormatter(cssclass="code", wrapcode=True)
    return Markup(highlight(spell_hidden(text), get_lexer_by_name(language), formatter))  # noqa: S704 - Pygments escapes


def _parse(time: str) -> datetime | None:
    """A time in the zone of this machine; None for what is none, as in a forged manifest."""
    try:
        parsed = datetime.fromisoformat(time)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone()
    except (ValueError, OverflowError):
        return None
