"""HTML of the pages: Jinja2 templates in which everything is escaped."""

from __future__ import annotations

import functools
import json
from datetime import UTC, datetime
from typing import Any

import jinja2
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from starlette.requests import Request
from starlette.responses import HTMLResponse

from alita_mcp.unseen import spell_hidden


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page, or the part of one that htmx swaps.

    In every template: `request`, `csrf_token`, and the filters `seen` (a stranger's text, hidden
    characters spelled out), `when` (of ISO times), `code` (highlighted), `json`.
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
    to_json = functools.partial(json.dumps, ensure_ascii=False)
    environment.filters |= {"seen": seen, "when": when, "code": code, "json": to_json}
    return environment


def seen(text: object) -> str:
    """A stranger's text as people are shown it: each hidden character is spelled out; Jinja2 escapes the markup."""
    return spell_hidden(str(text))


def when(time: str) -> str:
    """An ISO time as local date and time; as it is what is none, as in a forged manifest."""
    try:
        parsed = datetime.fromisoformat(time)
        parsed = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone()
    except (ValueError, OverflowError):
        return seen(time)
    return parsed.strftime("%Y-%m-%d %H:%M:%S")


def code(text: str, language: str = "python") -> Markup:
    """Highlighted code; hidden characters are spelled out. Its colours are classes of the stylesheet."""
    formatter = HtmlFormatter(cssclass="code", wrapcode=True)
    return Markup(highlight(spell_hidden(text), get_lexer_by_name(language), formatter))  # noqa: S704 - Pygments escapes
