"""Calls from the form of a tool's page: what is typed becomes arguments, and what comes back is shown as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import anyio
import httpx
import pytest

from alita_mcp.app import App, open_app
from alita_mcp.errors import InvalidArguments, SandboxError
from alita_mcp.library.library import Library
from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from alita_mcp.verification.images import IMAGE_SCHEMA
from alita_mcp.web.pages.tool_calls import MAX_SHOWN
from alita_mcp.web.schema_form import form_fields, read_form
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
        "items": {"type": "array", "items": {"type": "integer"}},
        "hidden": {"type": "string", "default": "a\u202eb"},
        "more": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["text"],
}


def test_each_type_has_its_field() -> None:
    fields = {field.name: field for field in form_fields(SCHEMA)}
    assert {name: (field.is_text, field.default, field.choices) for name, field in fields.items()} == {
        "text": (True, "", ()), "mark": (True, "-", ()), "count": (False, "", ()), "share": (False, "0.5", ()),
        "loud": (False, "", ("true", "false")), "sure": (False, "true", ("true", "false")),
        "kind": (True, "c", ("a b", "c")), "items": (False, "", ()), "hidden": (True, "", ()),
        "more": (False, "", ()),
    }  # fmt: skip
    assert [name for name, field in fields.items() if field.is_required] == ["text"]


@each_case(
    "form, arguments",
    [
        ({}, {}),
        ({"text": ""}, {"text": ""}),
        ({"hidden": ""}, {}),
        ({"text": "a\r\nb"}, {"text": "a\nb"}),
        ({"text": "12", "mark": ""}, {"text": "12", "mark": ""}),
        ({"count": "", "share": "", "loud": "", "items": " "}, {}),
        ({"count": "12", "share": "0.25", "loud": "false"}, {"count": 12, "share": 0.25, "loud": False}),
        ({"kind": "a b", "items": "[1, 2]"}, {"kind": "a b", "items": [1, 2]}),
        ({"more": '{"k": "v"}', "unknown": "1"}, {"more": {"k": "v"}}),
    ],
)
def test_what_is_typed_becomes_arguments(form: Mapping[str, str], arguments: dict[str, Any]) -> None:
    assert read_form(SCHEMA, {f"argument.{name}": text for name, text in form.items()}) == arguments


@each_case("text", ["[1, 2", "one", "[" * 100_000, "'a'", "01", "\x00"])
def test_what_is_no_json_is_said(text: str) -> None:
    with pytest.raises(InvalidArguments, match=r"items: .* is not JSON of the type list\[int\]"):
        read_form(SCHEMA, {"argument.items": text})


async def call(browser: httpx.AsyncClient, name: str, *, part: bool = False, **typed: str) -> str:
    """Fills in the form of a tool's page, and follows to the page that shows the result."""
    page = (await browser.get(f"/ui/library/{name}")).text
    form = {"csrf_token": csrf_token(page), "version": "1"}
    form |= {f"argument.{field}": text for field, text in typed.items()}
    headers = {"hx-request": "true"} if part else {}
    done = await browser.post(f"/ui/library/{name}/calls", data=form, headers=headers)
    return (await browser.get(done.headers["location"])).text if done.status_code == 303 else done.text


async def test_a_call_shows_its_result_and_is_journalled(app: App, browser: httpx.AsyncClient) -> None:
    shown = await call(browser, "calculate", expression="1/3 + 1/6", decimals="")
    assert "&#34;0.5&#34;" in shown
    part = await call(browser, "calculate", part=True, expression="2*3")
    assert ("<html" in part, "badge ok" in part) == (False, True)
    place = re.search(r'href="(/ui/library/calculate/calls/[^"]+/result)"', part)
    assert place is not None
    whole = await browser.get(place[1])
    assert whole.headers["content-disposition"] == 'attachment; filename="calculate.json"'
    assert json.loads(whole.text)["decimal"] == "6"
    await app.library.settle()
    assert [row.detail["client"] for row in app.library.journal(2, "called")] == ["web page"] * 2


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({}, "expression"),
        ({"expression": "1", "decimals": "many"}, "is not JSON of the type int"),
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
    for part in (False, True):
        shown = await call(browser, "calculate", part=part, **typed)
        assert said in shown
        assert "badge bad" in shown
        assert "<script>alert" not in shown


async def test_a_tool_that_may_not_be_called_is_not(library: Library, browser: httpx.AsyncClient) -> None:
    await library.publish(simple("answers"), expected_version=0)
    page = (await browser.get("/ui/library/answers")).text
    await library.disable("answers")
    assert "It is disabled, so it cannot be called" in (await browser.get("/ui/library/answers")).text
    late = await browser.post("/ui/library/answers/calls", data={"csrf_token": csrf_token(page)})
    assert "answers is disabled" in (await browser.get(late.headers["location"])).text
    await library.delete("answers")
    gone = await browser.post("/ui/library/answers/calls", data={"csrf_token": csrf_token(page)})
    assert (gone.status_code, "answers was deleted" in gone.text) == (400, True)


async def test_a_large_result_is_cut_and_its_hidden_characters_are_spelled_out(
    library: Library, browser: httpx.AsyncClient
) -> None:
    text = "\u202e<b>" + "x" * (2 * MAX_SHOWN)
    await library.publish(simple("answers", answer=text), expected_version=0)
    shown = await call(browser, "answers")
    assert "&lt;U+202E&gt;&lt;b&gt;xxx" in shown
    assert f"The first {MAX_SHOWN:,} of {len(text):,} characters" in shown
    place = re.search(r'href="([^"]+/result)"', shown)
    assert place is not None
    whole = await browser.get(place[1])
    assert (whole.text, whole.headers["content-type"]) == (text, "text/plain; charset=utf-8")


class SlowSandbox(InProcessSandbox):
    """Runs what it is told to once it is let go, or fails."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = anyio.Event()
        self.cancelled = False
        self.result: RunResult | Exception = RunResult(status="ok", value="x")

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        if job.function != "answers" or "arguments" in job.arguments:
            return await super().run(job, broker)
        try:
            await self.go_on.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="2"><image href="http://a.org/b.png"/></svg>'
"""It refers to something outside of itself, so that it is not drawn."""


async def test_a_long_call_is_shown_as_running_and_can_be_cancelled(settings: Settings) -> None:
    sandbox = SlowSandbox()
    async with open_app(settings, admit=admit, sandbox=sandbox) as app, visiting(app) as browser:
        await app.library.publish(simple("answers", sandbox="wasm"), expected_version=0)
        shown = await call(browser, "answers")
        assert "running" in shown
        place = re.search(r'action="([^"]+/cancel)"', shown)
        assert place is not None
        refused = await browser.post(place[1])
        assert refused.status_code == 403
        ended = await browser.post(place[1], data={"csrf_token": csrf_token(shown)})
        assert "The call was cancelled." in (await browser.get(ended.headers["location"])).text
        assert sandbox.cancelled
        assert (await browser.get(place[1].replace("cancel", "result"))).status_code == 404
        assert (await browser.get("/ui/library/answers/calls/nothing")).status_code == 400


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
    sandbox = SlowSandbox()
    sandbox.result = result
    sandbox.go_on.set()
    async with open_app(settings, admit=admit, sandbox=sandbox) as app, visiting(app) as browser:
        await app.library.publish(simple("answers", sandbox="wasm"), expected_version=0)
        shown = await call(browser, "answers")
    assert said in shown
    assert "badge bad" in shown
    assert "secret inside" not in shown
    assert "<b>" not in shown


@pytest.mark.parametrize("kind", ["png", "svg"])
async def test_an_image_is_a_picture_and_a_file(settings: Settings, kind: str) -> None:
    sandbox = SlowSandbox()
    sandbox.go_on.set()
    data, (width, height, size) = (PNG, (1, 1, 70)) if kind == "png" else (SVG, (4, 2, len(SVG)))
    value = {"format": kind, "data": data, "width": width, "height": height, "bytes": size}
    sandbox.result = RunResult(status="ok", value=value)
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
        assert f"&#34;format&#34;: &#34;{kind}&#34;" in shown
        assert "data" not in shown.partition("<pre>")[2]
        place = re.search(r'href="([^"]+)/result"', shown)
        assert place is not None
        file = await browser.get(f"{place[1]}/result")
        assert file.headers["content-disposition"] == f'attachment; filename="answers.{kind}"'
        assert "default-src 'none'" in file.headers["content-security-policy"]
        assert (f'src="data:image/png;base64,{PNG}"' in shown) == (kind == "png")
