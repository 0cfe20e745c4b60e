"""Tools of the library as code calls them through `alita_tools`, and what hostile code gets from its doors."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client

from alita_mcp.library.opening import open_library
from alita_mcp.runs import execution
from alita_mcp.settings import Settings
from tests.runs.conftest import KINDS
from tests.server.in_memory import refused, succeeded
from tests.tables import each_case

pytestmark = pytest.mark.slow
ASK = "import alita_tools, sys\nask = sys.modules['alita_tool']._ask\n"
TRY = """
def attempt(door, words):
    try:
        return ask(door, words)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
"""


async def result(client: Client, code: str, **more: Any) -> Any:
    return (await succeeded(client, "run_code", code=code, **more))["result"]


@pytest.mark.parametrize("kind", KINDS)
async def test_one_run_calls_ten_tools_and_gives_their_sum(client: Client) -> None:
    ten = "from alita_tools import add_numbers\nsum(add_numbers(n, b=n) for n in range(10))"
    assert await result(client, ten) == 90


@pytest.mark.embedded_first
@pytest.mark.parametrize("kind", KINDS)
async def test_megabytes_are_summed_inside_and_only_the_sum_comes_out(client: Client) -> None:
    code = """
from alita_tools import repeat_text
texts = ["x" * 90, "ü" * 45, "\\U0001f600" * 22, '"\\\\' * 22]
many = [repeat_text(text, 10_000) for text in texts]
[all(each == [text] * 10_000 for each, text in zip(many, texts)), sum(map(len, many))]
"""
    assert await result(client, code) == [True, 40_000]


async def test_a_result_over_the_limit_of_its_tool_says_so(client: Client) -> None:
    code = "from alita_tools import repeat_text\nrepeat_text('x' * 100, 20_000)"
    said = await refused(client, "run_code", code=code)
    assert "RuntimeError: repeat_text failed (bad_result): the result has" in said
    assert "result_bytes" in said


@each_case(
    "call, words",
    [
        ("add_numbers()", "TypeError: add_numbers: lacks 'a'"),
        ("add_numbers(1, 2, 3)", "TypeError: add_numbers: takes 2 arguments, but 3 were given"),
        ("add_numbers(1, c=2)", "TypeError: add_numbers: has no parameter 'c'"),
        ("add_numbers(1, a=2)", "TypeError: add_numbers: got 'a' twice"),
        ("add_numbers('one')", "ValueError: add_numbers: a: 'one' is not an integer"),
        ("add_numbers(object())", "TypeError: add_numbers: Object of type object is not JSON serializable"),
        ("add_numbers(float('nan'))", "ValueError: add_numbers: Out of range float values are not JSON"),
        ("add_numbers('x' * 2_000_000)", "ValueError: add_numbers: a question of 2000"),
        ("add_numbers('\\ud800')", "ValueError: add_numbers: "),
    ],
)
async def test_a_wrong_call_shows_how_the_tool_is_called(client: Client, call: str, words: str) -> None:
    said = await refused(client, "run_code", code=f"from alita_tools import add_numbers\n{call}")
    assert words in said
    assert "add_numbers(a: int, b?: int) -> int" in said


async def test_an_unknown_tool_is_an_import_error_with_the_nearest_names(client: Client) -> None:
    said = await refused(client, "run_code", code="from alita_tools import add_number")
    assert "ImportError: There is no tool 'add_number'. Did you mean add_numbers?" in said
    assert "search_capabilities finds tools" in said
    said = await refused(client, "run_code", code="import alita_tools\nalita_tools.zzz")
    assert "ImportError: There is no tool 'zzz'. A search finds tools by what they do." in said
    assert await result(client, "import alita_tools\nhasattr(alita_tools, '_x')") is False


@each_case(
    "how, caught, words",
    [
        ("value", "ValueError", "raise_error: not so"),
        ("json", "ValueError", "raise_error failed (JSONDecodeError): Expecting property name"),
        ("unicode", "UnicodeError", "raise_error: 'utf-8' codec"),
        ("unheard", "LookupError", "raise_error failed (Unheard): of it"),
        ("plain", "RuntimeError", "raise_error failed (Exception): just so"),
        ("exit", "RuntimeError", "raise_error failed (SystemExit): 3"),
        ("memory", "RuntimeError", "raise_error failed (memory): used more than"),
        ("none", "RuntimeError", "raise_error failed (bad_result)"),
    ],
)
async def test_errors_of_tools_are_those_of_python_or_runtime_errors(
    client: Client, how: str, caught: str, words: str
) -> None:
    code = (
        "from alita_tools import raise_error\n"
        f"try:\n    raise_error({how!r})\nexcept Exception as e:\n    result = [type(e).__name__, str(e)]"
    )
    kind, said = await result(client, code)
    assert kind == caught
    assert said.startswith(words)


async def test_a_tool_that_nobody_approved_says_what_to_do(client: Client, settings: Settings) -> None:
    said = await refused(client, "run_code", code="from alita_tools import not_approved\nnot_approved(1)")
    assert "nobody approved" in said
    assert "alita approve not_approved" in said
    async with open_library(settings, starters=lambda: None) as library:
        await library.disable("add_numbers")
    said = await refused(client, "run_code", code="from alita_tools import add_numbers\nadd_numbers(1)")
    assert "RuntimeError: add_numbers: add_numbers is disabled." in said


async def test_the_hundred_and_first_call_is_refused_by_name(client: Client) -> None:
    code = """
from alita_tools import add_numbers
done = 0
try:
    while True:
        done = add_numbers(done)
except RuntimeError as problem:
    result = [done, str(problem)]
"""
    assert await result(client, code) == [100, "more than 100 tool calls in one run"]


async def test_code_cannot_be_called_from_inside_and_has_no_other_doors(client: Client) -> None:
    said = await refused(client, "run_code", code="from alita_tools import run_code")
    assert "There is no tool 'run_code'" in said
    code = (
        ASK + TRY + "[attempt(d, {'name': 'add_numbers'}) for d in ('call_tool', 'secret', 'tools.stop', '')]"
    )
    assert all(said.startswith("PermissionError: alita_tool") for said in await result(client, code))
    code = "import alita_tool # alita_tools\nalita_tool.call_tool('add_numbers', a=1)"
    assert "needs the grant 'tools': 'add_numbers'" in await refused(client, "run_code", code=code)


async def test_forged_questions_get_words_and_harm_nobody(client: Client) -> None:
    garbage = """
asked = [
    ('describe', {}), ('describe', {'name': 5}), ('describe', {'name': 'x' * 1000}), ('describe', {'name': ''}),
    ('call', {'name': 'add_numbers', 'arguments': []}),
    ('call', {'name': '../etc', 'arguments': {}}), ('call', {'ticket': 1}), ('more', {'ticket': -1}),
]
[attempt(f'tools.{door}', words) for door, words in asked]
"""
    said = await result(client, ASK + TRY + garbage)
    assert all(each.split(":")[0] in {"ValueError", "RuntimeError"} for each in said), said
    assert "There is no tool '../etc'" in str(said)
    nothing = {"text": "", "more": False}
    assert await result(client, ASK + "[ask('tools.more', {}) for _ in range(100)]") == [nothing] * 100
    assert await result(client, "from alita_tools import add_numbers\nadd_numbers(1)") == 2


async def test_questions_end_at_their_limit(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "QUESTIONS", 500)
    code = ASK + TRY + "[attempt('tools.more', {}) for _ in range(501)][-1]"
    assert "broker_calls" in await result(client, code)
    assert await result(client, "from alita_tools import add_numbers\nadd_numbers(1)") == 2


async def test_names_are_counted_too(client: Client) -> None:
    code = ASK + TRY + "[attempt('tools.describe', {'name': 'add_numbers'}) for _ in range(201)][-1]"
    assert await result(client, code) == "RuntimeError: more than 200 names of tools looked up in one run"


@pytest.mark.parametrize("review", ["describe"])
async def test_of_a_tool_that_nobody_reviewed_code_reads_no_order(client: Client) -> None:
    told = await result(client, "import alita_tools\nalita_tools.order_inside.__doc__")
    assert "order_inside(mode?" in told
    assert "zebra" not in told
    for call, words in (
        ("times='x'", "ValueError: order_inside: times: 'x' is not an integer"),
        ("'all'", "ValueError: order_inside: an argument is none of the choices."),
        ("", "ValueError: order_inside: Not so. Here it comes, xxx"),
    ):
        said = await refused(client, "run_code", code=f"import alita_tools\nalita_tools.order_inside({call})")
        assert words in said
        assert "zebra" not in said


async def test_a_step_of_a_session_gets_no_result_that_an_earlier_step_left(client: Client) -> None:
    leave = (
        ASK
        + "ask('tools.call', {'name': 'repeat_text', 'arguments': {'text': 'x' * 90, 'times': 10_000}})['more']"
    )
    assert await result(client, leave, session="one") is True
    assert await result(client, "ask('tools.more', {})", session="one") == {"text": "", "more": False}
    add = "from alita_tools import add_numbers\nadd_numbers(20, b=22)"
    assert await result(client, add, session="one") == 42


THREADS = """
from concurrent.futures import ThreadPoolExecutor
from alita_tools import add_numbers, repeat_text
with ThreadPoolExecutor(20) as pool:
    sums = list(pool.map(add_numbers, range(30)))
    texts = list(pool.map(lambda n: len(repeat_text("x" * 90, times=n * 400)), range(20)))
[sums == list(range(1, 31)), texts == list(range(0, 8_000, 400))]
"""


@pytest.mark.bubblewrap
@pytest.mark.parametrize("kind", ["bubblewrap"])
async def test_threads_take_turns_and_each_gets_its_own_result(client: Client) -> None:
    assert await result(client, THREADS) == [True, True]
