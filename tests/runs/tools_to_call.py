"""A library with tools that code calls: well-behaved ones, and one for each way to fail."""

from __future__ import annotations

from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from alita_mcp.values import AcceptedVersion, Example, Grants, Limits
from alita_mcp.verification.code.contract import read_contract
from tests.library.factory import accepted

CODE = {
    "add_numbers": "def add_numbers(a: int, b: int = 1) -> int:\n    return a + b\n",
    "order_inside": '''from typing import Literal


def order_inside(mode: Literal["plain", "all of the zebra"] = "plain", times: int = 1) -> int:
    """Order inside. The zebra."""
    raise ValueError("Not so." + " " * times + "Here it comes, ".ljust(300, "x") + " zebra")
''',
    "repeat_text": "def repeat_text(text: str, times: int) -> list[str]:\n    return [text] * times\n",
    "never_ends": "def never_ends() -> int:\n    while True:\n        pass\n",
    "keyword_last": "def keyword_last(a: int = 1, *, b: int) -> int:\n    return a - b\n",
    "raise_error": """import json


class Unheard(LookupError):
    pass


def raise_error(how: str) -> int:
    if how == "json":
        json.loads("{")
    if how == "unicode":
        b"\\xff".decode()
    if how == "memory":
        return len(bytearray(1 << 30))
    if how == "exit":
        raise SystemExit(3)
    if how == "unheard":
        raise Unheard("of it")
    if how == "plain":
        raise Exception("just so")
    if how == "none":
        return None
    raise ValueError("not so")
""",
}
PASSING_ON = """import alita_tool


def {name}(a: int) -> int:
    return alita_tool.call_tool("{called}", a=a)
"""
CALLING = {
    "call_adder": "add_numbers",
    "call_itself": "call_itself",
    "call_first": "call_second",
    "call_second": "call_third",
    "call_third": "call_adder",
    "not_approved": "add_numbers",
}
LIMITS = {"never_ends": Limits(wall_seconds=2, cpu_seconds=2)}


def _tool(name: str, code: str, sandbox: str, calls: str = "") -> AcceptedVersion:
    made = accepted(
        name,
        f"Does what {name} says.",
        code=code,
        examples=(Example(arguments={}, expected=0),),
        sandbox=sandbox,
        limits=LIMITS.get(name, Limits()),
        grants=Grants(tools=(calls,) if calls else ()),
    )
    return made.model_copy(update={"contract": read_contract(code, name, made.draft.description)})


async def stock(settings: Settings, sandbox: str) -> Settings:
    """Publishes them as proved in one kind of sandbox; settings under which all but one may call others."""
    async with open_library(settings) as library:
        for name, code in CODE.items():
            await library.publish(_tool(name, code, sandbox), expected_version=0)
        for name, called in CALLING.items():
            code = PASSING_ON.format(name=name, called=called)
            await library.publish(_tool(name, code, sandbox, called), expected_version=0)
        for name in CALLING.keys() - {"not_approved"}:
            await library.approve(name)
    return settings
