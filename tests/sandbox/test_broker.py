"""The broker of one call: each door opens with its grant and with nothing else, and says what is missing."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import UsageError
from alita_mcp.sandbox.broker.granted import MAX_COMPLETIONS, MAX_PROMPT_BYTES, GrantedBroker
from alita_mcp.sandbox.broker.host_services import MAX_CHAIN, HostServices
from alita_mcp.sandbox.broker.redaction import redact
from alita_mcp.sandbox.interface import EgressRefused, RunResult
from alita_mcp.values import Grants, Limits
from tests.tables import each_case

SECRET = "hunter2 & co/\u00e4"
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("complete", {"prompt": "x"}),
    ("call_tool", {"name": "other_tool", "arguments": {}}),
    ("secret", {"name": "KEY"}),
    ("workspace.list", {"path": ""}),
    ("workspace.read", {"path": "a", "offset": 0, "length": 10}),
    ("workspace.change", {"operations": [], "last": True}),
]


class App:
    """What an app offers, and what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.fails: Exception | None = None

    async def complete(self, prompt: str, **options: Any) -> str:
        self.asked.append((prompt, options))
        if self.fails:
            raise self.fails
        return prompt.upper()

    async def call_tool(self, name: str, arguments: dict[str, Any], *, chain: tuple[str, ...]) -> Any:
        self.asked.append((name, arguments, chain))
        return {"sum": 3}


def broker(
    app: App | None = None, *, chain: tuple[str, ...] = ("this_tool",), **grants: Any
) -> GrantedBroker:
    app = app or App()
    services = HostServices(
        complete=app.complete,
        call_tool=app.call_tool,
        secrets={"KEY": SECRET, "OTHER": "other-value"},
        chain=chain,
    )
    return GrantedBroker(Grants(**grants), Limits(), services)


@each_case("grant", ["network", "workspace", "model", "tools", "secrets"])
async def test_one_grant_opens_no_other_door(grant: str) -> None:
    grants = Grants(
        network=("a.test",), workspace="write", model=True, tools=("other_tool",), secrets=("KEY",)
    )
    one = broker(**{grant: getattr(grants, grant)})
    own = {"model": "complete", "tools": "call_tool", "secrets": "secret", "workspace": "workspace"}.get(
        grant, ""
    )
    for door, words in QUESTIONS:
        if door.partition(".")[0] != own:
            with pytest.raises(PermissionError, match="needs the grant"):
                await one.answer(door, words)
    assert (one.egress_policy is not None) == (grant == "network")


@each_case("door", ["", "shell", "__class__", "_complete", "answer", "workspace", "x" * 10_000])
async def test_a_door_that_is_not_there_is_refused(door: str) -> None:
    everything = broker(model=True, tools=("a",), secrets=("KEY",), workspace="write", network=("a.test",))
    with pytest.raises(PermissionError):
        await everything.answer(door, {})
    assert everything.events[0].status == "refused"


@each_case(
    "door, words",
    [
        ("complete", {}),
        ("complete", {"prompt": 1}),
        ("complete", {"prompt": "x", "max_tokens": 0}),
        ("complete", {"prompt": "x", "max_tokens": True}),
        ("complete", {"prompt": "x", "temperature": float("nan")}),
        ("complete", {"prompt": "x", "model": "other"}),
        ("call_tool", {"name": "other_tool", "arguments": []}),
        ("secret", {"name": "KEY", "more": 1}),
        ("workspace.read", {"path": "a", "offset": 0, "length": 0}),
        ("workspace.change", {"operations": [{"mode": 493, "path": "a"}], "last": True}),
    ],
)
async def test_words_that_do_not_fit_are_an_error_that_names_them(door: str, words: dict[str, Any]) -> None:
    everything = broker(model=True, tools=("other_tool",), secrets=("KEY",), workspace="write")
    with pytest.raises(ValueError, match=r"^alita_tool\."):
        await everything.answer(door, words)


async def test_a_completion_goes_to_the_apps_model_with_its_options() -> None:
    app = App()
    granted = broker(app, model=True)
    assert await granted.answer("complete", {"prompt": "hi", "system": "be brief", "max_tokens": 5}) == "HI"
    assert app.asked == [("hi", {"system": "be brief", "max_tokens": 5, "temperature": None})]
    event = granted.events[0]
    assert (event.door, event.status, event.bytes_out, event.bytes_in) == ("complete", "ok", 10, 2)


async def test_completions_are_capped_in_size_and_number() -> None:
    granted = broker(model=True)
    with pytest.raises(ValueError, match=f"longer than {MAX_PROMPT_BYTES}"):
        await granted.answer("complete", {"prompt": "x" * MAX_PROMPT_BYTES, "system": "x"})
    for _ in range(MAX_COMPLETIONS):
        await granted.answer("complete", {"prompt": "x"})
    with pytest.raises(RuntimeError, match=f"more than {MAX_COMPLETIONS} completions"):
        await granted.answer("complete", {"prompt": "x"})


@each_case(
    "problem, kind, text",
    [
        (FileNotFoundError(2, "no", "/home/me/key"), RuntimeError, "the host failed with FileNotFoundError"),
        (TimeoutError("too slow"), TimeoutError, "too slow"),
        (PermissionError("other_tool: not yours"), PermissionError, "other_tool: not yours"),
        (LookupError("none"), LookupError, "none"),
    ],
)
async def test_errors_of_the_app_keep_paths_of_the_host_to_themselves(
    problem: Exception, kind: type[Exception], text: str
) -> None:
    app = App()
    app.fails = problem
    granted = broker(app, model=True)
    with pytest.raises(kind, match=f"^{text}$"):
        await granted.answer("complete", {"prompt": "x"})
    assert granted.events[0].status == ("refused" if kind is PermissionError else "failed")


async def test_a_granted_tool_is_called_with_the_chain_that_led_to_it() -> None:
    app = App()
    granted = broker(app, tools=("other_tool",))
    assert await granted.answer("call_tool", {"name": "other_tool", "arguments": {"a": 1}}) == {"sum": 3}
    assert app.asked == [("other_tool", {"a": 1}, ("this_tool", "other_tool"))]
    assert granted.events[0].target == "other_tool"
    with pytest.raises(PermissionError, match="needs the grant 'tools': 'third_tool'"):
        await granted.answer("call_tool", {"name": "third_tool", "arguments": {}})


@pytest.mark.parametrize("chain", [("other_tool",), ("first", "other_tool", "this_tool")])
async def test_tools_that_call_each_other_in_a_circle_are_refused_with_the_chain(
    chain: tuple[str, ...],
) -> None:
    app = App()
    with pytest.raises(RuntimeError, match=f"{' → '.join(chain)} → other_tool"):
        await broker(app, chain=chain, tools=("other_tool",)).answer("call_tool", {"name": "other_tool"})
    assert app.asked == []


async def test_a_chain_of_tools_is_no_longer_than_four() -> None:
    chain = tuple(f"tool_{number}" for number in range(MAX_CHAIN - 1))
    await broker(chain=chain, tools=("last",)).answer("call_tool", {"name": "last"})
    with pytest.raises(
        RuntimeError, match=r"more than 4 nested tool calls: tool_0 → tool_1 → tool_2 → tool_3 → last"
    ):
        await broker(chain=(*chain, "tool_3"), tools=("last",)).answer("call_tool", {"name": "last"})


async def test_a_secret_is_given_by_name_and_never_recorded() -> None:
    granted = broker(secrets=("KEY", "UNSET"))
    assert await granted.answer("secret", {"name": "KEY"}) == SECRET
    with pytest.raises(PermissionError, match="needs the grant 'secrets': 'OTHER'"):
        await granted.answer("secret", {"name": "OTHER"})
    with pytest.raises(RuntimeError, match=r"'UNSET' is granted, but it has no value .*ALITA_SECRETS_FILE"):
        await granted.answer("secret", {"name": "UNSET"})
    for name in (SECRET, f"x{SECRET}x"):
        with pytest.raises(PermissionError):
            await granted.answer("secret", {"name": name})
    assert [event.target for event in granted.events] == ["KEY", "OTHER", "UNSET", "[secret]", "x[secret]x"]
    assert SECRET not in repr(granted.events)
    assert SECRET not in repr(granted._services)


@pytest.mark.parametrize("value", ["", "abc"])
def test_a_secret_that_could_not_be_kept_out_of_results_is_refused_without_being_told(value: str) -> None:
    with pytest.raises(UsageError, match="'PIN' is shorter than 4") as refused:
        HostServices(secrets={"PIN": value})
    assert not value or value not in str(refused.value)


@each_case(
    "grants, door, words, setting",
    [
        (Grants(model=True), *QUESTIONS[0], "ALITA_MODEL"),
        (Grants(tools=("other_tool",)), *QUESTIONS[1], "no library"),
        (Grants(secrets=("KEY",)), *QUESTIONS[2], "ALITA_SECRETS_FILE"),
        (Grants(workspace="read"), *QUESTIONS[3], "ALITA_WORKSPACE"),
    ],
)
async def test_a_grant_for_which_nothing_is_set_up_says_which_setting_is_missing(
    grants: Grants, door: str, words: dict[str, Any], setting: str
) -> None:
    with pytest.raises(RuntimeError, match=f"granted, but.*{setting}"):
        await GrantedBroker(grants, Limits(), HostServices()).answer(door, words)


def test_secrets_leave_neither_as_they_are_nor_in_their_usual_forms() -> None:
    granted = broker(secrets=("KEY",))
    forms = [
        SECRET,
        "hunter2%20%26%20co/%C3%A4",
        "hunter2+%26+co%2F%C3%A4",
        "hunter2 & co/\\u00e4",
        "aHVudGVyMiAmIGNvL8Ok",
    ]
    text = " ".join(forms)
    result = RunResult(
        status="ok",
        value={"a": [text, {SECRET: 1, "n": None}]},
        message=text,
        trace=(text,),
        stdout=text,
        stderr=text,
    )
    cleaned = granted.redact_result(result)
    assert cleaned.value == {"a": [" ".join(["[secret]"] * 5), {"[secret]": 1, "n": None}]}
    for left in (cleaned.message, cleaned.trace[0], cleaned.stdout, cleaned.stderr):
        assert left == " ".join(["[secret]"] * 5)


@given(st.text(min_size=4, max_size=40), st.binary(max_size=9), st.binary(max_size=9))
def test_no_text_around_a_secret_brings_its_base64_out(value: str, before: bytes, after: bytes) -> None:
    code = base64.b64encode(before + value.encode() + after).decode()
    assert "[secret]" in redact(code, [value])


@each_case(
    "form",
    [
        SECRET.upper(), SECRET.lower(), SECRET[::-1], SECRET.upper()[::-1],
        SECRET.encode().hex(), SECRET.encode().hex().upper(), f"user:{SECRET}\n".encode().hex(),
        quote(SECRET.upper()), quote(SECRET, safe="").lower(), json.dumps(SECRET.upper())[1:-1],
    ],
)  # fmt: skip
def test_a_secret_is_hidden_in_hex_in_another_case_and_reversed(form: str) -> None:
    assert "hunter" not in (said := redact(f"<{form}>", [SECRET])).lower()
    assert said.startswith("<[secret]") or bytes.fromhex(said.partition("[")[0].strip("<")) == b"user:"
    assert redact({form: [form]}, [SECRET]).keys() == {redact(form, [SECRET])}


async def test_a_host_that_spells_a_secret_is_noted_without_it() -> None:
    granted = GrantedBroker(
        Grants(network=("api.test",), secrets=("KEY",)),
        Limits(),
        HostServices(secrets={"KEY": "Hunter2Word"}),
    )
    assert granted.egress_policy is not None
    with pytest.raises(EgressRefused):
        await granted.egress_policy.open("hunter2word.evil.test", 443)
    assert [event.target for event in granted.events] == ["[secret].evil.test:443"]


def test_a_secret_inside_a_longer_one_does_not_cut_it_in_two() -> None:
    assert redact("abcdefgh", ["abcd", "abcdefgh"]) == "[secret]"
    assert redact(["abcd", 1.5, True], ["abcd"]) == ["[secret]", 1.5, True]
