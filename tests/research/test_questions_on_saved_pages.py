"""Questions about the saved pages, all in one heap: is the answer shown?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from alita_mcp.research.passages import best_passages
from alita_mcp.research.reading.documents import read_document
from alita_mcp.research.values import Document

pytestmark = pytest.mark.extra("web")

PAGES = Path(__file__).with_name("pages")
JAPANESE = "\u6a4b\u306e\u9577\u3055\u306f\u4f55\u30e1\u30fc\u30c8\u30eb\u304b"
"""How many metres is the bridge long?"""
RUSSIAN = (
    "\u0421\u043a\u043e\u043b\u044c\u043a\u043e \u043c\u0451\u0434\u0430 \u0441\u044a\u0435\u0434\u0430\u0435\u0442 "
    "\u0441\u0438\u043b\u044c\u043d\u0430\u044f \u0441\u0435\u043c\u044c\u044f?"
)
"""How much honey does a strong colony eat?"""
EIGHT_TO_TWELVE = (
    "\u043e\u0442 \u0432\u043e\u0441\u044c\u043c\u0438 \u0434\u043e "
    "\u0434\u0432\u0435\u043d\u0430\u0434\u0446\u0430\u0442\u0438"
)
ARABIC = "\u0645\u0631\u0629 \u0641\u064a \u0643\u0644 \u0633\u0646\u062a\u064a\u0646"
"""Once in two years."""
QUESTIONS = (
    ("How many parcels may one request of the API return at most, and what is the default?", "1 to 200, default 50"),
    ("What acidity should sourdough have when it is shaped?", "I shape at 4.3"),
    ("Which change of plumb 2.4.0 breaks programs?", "no longer accepts bytes as a path"),
    ("How long is the walk along the stream with the mills?", "Eight kilometres"),
    ("How many geology courses are there?", "12 courses"),
    ("What was wrong with the capacitors of the old radio?", "electrolytic capacitors had leaked"),
    ("What is the separator of nested names in environment variables of Kestrel?", "two underscores"),
    ("What is the greatest depth of Lake Aldern?", "187 m"),
    ("What does the library charge for returning late?", "Twenty cents a day"),
    ("Why does a new chain slip on small cogs?", "worn cassette"),
    ("Was kostet der Jahresausweis f\u00fcr Familien?", "22,00 Euro"),
    (JAPANESE, "\u4e8c\u5341\u516b\u30e1\u30fc\u30c8\u30eb"),
    ("When was the highest temperature recorded at the weather station?", "36.8 C"),
    ("Until when does version 4.x get security fixes?", "until the end of 2027"),
    ("How many vehicles crossed the reopened bridge by eight o'clock?", "4,300 vehicles"),
    ("What was the net profit in the third quarter of 2025?", "| Net profit | 6.3"),
    ("How heavy is the Trail 2 tent?", "1.94 kg"),
    ("How do I merge overlapping intervals in Python?", "Sort the pairs by their start"),
    ("How much pearl barley does the soup need?", "150 g pearl barley"),
    (RUSSIAN, EIGHT_TO_TWELVE),
    ("Which map shows wooden bridges in yellow?", "Printed map, 1798"),
    ("How much coal went inward by rail in 2025?", "| Coal | 5,120 | 310 | 4,406 | 287 | 2,015"),
    ("When does the first bus leave the quay on Sunday?", "| Quay | 08:10 |"),
    ("How often do restorers examine a manuscript?", ARABIC),
)  # fmt: skip
"""One for each page, mostly in other words than its own, and how the page says the answer."""
FIRST, SHOWN = 22, 22
"""Of 24; 23 when this was written: the last question is in another language than its page."""


@pytest.fixture(scope="module")
def pages() -> Sequence[Document]:
    saved = sorted(PAGES.glob("*.html"))
    return [
        read_document(path.read_bytes(), "text/html; charset=utf-8", f"https://x/{path.stem}")
        for path in saved
    ]


async def test_the_answer_is_nearly_always_in_the_first_passage_or_within_300_tokens(
    pages: Sequence[Document],
) -> None:
    first, shown = [], []
    for question, answer in QUESTIONS:
        passages = await best_passages(question, pages, 300)
        if passages and answer in passages[0].text:
            first.append(question)
        if any(answer in passage.text for passage in passages):
            shown.append(question)
    missed = [question for question, _ in QUESTIONS if question not in shown]
    assert len(QUESTIONS) == 24
    assert len(first) >= FIRST, missed
    assert len(shown) >= SHOWN, missed
