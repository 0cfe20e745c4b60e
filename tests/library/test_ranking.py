"""Ranking by words and by meaning: what counts, in which order, and that no need and no library breaks it."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from alita_mcp.library.search.answer import band
from alita_mcp.library.search.ranking import Ranking, default_calibration
from alita_mcp.library.words.documents import Document, compose
from alita_mcp.library.words.text import clean_query
from tests.library.searching import ranked

ROOT = Path(__file__).resolve().parents[2]
TOOLS = {
    "image_resize": compose("image_resize", "Change the size of a picture."),
    "image_rotate": compose("image_rotate", "Rotate a picture by an angle."),
    "csv_to_json": compose("csv_to_json", "Parse comma separated text."),
    "translate_text": compose("translate_text", "Translate text into a language."),
    "weather_forecast": compose("weather_forecast", "Say what weather comes tomorrow."),
}
STRANGE = [
    "", " ", "🙂", "🙂" * 3_000, "把图片旋转九十度", "تدوير الصورة", "поверни картинку", "画像を回転",
    "the of and to a in", "x" * 100_000, "rotate " * 14_000, "\x00\x1f", "%", "a", "\u202erotate", "NEAR(a b)",
    '"', "words:plain OR *", " ".join(f"word{n}" for n in range(12_000)),
]  # fmt: skip
TRADES = [
    "play some jazz music", "book a flight to Oslo", "order pizza for tonight", "water my tomato plants",
    "translate a poem into Latin", "find a dentist nearby", "mortgage rates this week", "repair a flat tyre",
    "knit a woollen scarf", "predict the election", "tune my guitar", "train a puppy", "brew strong coffee",
    "sell old furniture", "rent a bicycle", "insure my house", "paint a fence", "bake sourdough bread",
    "trade bitcoin", "catch a trout",
]  # fmt: skip


@pytest.mark.parametrize("query", STRANGE, ids=range(len(STRANGE)))
@pytest.mark.parametrize("size", [0, 1, 5])
def test_no_need_and_no_size_of_library_breaks_the_ranking(query: str, size: int) -> None:
    documents = dict(list(TOOLS.items())[:size])
    for cosines in (None, {name: 0.1 * at for at, name in enumerate(documents)} | {"gone": 0.9}):
        ranking = ranked(clean_query(query), documents, cosines)
        assert {hit.name for hit in ranking.hits} <= documents.keys()
        assert all(0 <= hit.probability <= 1 and math.isfinite(hit.score) for hit in ranking.hits)
        assert all(map(math.isfinite, ranking.features.values()))


def test_tools_without_a_common_word_are_not_found_by_words() -> None:
    assert ranked("zyzzyva", TOOLS) == Ranking()
    assert ranked("rotate", TOOLS, {"nobody": 1.0}).hits[0].name == "image_rotate"


def test_words_of_the_same_meaning_find_a_tool_behind_those_that_have_the_words() -> None:
    assert ranked("photo", TOOLS).hits[0].name.startswith("image_")
    tools = TOOLS | {"photo_frame": compose("photo_frame", "Frame a photo.")}
    assert ranked("photo", tools).hits[0].name == "photo_frame"


def test_equal_tools_stand_in_the_order_of_their_names() -> None:
    twins = {name: Document("", "rotate a picture") for name in ("b", "c", "a")}
    by_words = ranked("rotate", twins).hits
    by_meaning = ranked("rotate", twins, {"c": 0.5, "a": 0.5 + 1e-13, "b": 0.5}).hits
    assert [hit.name for hit in by_words] == [hit.name for hit in by_meaning] == ["a", "b", "c"]


@pytest.mark.process
def test_the_ranking_is_the_same_whatever_the_seed_of_hashes() -> None:
    code = (
        "from tests.library.test_ranking import *\n"
        "print([(h.name, h.probability, h.score) for q in ('rotating pictures by angles', 'change text in the picture')"
        " for h in ranked(q, TOOLS).hits])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
            env={"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}, timeout=120,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(said) == 1
    assert "image_rotate" in said.pop()


def test_a_library_of_one_tool_is_not_sure_of_anything() -> None:
    one = {"csv_to_json": TOOLS["csv_to_json"]}
    many = {f"tool_{at}": compose(f"tool_{at}", f"Serves number {at}.") for at in range(40)}
    alone, among = (ranked("parse text", tools).hits[0] for tools in (one, one | many))
    assert alone.name == among.name == "csv_to_json"
    assert alone.probability < among.probability


@pytest.mark.slow
@pytest.mark.parametrize("cosine", [None, 0.2, 0.6])
@pytest.mark.parametrize("about", ["Gives a result.", "Does whatever is asked for.", "Counts syllables."])
@pytest.mark.parametrize("shape", ["lines", "twice", "with one word", "all in each", "few"])
def test_a_match_never_rests_on_example_requests_alone(about: str, shape: str, cosine: float | None) -> None:
    requests = {
        "lines": TRADES,
        "twice": [each for need in TRADES[:10] for each in (need, f"please {need}")],
        "with one word": [f"syllable {need}" for need in TRADES],
        "all in each": [" ".join(TRADES[at:] + TRADES[:at])[:200] for at in range(20)],
        "few": TRADES[:5],
    }
    tools = TOOLS | {"helper": compose("helper", about, requests=requests[shape])}
    cosines = cosine and dict.fromkeys(TOOLS, 0.1) | {"helper": cosine}
    for need in TRADES:
        for first in ranked(need, tools, cosines or None).hits[:1]:
            assert first.name != "helper" or band(first.probability) != "match", need


@pytest.mark.parametrize("trades", [3, 5, 20])
def test_a_description_of_several_trades_is_a_match_for_none_of_them(trades: int) -> None:
    listed = TRADES[:trades]
    tools = TOOLS | {"helper": compose("helper", f"Can {'; '.join(listed)}.")}
    for need in listed:
        for cosines in (None, dict.fromkeys(TOOLS, 0.1) | {"helper": 0.5}):
            first = ranked(need, tools, cosines).hits[0]
            assert first.name == "helper"
            assert band(first.probability) != "match", need


def test_a_request_adds_to_what_the_tool_says_of_itself() -> None:
    for chosen in ("scale_photo", "frame_photo"):
        tools = {
            name: compose(
                name, "Makes a photograph better.", requests=["shrink it"] if name == chosen else []
            )
            for name in ("scale_photo", "frame_photo")
        }
        assert ranked("shrink a photograph", TOOLS | tools).hits[0].name == chosen
    stylist = compose("able_style", "A fashion assistant.", requests=["what shall I wear at a wedding"])
    assert ranked("what could I wear today", TOOLS | {"able_style": stylist}).hits[0].name == "able_style"


def test_the_shipped_weights_are_those_of_the_features() -> None:
    assert default_calibration().weights.keys() == ranked("rotate a picture", TOOLS).features.keys()
