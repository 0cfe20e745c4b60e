"""Which parts of documents answer a question, within what budget, and what hostile text costs."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.research.passages import (
    CHARACTERS_A_TOKEN,
    MAX_PARTS,
    PART_CHARACTERS,
    best_passages,
    split_documents,
)
from alita_mcp.research.values import Document

FILLING = "Nothing of interest is said here about the weather of that year. "
ROWS = "\n".join(f"| bird{n} | {n * 10} g | {n} |" for n in range(200))
GUIDE = Document(
    url="https://owls.example/guide",
    title="A guide to owls",
    retrieved_at="2026-01-02T03:04:05+00:00",
    text=f"""# Owls

{FILLING * 8}

## Hearing

Their ears sit at different heights, so that sounds reach one before the other.

{FILLING * 12}

## Weights

| bird | weight | eggs |
|------|-------:|-----:|
{ROWS}

## Code

```python
def fly(height):

    # a blank line stands before this one
    return height
```

{FILLING * 12}
""",
)


async def test_the_part_that_answers_comes_first_with_its_address_and_time() -> None:
    first, *_ = await best_passages("At which heights do ears sit?", [GUIDE], 300)
    assert "different heights" in first.text
    assert first.text.startswith("## Hearing")
    assert (first.url, first.title, first.retrieved_at) == (GUIDE.url, GUIDE.title, GUIDE.retrieved_at)
    assert first.score > 0


async def test_rows_of_a_table_come_with_its_header_once() -> None:
    passages = await best_passages("What does bird150 weigh?", [GUIDE], 1_000)
    rows = next(passage for passage in passages if "| bird150 |" in passage.text)
    assert rows.text.startswith("| bird | weight | eggs |\n|------")
    assert rows.text.count("| bird | weight | eggs |") == 1
    assert rows.text.count("bird150 ") == 1


async def test_a_block_of_code_stays_whole() -> None:
    first, *_ = await best_passages("def fly height return", [GUIDE], 300)
    assert (
        "```python\ndef fly(height):\n\n    # a blank line stands before this one\n    return height\n```"
        in first.text
    )


@pytest.mark.parametrize("tokens", [100, 250, 1_000, 3_000])
async def test_all_passages_together_stay_within_the_budget(tokens: int) -> None:
    passages = await best_passages("weather year owls ears weight", [GUIDE, GUIDE], tokens)
    assert passages
    assert sum(len(passage.text) for passage in passages) <= tokens * CHARACTERS_A_TOKEN


async def test_what_several_pages_say_alike_is_said_once() -> None:
    said = "Sounds reach one ear of an owl before the other ear."
    copies = [Document(url=f"https://copy{n}.example/", text=said) for n in range(5)]
    other = Document(url="https://other.example/", text="Owl ears are hidden under feathers at each side.")
    passages = await best_passages("ears of an owl", [*copies, other], 1_000)
    assert [passage.url for passage in passages].count("https://other.example/") == 1
    assert len(passages) == 2


async def test_neighbouring_parts_are_one_passage_in_the_order_of_the_document() -> None:
    text = "\n\n".join(f"Owls number {n}: " + f"feather{n} " * 60 for n in range(3))
    (only,) = await best_passages("owls", [Document(url="u", text=text)], 1_000)
    assert only.text.index("number 0") < only.text.index("number 1") < only.text.index("number 2")


async def test_where_no_word_is_shared_each_document_gives_its_beginning() -> None:
    documents = [
        Document(url=f"u{n}", text=f"Anfang {n}.\n\n" + f"wort{n} " * 400 + f"\n\nEnde {n}.")
        for n in range(3)
    ]
    passages = await best_passages("zzz", documents, 900)
    assert {passage.url for passage in passages} == {"u0", "u1", "u2"}
    assert all(passage.text.startswith("Anfang") and passage.score == 0 for passage in passages[:3])


async def test_words_of_a_heading_find_what_stands_under_it() -> None:
    text = "# Migration\n\n" + FILLING * 20 + "\n\nThey leave in autumn.\n\n# Food\n\nThey eat mice."
    passages = await best_passages("migration in autumn", [Document(url="u", text=text)], 200)
    assert "leave in autumn" in passages[0].text


async def test_a_page_whose_script_sets_no_words_apart_is_ranked_too() -> None:
    filling = "\u4eca\u65e5\u306f\u5929\u6c17\u304c\u3044\u3044\u3067\u3059\u3002" * 60
    answer = "\u6e7f\u5ea6\u306e\u5358\u4f4d\u306f\u30b0\u30e9\u30e0\u3067\u3059\u3002"
    page = Document(url="u", text=f"{filling}\n\n{answer}\n\n{filling}")
    first, *_ = await best_passages("\u6e7f\u5ea6\u306e\u5358\u4f4d", [page], 300)
    assert answer in first.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "-" * 400_000 + "x",
        "|" * 400_000,
        "| -" * 100_000 + "\n" + "|-" * 200_000,
        "#" * 400_000,
        "# a\n" * 100_000,
        "```\n" * 100_000,
        "~~~\n" + "never closed\n" * 30_000,
        ". " * 200_000,
        "a" * 400_000,
        "| a |\n" * 60_000,
        "owl\u202e\u0000\ud800 " * 10_000,
    ],
    ids=lambda text: repr(text[:4]),
)
async def test_hostile_markup_costs_little_and_stays_within_the_budget(text: str) -> None:
    with anyio.fail_after(30):
        passages = await best_passages("a owl", [Document.model_construct(url="u", text=text, title="")], 500)
    assert sum(len(passage.text) for passage in passages) <= 500 * CHARACTERS_A_TOKEN


def test_each_document_has_its_share_of_the_parts() -> None:
    long = Document(url="long", text="\n\n".join("word " * 130 for _ in range(700)))
    short = Document(url="short", text="The last page.")
    parts = split_documents([long, long, long, long, long, short])
    assert len(parts) <= MAX_PARTS
    assert parts[-1].text == "The last page."


LINES = st.sampled_from(
    ["# head", "| a | b |", "|---|---|", "| 1 | 2 |", "", "```", "text. More text! " * 9, "x" * 900]
)


@given(st.lists(LINES, max_size=30))
def test_no_word_of_a_document_is_lost_by_splitting_it(lines: list[str]) -> None:
    parts = split_documents([Document(url="u", text="\n".join(lines))])
    every = "".join("".join(part.full_text for part in parts).split())
    for line in lines:
        if not line.startswith(("#", "|")):
            assert "".join(line.split())[:PART_CHARACTERS] in every
        elif line.strip("|- "):
            assert "".join(line.split()) in every
    assert [part.place for part in parts] == list(range(len(parts)))
