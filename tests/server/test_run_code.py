"""Code that runs once, as clients of both protocol eras call for it and hear of it."""

from __future__ import annotations

import pytest
from mcp import Client

from alita_mcp.settings import Settings
from tests.server.in_memory import Build, called, connected, refused, succeeded, text_of
from tests.server.test_http import listening
from tests.tables import each_case

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("embedded")]


async def test_the_last_expression_is_the_result_and_what_was_printed_comes_too(client: Client) -> None:
    done = await called(client, "run_code", code="print('hi')\nn * 2", arguments={"n": 21})

    assert not done.is_error
    told = done.structured_content
    assert (told["status"], told["result"], told["stdout"]) == ("ok", 42, "hi\n")
    assert len(told["run"]) == 32
    assert text_of(done).startswith("42\nstdout:\nhi\n")


async def test_results_are_json_or_their_repr_marked_as_such(client: Client) -> None:
    for code, result, kind in (
        ("{'a': (1, 2.5), 'b': None}", {"a": [1, 2.5], "b": None}, None),
        ("{1: 2}", "{1: 2}", "repr"),
        ("{1, 1}", "{1}", "repr"),
        ("float('nan')", "nan", "repr"),
        ("'\\ud800'", "'\\ud800'", "repr"),
        ("result = [1]", [1], None),
        ("result = 5\nprint('x')", 5, None),
        ("x = 1", None, None),
        ("import asyncio\nawait asyncio.sleep(0)\n'late'", "late", None),
        ("async def two():\n    return 2\nawait two()", 2, None),
        (
            "def odd(n): return n and even(n - 1)\ndef even(n): return not n or odd(n - 1)\neven(10)",
            True,
            None,
        ),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(1)", {"x": 1}, None),
        (
            "class Bad:\n    def __repr__(self): 1/0\nBad()",
            "<Bad, whose repr raises ZeroDivisionError>",
            "repr",
        ),
        ("raise SystemExit", None, None),
    ):
        told = await succeeded(client, "run_code", code=code)
        assert (told["result"], told.get("result_is")) == (result, kind), code


async def test_a_failure_shows_the_scripts_own_lines_and_what_it_printed_before(client: Client) -> None:
    code = "import json\ndef read(text):\n    return json.loads(text)\nprint('so far')\nread('{')"
    done = await called(client, "run_code", code=code)

    assert done.is_error
    told = done.structured_content
    assert told["error"].startswith("JSONDecodeError: Expecting property name")
    assert told["stdout"] == "so far\n"
    assert 'File "script.py", line 5, in <module>' in told["trace"]
    assert "return json.loads(text)" in told["trace"]
    assert told["trace"].count("File ") == 2  # none of the library's own
    assert "so far" in text_of(done)


@each_case(
    "arguments, words",
    [
        ({"code": "  "}, "The code is empty"),
        ({}, "The code is empty"),
        ({"code": "#" * 200_000}, "The code has 200,000 bytes, the limit is 100,000."),
        ({"code": "1", "arguments": {"not a name": 1}}, "Invalid name"),
        ({"code": "1", "arguments": {"__builtins__": {}}}, "Invalid name"),
        ({"code": "1", "arguments": {"class": {}}}, "Invalid name"),
        ({"code": "1", "arguments": "[1"}, "arguments: '[1' is not an object, nor the text of one"),
        ({"code": "def f(:"}, "SyntaxError: invalid syntax"),
        ({"code": "a\x00b"}, "SyntaxError"),
        ({"code": "1", "packages": ["numpy", "reqeusts>=2"]}, "Did you mean 'requests'?"),
        ({"code": "x = bytearray(1 << 30)"}, "memory"),
        ({"code": "while True: print('y' * 10_000)"}, "output_flood"),
        ({"code": "1", "unknown": 1}, "unknown"),
        ({"code": "import os\nos._exit(0)"}, "crashed"),
        ({"code": "raise KeyboardInterrupt"}, "KeyboardInterrupt"),
        ({"code": "def f(): f()\nf()"}, "RecursionError"),
    ],
)
async def test_bad_input_gets_a_clear_answer(
    client: Client, arguments: dict[str, object], words: str
) -> None:
    assert words in await refused(client, "run_code", **arguments)
    assert (await succeeded(client, "run_code", code="1 + 1"))["result"] == 2


async def test_nothing_of_a_run_is_left_for_the_next(client: Client) -> None:
    leave = (
        "import builtins, json, tempfile, pathlib\nbuiltins.kept = json.kept = 1\npathlib.Path('f').touch()"
    )
    await succeeded(client, "run_code", code=leave)
    look = (
        "import builtins, json, os\n[hasattr(builtins, 'kept'), hasattr(json, 'kept'), os.path.exists('f')]"
    )
    assert (await succeeded(client, "run_code", code=look))["result"] == [False, False, False]


@pytest.mark.both_eras
async def test_a_session_keeps_variables_and_says_which_step_it_was(client: Client) -> None:
    await succeeded(client, "run_code", code="n = 20", session="sums")
    done = await called(client, "run_code", code="n + more", session="sums", arguments={"more": 1})

    told = done.structured_content
    assert (told["result"], told["session"], told["step"]) == (21, "sums", 2)
    assert f"run {told['run']}, step 2 of session sums)" in text_of(done)
    assert "NameError" in await refused(client, "run_code", code="n")
    assert "NameError" in await refused(client, "run_code", code="n", session="other")


async def test_a_session_that_ended_says_so_before_a_fresh_one_begins(client: Client) -> None:
    await succeeded(client, "run_code", code="n = 20", session="sums")
    last = await refused(client, "run_code", code="import os\nos._exit(0)", session="sums")
    assert "The session 'sums' ended with this step, and its variables are gone." in last
    assert (await succeeded(client, "run_code", code="2", session="sums"))["step"] == 1
    for name in "ab":
        await succeeded(client, "run_code", code="1", session=name)
    told = await refused(client, "run_code", code="n", session="sums")
    assert "The session 'sums' has ended: it made room for another session. This step did not run" in told
    assert "Invalid session name" in await refused(client, "run_code", code="1", session="../x")


async def test_two_clients_have_two_sessions_of_one_name(build: Build) -> None:
    server = build()
    async with connected(server, "legacy") as one, connected(server, "legacy") as two:
        await succeeded(one, "run_code", code="secret = 'hunter2'", session="same")
        assert "NameError" in await refused(two, "run_code", code="secret", session="same")
        assert (await succeeded(one, "run_code", code="secret", session="same"))["result"] == "hunter2"


async def test_over_http_a_session_needs_a_client_that_is_told_from_others(
    build: Build, settings: Settings
) -> None:
    async with listening(settings, server=build()) as url:
        async with Client(url) as nobody:
            told = await refused(nobody, "run_code", code="1", session="sums")
            assert "a client that can be identified" in told
        async with Client(url, mode="legacy") as one:
            await succeeded(one, "run_code", code="n = 20", session="sums")
            assert (await succeeded(one, "run_code", code="n", session="sums"))["result"] == 20
