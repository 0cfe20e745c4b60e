"""Attack by keyword stuffing: how many needs tools win that are stuffed with words of other domains.

Each stuffed tool stands alone among the set's own, but for the twins. Its words are taken from the very needs that are
asked, which is the most that its author could know.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise

from alita_mcp.library.words.documents import Document, compose
from alita_mcp.library.words.text import plain_tokens
from alita_mcp.verification.static.wording import MAX_DESCRIPTION, MAX_REQUEST, MAX_REQUESTS
from benchmarks.retrieval import asking, needs, search_under_test

ASKED, TWINS = 60, 5
NAME = "stuffed_tool"
PLAIN = "Gives a result."
Lines = list[str]
HONEST = ["how many syllables has this verse", "count syllables of a line", "syllables in my haiku"]


def stuffed_tools(asked: Sequence[str], descriptions: Sequence[str], seed: int = 0) -> dict[str, Document]:
    """One tool of each kind, by its kind."""
    chance = random.Random(seed)

    def lines(count: int) -> Lines:
        return chance.sample(list(asked), min(count, len(asked)))

    def words(count: int) -> Lines:
        return [word for line in lines(count) for word in plain_tokens(line)]

    def salads(trades: int, count: int) -> Lines:
        every = words(trades)
        return [" ".join(chance.sample(every, len(every))) for _ in range(count)]

    def chain() -> Lines:
        every = lines(MAX_REQUESTS + 1)
        return [f"{one} {other}" for one, other in pairwise(every)]

    made: dict[str, tuple[str, Lines]] = {
        "list of 20": (PLAIN, lines(20)),
        "list of 8": (PLAIN, lines(8)),
        "list of 5": (PLAIN, lines(5)),
        "keywords": (PLAIN, [" ".join(plain_tokens(line)[:3]) for line in lines(20)]),
        "a word a line": (PLAIN, chance.sample(words(20), 20)),
        "salad of 20 trades": (PLAIN, salads(20, 20)),
        "salad of 6 trades": (PLAIN, salads(6, 20)),
        "two salads": (PLAIN, salads(20, 2)),
        "one broad word": ("Handles data.", [f"data: {line}" for line in lines(20)]),
        "broad words": (
            "Handles personal data requests.",
            [f"personal data requests: {line}" for line in lines(20)],
        ),
        "broad verbs": (
            "Finds and converts.",
            [f"{verb} {line}" for verb in ("find", "convert") for line in lines(10)],
        ),
        "copies": (PLAIN, chance.sample(list(descriptions), min(20, len(descriptions)))),
        "chain": (PLAIN, chain()),
        "pairs": (PLAIN, [each for line in lines(10) for each in (line, f"please {line}")]),
        "fives": (PLAIN, [f"{how} {line}" for line in lines(4) for how in ("", "please", "now", "quickly", "hey")]),
        "half honest": ("Counts the syllables of a verse.", HONEST + lines(17)),
    }  # fmt: skip
    return {kind: _document(said, requests) for kind, (said, requests) in made.items()}


def described(asked: Sequence[str], trades: int = 20) -> Document:
    """A tool whose description lists other domains, which nothing else in it mentions."""
    return _document(f"Can {'; '.join(asked[:trades])}."[:MAX_DESCRIPTION], [])


def _document(said: str, requests: Lines) -> Document:
    return compose(
        NAME, said, [("value", "")], requests=[line[:MAX_REQUEST].strip() for line in requests[:MAX_REQUESTS]]
    )


async def measure(of: asking.Set, seed: int = 0) -> dict[str, Mapping[str, float | int]]:
    """Counts the needs that each kind of tool wins."""
    chance = random.Random(seed)
    every = [*of.queries, *of.outside]
    asked = chance.sample(every, min(ASKED, len(every)))
    told = [need.query for need in asked]
    tools = stuffed_tools(told, [f"{each.name}: {each.description}" for each in of.documents.values()], seed)
    found = {kind: await _wins(of, asked, tool) for kind, tool in tools.items()}
    found["five twins"] = await _wins(of, asked, tools["list of 20"], TWINS)
    found["description of 20"] = await _wins(of, asked, described(told))
    return found


async def _wins(
    of: asking.Set, asked: Sequence[needs.Need], tool: Document, twins: int = 1
) -> dict[str, float | int]:
    stuffed = {f"{NAME}_{number}": tool for number in range(twins)}
    won: list[str] = []
    async with search_under_test.opened({**of.documents, **stuffed}) as finder:
        mixed = asking.Set(of.name, of.documents, asked)
        for answered in (await asking.ask_finder(mixed, finder, by_meaning=False)).answered:
            won += [answered.band] if stuffed.keys() & answered.names[:1] else []
    return {"first": len(won), "possible": len(won) - won.count("none"), "match": won.count("match")}
