"""Calls from the form of a tool's page: what is typed becomes arguments, and what comes back is shown as text."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from alita_mcp.app import App, open_app
from alita_mcp.errors import InvalidArguments, SandboxError
from alita_mcp.library.library import Library
from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from alita_mcp.verification.images import IMAGE_SCHEMA
from alita_mcp.web.pages.tool import MAX_SHOWN, read_form
from tests.in_process import InProcessSandbox
from tests.library.factory import accepted, simple
from tests.tables import each_case
from tests.web.visiting import csrf_token, visiting

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "the text"},
        "mark": {"type": "string", "default": "-"},
        "count": {"type": "integer"},
        "share": {"type": "number", "default": 0.5},
        "loud": {"type": "boolean"},
        "sure": {"type": "boolean", "default": True},
        "kind": {"type": "string", "enum": ["a b", "c"], "default": "c"},
        "items": {"type": "array", "items": {"type": "integer"}, "description": "a list"},
        "hidden": {"type": "string", "default": "a\u202eb"},
        "more": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["text"],
}


async def test_each_type_has_its_field(library: Library, browser: httpx.AsyncClient) -> None:
    made = accepted("answers", code="def answers(): pass\n", examples=(), input_schema=SCHEMA)
    await library.publish(made, expected_version=0)
    page = (await browser.get("/ui/library/answers")).text
    for field in (
        r'<textarea [^>]*"argument.text"[^>]* placeholder=""></textarea>',
        r'<textarea [^>]*"argument.mark"[^>]* placeholder="-"></textarea>',
        r'<textarea [^>]*"argument.hidden"[^>]* placeholder="a&lt;U\+202E&gt;b"></textarea>',
        r'<input [^>]*"argument.count"[^>]* type="number" step="1" placeholder="">',
        r'<input [^>]*"argument.share"[^>]* type="number" step="any" placeholder="0.5">',
        r'<select [^>]*"argument.loud"[^>]*><option value="">\(left out\)</option>\s*<option value="true">',
        r'<select [^>]*"argument.sure"[^>]*><option value="">true</option>',
        r'<select [^>]*"argument.kind"[^>]*><option value="">c</option>\s*<option value="a b">a b</option>',
        r'<textarea [^>]*"argument.items"[^>]*></textarea>\s*<p[^>]*>a list As JSON text.</p>',
        r"the text</p>",
    ):
        assert re.search(field, page), field


@each_case(
    "form, arguments",
    [
        ({}, {}),
        ({"text": ""}, {"text": ""}),
        ({"hidden": ""}, {}),
        ({"text": "a\r\nb"}, {"text": "a\nb"}),
        ({"text": "12", "mark": ""}, {"text": "12"}),
        ({"count": "", "share": "", "loud": "", "items": ""}, {}),
        ({"count": "12", "share": "0.25", "loud": "false"}, {"count": 12, "share": 0.25, "loud": False}),
        ({"kind": "a b", "items": "[1, 2]"}, {"kind": "a b", "items": [1, 2]}),
        ({"more": '{"k": "v"}', "unknown": "1"}, {"more": {"k": "v"}}),
    ],
)
def test_what_is_typed_becomes_arguments(form: Mapping[str, str], arguments: dict[str, Any]) -> None:
    assert read_form(SCHEMA, {f"argument.{name}": text for name, text in form.items()}) == arguments


@each_case("text", ["[1, 2", "one", "[" * 100_000, "'a'", "01", "\x00"])
def test_what_is_no_json_is_said(text: str) -> None:
    with pytest.raises(InvalidArguments, match=r"items: .* is not JSON of the type array"):
        read_form(SCHEMA, {"argument.items": text})


async def call(browser: httpx.AsyncClient, name: str, **typed: str) -> str:
    """Fills in the form of a tool's page; returns what comes back."""
    page = (await browser.get(f"/ui/library/{name}")).text
    form = {"csrf_token": csrf_token(page), "version": "1"}
    form |= {f"argument.{field}": text for field, text in typed.items()}
    return (await browser.post(f"/ui/library/{name}/calls", data=form)).text


async def test_a_call_shows_its_result_and_is_journalled(app: App, browser: httpx.AsyncClient) -> None:
    shown = await call(browser, "calculate", expression="1/3 + 1/6", decimals="")
    assert "&#34;0.5&#34;" in shown
    assert "badge ok" in shown
    await app.library.settle()
    assert [row.detail["client"] for row in app.library.journal(1, "called")] == ["web page"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({}, "expression"),
        ({"expression": "1", "decimals": "many"}, "is not JSON of the type integer"),
        ({"expression": "1", "decimals": "1.5"}, "decimals"),
        ({"expression": "1", "decimals": "1e999"}, "decimals"),
        ({"expression": "1", "decimals": "NaN"}, "decimals"),
        ({"expression": "1/0"}, "error"),
        ({"expression": "<script>alert(1)</script>"}, "error"),
    ],
)
async def test_what_fails_is_said_in_words(
    browser: httpx.AsyncClient, typed: dict[str, str], said: str
) -> None:
    shown = await call(browser, "calculate", **typed)
    assert said in shown
    assert "badge bad" in shown
    assert "<script>alert" not in shown


async def test_a_tool_that_may_not_be_called_is_not(library: Library, browser: httpx.AsyncClient) -> None:
    await library.publish(simple("answers"), expected_version=0)
    page = (await browser.get("/ui/library/answers")).text
    await library.disable("answers")
    assert "It is disabled, so it cannot be called" in (await browser.get("/ui/library/answers")).text
    late = await browser.post("/ui/library/answers/calls", data={"csrf_token": csrf_token(page)})
    assert (late.status_code, "answers is disabled" in late.text) == (400, True)
    await library.delete("answers")
    gone = await browser.post("/ui/library/answers/calls", data={"csrf_token": csrf_token(page)})
    assert (gone.status_code, "answers was deleted" in gone.text) == (400, True)


class ToldSandbox(InProcessSandbox):
    """Answers calls of the tool `answers` as it is told."""

    def __init__(self, result: RunResult | Exception) -> None:
        super().__init__()
        self.result = result

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        if job.function != "answers":
            return await super().run(job, broker)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="2"><image href="http://a.org/b.png"/></svg>'
"""It refers to something outside of itself, which a browser does not load for an image."""
SVG_BASE64 = base64.b64encode(SVG.encode()).decode()


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (RunResult(status="timeout", message="30 s"), "timeout"),
        (RunResult(status="error", error_type="\u202eE", message="m", trace=("<b>",)), "&lt;U+202E&gt;E"),
        (SandboxError("The engine is gone.", hint="Start it."), "Start it."),
        (RuntimeError("secret inside"), "Internal error"),
    ],
)
async def test_how_a_call_failed_is_said(
    settings: Settings, result: RunResult | Exception, said: str
) -> None:
    async with open_app(settings, admit=admit, sandbox=ToldSandbox(result)) as app, visiting(app) as browser:
        await app.library.publish(simple("answers", sandbox="wasm"), expected_version=0)
        shown = await call(browser, "answers")
    assert said in shown
    assert "badge bad" in shown
    assert "secret inside" not in shown
    assert "<b>" not in shown


async def test_a_large_result_is_cut_and_its_hidden_characters_are_spelled_out(settings: Settings) -> None:
    text = "\u202e<b>" + "x" * (2 * MAX_SHOWN)
    sandbox = ToldSandbox(RunResult(status="ok", value=text))
    async with open_app(settings, admit=admit, sandbox=sandbox) as app, visiting(app) as browser:
        await app.library.publish(simple("answers", sandbox="wasm"), expected_version=0)
        shown = await call(browser, "answers")
    assert "&lt;U+202E&gt;&lt;b&gt;xxx" in shown
    assert f"The first {MAX_SHOWN:,} of {len(text):,} characters" in shown
    assert len(shown) < 2 * MAX_SHOWN


@pytest.mark.parametrize("kind", ["png", "svg"])
async def test_an_image_is_a_picture_and_a_file(settings: Settings, kind: str) -> None:
    data, (width, height, size) = (PNG, (1, 1, 70)) if kind == "png" else (SVG, (4, 2, len(SVG)))
    value = {"format": kind, "data": data, "width": width, "height": height, "bytes": size}
    sandbox = ToldSandbox(RunResult(status="ok", value=value))
    made = accepted(
        "answers",
        code="def answers(): pass\n",
        examples=(),
        output_schema=IMAGE_SCHEMA,
        sandbox="wasm",
        input_schema={"type": "object", "properties": {}},
    )
    async with open_app(settings, admit=admit, sandbox=sandbox) as app, visiting(app) as browser:
        await app.library.publish(made, expected_version=0)
        shown = await call(browser, "answers")
    url = f"data:image/png;base64,{PNG}" if kind == "png" else f"data:image/svg+xml;base64,{SVG_BASE64}"
    assert f'src="{url}"' in shown
    assert f"&#34;format&#34;: &#34;{kind}&#34;" in shown
    assert "<image" not in shown
