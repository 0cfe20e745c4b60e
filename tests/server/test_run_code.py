"""Code that runs once, as clients of both protocol eras call for it and hear of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.in_memory import ERAS, Build, called, connected, refused, succeeded, text_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("era", ERAS)
async def test_the_last_expression_is_the_result_and_what_was_printed_comes_too(
    build: Build, era: str
) -> None:
    async with connected(build(), era) as client:
        done = await called(client, "run_code", code="print('hi')\nn * 2", arguments={"n": 21})

        assert not done.is_error
        told = done.structured_content
        assert (told["status"], told["result"], told["stdout"]) == ("ok", 42, "hi\n")
        assert len(told["run"]) == 32
        assert text_of(done).startswith("42\nstdout:\nhi\n")


async def test_results_are_json_or_their_repr_marked_as_such(build: Build) -> None:
    async with connected(build(), "modern") as client:
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


async def test_input_reads_the_lines_that_the_arguments_hold(build: Build) -> None:
    async with connected(build(), "modern") as client:
        code = "import sys\n[input('? '), input(), sys.stdin.read()]"
        told = await succeeded(client, "run_code", code=code, arguments={"input": ["a", "b", "c"]})
        assert told["result"] == ["a", "b", "c\n"]
        assert "stdout" not in told
        assert "EOFError: the script reads more lines" in await refused(client, "run_code", code="input()")


async def test_a_failure_shows_the_scripts_own_lines_and_what_it_printed_before(build: Build) -> None:
    code = "import json\ndef read(text):\n    return json.loads(text)\nprint('so far')\nread('{')"
    async with connected(build(), "modern") as client:
        done = await called(client, "run_code", code=code)

        assert done.is_error
        told = done.structured_content
        assert told["error"].startswith("JSONDecodeError: Expecting property name")
        assert told["stdout"] == "so far\n"
        assert 'File "script.py", line 5, in <module>' in told["trace"]
        assert "return json.loads(text)" in told["trace"]
        assert told["trace"].count("File ") == 2  # none of the library's own
        assert "so far" in text_of(done)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"code": "  "}, "There is no code"),
        ({}, "There is no code"),
        ({"code": "#" * 200_000}, "The code has 200,000 bytes, the limit is 100,000."),
        ({"code": "1", "arguments": {"not a name": 1}}, "is no name that code can use"),
        ({"code": "1", "arguments": {"__builtins__": {}}}, "is no name that code can use"),
        ({"code": "1", "arguments": {"class": {}}}, "is no name that code can use"),
        ({"code": "1", "arguments": "[1"}, "arguments is text that is not JSON"),
        ({"code": "def f(:"}, "SyntaxError: invalid syntax"),
        ({"code": "a\x00b"}, "SyntaxError"),
        ({"code": "while True: pass"}, "timeout"),
        ({"code": "x = bytearray(1 << 30)"}, "memory"),
        ({"code": "while True: print('y' * 10_000)"}, "output_flood"),
        ({"code": "1", "unknown": 1}, "unknown"),
        ({"code": "import os\nos._exit(0)"}, ""),
        ({"code": "raise KeyboardInterrupt"}, "KeyboardInterrupt"),
        ({"code": "def f(): f()\nf()"}, "RecursionError"),
    ],
)
async def test_bad_input_gets_a_clear_answer(build: Build, arguments: dict[str, object], words: str) -> None:
    async with connected(build(), "modern") as client:
        assert words in await refused(client, "run_code", **arguments)
        assert (await succeeded(client, "run_code", code="1 + 1"))["result"] == 2


async def test_nothing_of_a_run_is_left_for_the_next(build: Build) -> None:
    async with connected(build(), "modern") as client:
        leave = "import builtins, json, tempfile, pathlib\nbuiltins.kept = json.kept = 1\npathlib.Path('f').touch()"
        await succeeded(client, "run_code", code=leave)
        look = "import builtins, json, os\n[hasattr(builtins, 'kept'), hasattr(json, 'kept'), os.path.exists('f')]"
        assert (await succeeded(client, "run_code", code=look))["result"] == [False, False, False]


async def test_a_script_that_breaks_its_runner_is_told_so(build: Build) -> None:
    code = "import __main__, sys\nsys.modules['tool'].outcome_of = lambda value: ['forged']"
    async with connected(build(), "modern") as client:
        assert "crashed" in await refused(client, "run_code", code=code)


def test_the_program_inside_needs_nothing_but_the_standard_library() -> None:
    from alita_mcp.interpreter.program import program

    assert "alita_mcp" not in program()
    assert "import anyio" not in program()
    assert not Path("script.py").exists()
