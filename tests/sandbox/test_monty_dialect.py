"""What the embedded interpreter lacks is named, and never taken for a mistake of the tool's."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.monty import MontySandbox
from alita_mcp.sandbox.monty_source import Broken, Source, read_source
from alita_mcp.sandbox.seam import Job, RunResult
from alita_mcp.settings import Settings


@pytest.fixture
async def monty(settings: Settings) -> AsyncIterator[MontySandbox]:
    sandbox = MontySandbox(settings)
    with anyio.fail_after(60):
        yield sandbox
    await sandbox.aclose()


async def run(sandbox: MontySandbox, code: str) -> RunResult:
    return await sandbox.run(Job(code=code, function="tool", arguments={}))


@pytest.mark.parametrize(
    ("code", "feature"),
    [
        ("class Wrong(ValueError):\n    pass\ndef tool():\n    raise Wrong", "class inheritance"),
        ("def tool():\n    yield 1", "yield expressions"),
        ("def tool():\n    x = {1: 2}\n    del x[1]", "the 'del' statement"),
        (
            "class A:\n    @property\n    def x(self):\n        return 1\ndef tool():\n    return A().x",
            "property",
        ),
        ("import statistics\ndef tool():\n    return 1", "the module 'statistics'"),
        ("def tool():\n    import textwrap\n    return 1", "the module 'textwrap'"),
        ("from urllib.parse import quote\ndef tool():\n    return quote('a b')", "the module 'urllib'"),
        ("import socket\ndef tool():\n    return 1", "the module 'socket'"),
        ("from collections import OrderedDict\ndef tool():\n    return 1", "collections.OrderedDict"),
        ("from string import Template\ndef tool():\n    return 1", "string.Template"),
        ("def tool():\n    return 'a'.translate(str.maketrans('a', 'b'))", "str.maketrans"),
        ("import sys\ndef tool():\n    sys.exit(1)", "sys.exit"),
        ("import re\ndef tool():\n    return re.compile('a').subn('b', 'a')", "re.Pattern.subn"),
        (
            "def tool():\n    counts = {'a': 1}\n    return max(counts, key=counts.get)",
            "dict.get as it is used",
        ),
        ("from collections import Counter\ndef tool():\n    return Counter('a').get", "Counter.get"),
        ("def tool():\n    return globals()", "the built-in 'globals'"),
        ("import re\ndef tool():\n    return re.sub('a', lambda m: 'b', 'a')", "callable replacement"),
        ("def tool():\n    raise ValueError(3)", "one string argument"),
    ],
)
async def test_a_missing_feature_is_named_with_the_way_out(
    monty: MontySandbox, code: str, feature: str
) -> None:
    with pytest.raises(SandboxRefused) as refused:
        await run(monty, code)

    assert feature in refused.value.message
    assert "Docker" in refused.value.hint
    assert "bubblewrap" in refused.value.hint


@pytest.mark.parametrize("line", ["import alita_tool", "from alita_tool import complete"])
async def test_alita_tool_is_refused_with_the_word_grant(monty: MontySandbox, line: str) -> None:
    with pytest.raises(SandboxRefused, match=r"alita_tool.*grant"):
        await run(monty, f"{line}\ndef tool():\n    return 1")


async def test_a_fallback_for_a_missing_module_is_the_tools_own_affair(monty: MontySandbox) -> None:
    code = (
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None\ndef tool():\n    return numpy is None"
    )

    assert (await run(monty, code)).value is True


async def test_typed_dicts_and_names_of_typing_in_annotations_work(monty: MontySandbox) -> None:
    code = (
        "from __future__ import annotations\n"
        "from typing import (\n    Any, Hashable,\n    NotRequired, TypedDict as TypedDict,\n)\n"
        "class Item(TypedDict):\n    '''One item.'''\n    name: str\n    price: NotRequired[float]\n"
        "class Priced(Item, total=False):\n    tax: float\n"
        "def tool(key: Hashable = 1) -> list[Priced]:\n"
        "    item: Item = Item(name='a')\n"
        "    return [item, Priced(name='b', tax=0.5)]\n"
    )

    assert (await run(monty, code)).value == [{"name": "a"}, {"name": "b", "tax": 0.5}]


async def test_lines_keep_their_numbers_when_a_typed_dict_is_rewritten(monty: MontySandbox) -> None:
    code = (
        "from typing import TypedDict\n\nclass A(TypedDict):\n    x: int\n\n    y: int\n\n"
        "def tool():\n    raise ValueError('here')\n"
    )
    result = await run(monty, code)

    assert result.trace == ("tool.py:9 in tool: raise ValueError('here')",)


@pytest.mark.parametrize(
    "code",
    [
        "x = 1\n",
        "from typing import Any, Optional\n",
        "import typing\ndef f(x: typing.Hashable): ...\n",
        "from typing import cast\ny = cast(int, 1)\n",
        "from typing import nothing_like_it\n",
        "class A(TypedDict):\n    x = 1\n",
        "@decorate\nclass A(TypedDict):\n    x: int\n",
        "def f():\n    class A(TypedDict):\n        x: int\n",
        "x = 1; from typing import Hashable\n",
        "from typing import Hashable; x = 1\n",
    ],
)
def test_code_that_needs_no_rewriting_or_cannot_have_it_stays_as_it_is(code: str) -> None:
    source = read_source(code)

    assert isinstance(source, Source)
    assert source.runnable == code


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_the_parser(end: str) -> None:
    code = f"x = '\x0c\u2028'{end}from typing import Hashable{end}y = 1{end}"
    source = read_source(code)

    assert isinstance(source, Source)
    assert source.runnable == f"x = '\x0c\u2028'{end}pass\ny = 1{end}"


def test_what_python_itself_does_not_parse_is_broken() -> None:
    deep = read_source("(" * 5_000 + ")" * 5_000)

    assert isinstance(deep, Broken)
    assert read_source("x = (") == Broken("SyntaxError", "'(' was never closed", 1)
