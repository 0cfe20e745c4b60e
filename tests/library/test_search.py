"""Search: the right tool, an honest band, fresh at once, and an answer to whatever is asked."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.library.search.answer import band
from alita_mcp.library.search.signature import signature_of
from alita_mcp.library.versions.files import manifest_of
from alita_mcp.library.words.documents import Document
from alita_mcp.library.words.text import clean_query, split_words
from tests.library.factory import accepted, opened, publish_six, simple
from tests.library.searching import ranked

NEEDS = [
    ("slugify", "turn this title into a url slug"),
    ("word_count", "count the words in a text"),
    ("celsius_to_fahrenheit", "convert celsius to fahrenheit"),
    ("roman_numeral", "write the number 12 as a roman numeral"),
    ("csv_to_json", "parse csv into json objects"),
    ("days_between", "how many days between two dates"),
]
UNRELATED = ["book a flight to Tokyo", "play some jazz", "who won the world cup", "send an email to my boss"]
HOSTILE = [
    "", " ", "\x00", "\ud800", "'; DROP TABLE tools; --", "name = 'x' OR 1=1", "日本語で何か", "🙂" * 500, "\u202eevil",
    "สวัสดีชาวโลก", "把图片旋转九十度", "NEAR(slug title)", "slug* AND NOT title", "-slug", "words : slug",
    "^slug", "{slug}",
    "a" * 1_000_000, "slug " * 100_000, "\n\t\r", "*", "\"unbalanced", "(((", "field:value AND NOT x~2^3", "\\", "%s%n",
]  # fmt: skip


async def test_six_tools_answer_their_own_needs_and_no_others(home: Path) -> None:
    with anyio.fail_after(120):
        async with opened(home) as library:
            await publish_six(library)
            for name, need in NEEDS:
                answer = await library.search(need, 5)
                assert (answer.results[0].name, answer.fit) == (name, "match"), (need, answer)
                assert answer.total == 6
                assert answer.results[0].score >= 0.7
                assert all(hit.score >= answer.results[0].score / 2 for hit in answer.results)
                scores = [hit.score for hit in answer.results]
                assert scores == sorted(scores, reverse=True)
            for need in UNRELATED:
                answer = await library.search(need, 5)
                assert answer.fit == "none", (need, answer)
                assert len(answer.results) == 3
                assert all(hit.score < 0.39 for hit in answer.results)


async def test_example_requests_find_a_tool_that_its_description_does_not(home: Path) -> None:
    async with opened(home) as library:
        await publish_six(library)
        assert (await library.search("kebab case for a headline", 5)).results[0].name == "slugify"
        assert (await library.search("how long until christmas", 5)).results[0].name == "days_between"


async def test_hostile_queries_are_answered_like_any_other(home: Path) -> None:
    with anyio.fail_after(120):
        async with opened(home) as library:
            for when_empty in (True, False):
                for query in HOSTILE:
                    answer = await library.search(query, 5)
                    assert answer.total == (0 if when_empty else 6)
                    assert len(answer.results) == (0 if when_empty else len(answer.results))
                    if query.strip() in ("", "*", "(((", "\\"):
                        assert answer.fit == "none"
                if when_empty:
                    await publish_six(library)


async def test_a_long_ramble_that_shares_a_word_is_no_match(home: Path) -> None:
    ramble = (
        "please help me plan the holidays of our whole family with flights hotels and museums " * 20 + "text"
    )
    async with opened(home) as library:
        await publish_six(library)
        assert (await library.search(ramble, 5)).fit != "match"


async def test_one_shared_word_is_no_match_for_want_of_rivals(home: Path) -> None:
    async with opened(home) as library:
        await publish_six(library)
        for need in ("write a poem", "parse this sentence", "temperature forecast"):
            answer = await library.search(need, 5)
            assert answer.results[0].score > 0
            assert answer.fit != "match", (need, answer)


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 20])
async def test_no_more_results_than_asked_for(home: Path, limit: int) -> None:
    async with opened(home) as library:
        await publish_six(library)
        for query in ("count words of a text", "book a flight to Tokyo"):
            answer = await library.search(query, limit)
            assert min(limit, 1 if answer.fit == "match" else 3) <= len(answer.results) <= limit
            assert len({hit.name for hit in answer.results}) == len(answer.results)


async def test_what_is_published_is_found_at_once_and_what_is_gone_is_not(home: Path) -> None:
    with anyio.fail_after(60):
        async with opened(home) as library:
            await publish_six(library)
            await library.search("warm up", 1)
            await library.publish(simple("archive", "Compress a folder into a zip."), expected_version=0)
            answer = await library.search("compress a folder", 5)
            assert (answer.results[0].name, answer.fit) == ("archive", "match")
            await library.publish(simple("archive", "Bundle files."), expected_version=1)
            assert (await library.search("compress a folder", 5)).fit != "match"
            for gone in (library.disable, library.delete):
                await gone("archive")
                answer = await library.search("bundle files", 20)
                assert "archive" not in [hit.name for hit in answer.results]
                assert answer.total == 6
                await library.enable("archive")
                assert (await library.search("bundle files", 20)).results[0].name == "archive"


async def test_a_hit_says_how_the_tool_is_called(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        hit = (await library.search("url slug", 5)).results[0]
        assert hit.signature == "slugify(text: str, max_length?: int) -> str"
        assert (hit.version, hit.trust, hit.summary) == (1, "verified", "Turn a title into a URL slug.")


def test_signatures_spell_out_lists_objects_and_choices() -> None:
    schema = {
        "type": "object",
        "properties": {
            "rows": {
                "type": "array",
                "items": {"type": "object", "additionalProperties": {"type": "number"}},
            },
            "mode": {"type": "string", "enum": ["a", "b"]},
            "options": {"type": "object", "properties": {}},
            "flag": {"type": "boolean"},
            "anything": {},
        },
        "required": ["rows"],
    }
    one = accepted("a_tool", input_schema=schema, output_schema={"type": "object", "properties": {}})
    assert signature_of(manifest_of(one, 1)) == (
        "a_tool(rows: list[dict[str, float]], mode?: 'a' | 'b', options?: dict, flag?: bool, anything?: any) -> dict"
    )


async def test_similar_tools_are_named_best_first(home: Path) -> None:
    async with opened(home) as library:
        assert await library.similar("anything") == ()
        await publish_six(library)
        names = await library.similar("url_slug Make a URL slug from the title of a text")
        assert names[0] == "slugify"
        assert len(names) <= 5
        assert await library.similar("zzz qqq") == ()


@pytest.mark.one_machine
async def test_reindex_counts_the_rows_and_quarantines_what_was_changed(home: Path) -> None:
    async with opened(home) as library:
        await publish_six(library)
        assert await library.reindex() == 6
        (home / "generated_tools" / "word_count" / "v1" / "tool.py").write_text("evil = 1\n")
        assert await library.reindex() == 5
        assert library.entry("word_count").state == "quarantined"
        assert "word_count" not in await library.similar("count the words of a text")


words = st.text(st.characters(codec="utf-8"), max_size=40)


@given(
    st.dictionaries(st.from_regex(r"[a-z_]{3,9}", fullmatch=True), words, max_size=8), st.text(max_size=60)
)
def test_probabilities_are_probabilities_in_falling_order(texts: dict[str, str], query: str) -> None:
    documents = {name: Document(name, text, requests=(text[::-1],)) for name, text in texts.items()}
    for cosines in (None, dict.fromkeys([*texts, "gone"], 0.5)):
        hits = ranked(clean_query(query), documents, cosines).hits
        values = [hit.probability for hit in hits]
        assert values == sorted(values, reverse=True)
        assert all(0 <= value <= 1 for value in values)
        assert {hit.name for hit in hits} <= texts.keys()


def test_the_bands_stand_where_the_design_puts_them() -> None:
    assert [band(value) for value in (0.7, 0.699, 0.39, 0.389, 0.0)] == [
        "match", "possible", "possible", "none", "none",
    ]  # fmt: skip


def test_identifiers_are_split_into_words() -> None:
    assert split_words("toCSVFile_v2-final.txt") == "to CSV File v2 final txt"
