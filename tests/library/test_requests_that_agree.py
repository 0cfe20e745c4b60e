"""What example requests add to how a tool is found: much where they agree with it or one another, else little."""

from __future__ import annotations

import pytest

from alita_mcp.library.search.ranking import band, rank
from alita_mcp.library.words.documents import AGREED_FROM, MOST_AGREED, words_of
from alita_mcp.library.words.stems import stems
from alita_mcp.library.words.text import Document, compose
from tests.library.searching import corpus_of

TOOLS = {
    "resize_image": compose("resize_image", "Change the size of a picture."),
    "count_words": compose("count_words", "Count the words of a text."),
    "celsius_to_kelvin": compose("celsius_to_kelvin", "Convert a temperature from Celsius to kelvins."),
    "read_clock": compose("read_clock", "Tell the time in a city."),
}
TRADES = [
    "play some jazz music", "book a flight to Oslo", "order pizza for tonight", "water my tomato plants",
    "translate a poem into Latin", "find a dentist nearby", "mortgage rates this week", "repair a flat tyre",
    "knit a woollen scarf", "predict the election", "tune my guitar", "train a puppy", "brew strong coffee",
    "sell old furniture", "rent a bicycle", "insure my house", "paint a fence", "bake sourdough bread",
    "trade bitcoin", "catch a trout",
]  # fmt: skip


def first(need: str, tools: dict[str, Document]) -> tuple[str, str]:
    corpus = corpus_of(tools)
    words = corpus.distinct(need)
    found = rank(words, corpus.candidates(words), corpus).hits
    return (found[0].name, band(found[0].probability)) if found else ("", "none")


@pytest.mark.parametrize("about", ["Gives a result.", "Does whatever is asked for.", "Counts syllables."])
@pytest.mark.parametrize("shape", ["lines", "twice", "with one word", "all in each", "few"])
def test_requests_of_twenty_trades_win_none_of_them(about: str, shape: str) -> None:
    shapes = {
        "lines": TRADES,
        "twice": [each for need in TRADES[:10] for each in (need, f"please {need}")],
        "with one word": [f"syllable {need}" for need in TRADES],
        "all in each": [" ".join(TRADES[at:] + TRADES[:at])[:200] for at in range(20)],
        "few": TRADES[:5],
    }
    stuffed = compose("helper", about, requests=shapes[shape])
    won = [
        fit for name, fit in (first(need, TOOLS | {"helper": stuffed}) for need in TRADES) if name == "helper"
    ]
    assert "match" not in won
    assert len(won) - won.count("none") <= 2


def test_requests_that_agree_find_a_tool_whose_description_has_none_of_their_words() -> None:
    requests = [
        "what shall I wear at a wedding",
        "which shoes to wear at work",
        "I need to wear something warm",
    ]
    stylist = compose("able_style", "A fashion assistant.", requests=requests)
    assert first("what could I wear at the beach", TOOLS | {"able_style": stylist})[0] == "able_style"


@pytest.mark.parametrize("chosen", ["scale_photo", "frame_photo"])
def test_a_request_adds_to_what_the_tool_says_of_itself(chosen: str) -> None:
    tools = {
        name: compose(name, "Makes a photograph better.", requests=["shrink it"] if name == chosen else [])
        for name in ("scale_photo", "frame_photo")
    }
    assert first("shrink a photograph", TOOLS | tools)[0] == chosen


def test_what_requests_agree_on_is_few_words_of_many_of_them() -> None:
    wear, many = (
        words_of(compose("a", "b", requests=["wear hat", "wear coat", "wear gown", "hat"]), stems),
        words_of(compose("a", "b", requests=["jazz flight pizza tomato"] * 5), stems),
    )
    assert wear.agreed == ("wear", "hat")
    assert len(many.agreed) == MOST_AGREED
    assert set(many.lent) == {"jazz", "flight", "pizza", "tomato"}
    assert words_of(compose("a", "b", requests=["jazz"]), stems).agreed == ()
    assert words_of(compose("a", "b", requests=["jazz", "jazz", *TRADES[1:5]]), stems).agreed == (), (
        AGREED_FROM
    )
    assert words_of(compose("a", "b", requests=["please give jazz", "please give tea"]), stems).agreed == ()
