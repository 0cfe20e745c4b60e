"""`alita bench extraction`: its pages, what it counts, and that it runs."""

from __future__ import annotations

import argparse

import pytest

from alita_mcp.errors import UsageError
from benchmarks import extraction
from benchmarks.extraction import contenders, measures

PAGE = (
    '<html><head><title>t</title></head><body><a href="/menu" data-link>menu</a><div data-main><p>Some words, some '
    'more.</p><table data-table><tr><th colspan="2">a</th></tr><tr><td>1</td><td><code>b|c</code></td></tr></table>'
    "</div></body></html>"
)


def run(*words: str) -> dict[str, object]:
    parser = argparse.ArgumentParser()
    extraction.add_arguments(parser)
    return extraction.run(parser.parse_args(words))


def test_the_marks_say_what_is_to_be_kept_and_no_contender_sees_them() -> None:
    page, truth = measures.page_and_truth(PAGE, "https://a.example/x")
    assert "data-" not in page
    assert truth.words == ["some", "words", "some", "more", "a", "1", "b", "c"]
    assert truth.rows == [["a"], ["1", "b|c"]]
    assert truth.links == {"https://a.example/menu"}


def test_there_are_twenty_pages_with_marks_of_each_kind() -> None:
    truths = [
        measures.page_and_truth(page.read_text(encoding="utf-8"), "https://a.example/")[1]
        for page in extraction.PAGES.glob("*.html")
    ]
    assert len(truths) >= 20
    assert all(len(truth.words) > 40 and truth.links for truth in truths)
    assert sum(bool(truth.rows) for truth in truths) >= 8


def test_words_cells_and_rows_are_counted_as_often_as_they_stand_there() -> None:
    assert measures.f1_of_words(["a", "b"], ["a", "b"]) == 1
    assert measures.f1_of_words(["a", "a", "c"], ["a"]) == 0.5
    assert measures.f1_of_words(["x"], ["a"]) == 0
    assert measures.words_of("Größe 3 橋を") == ["größe", "3", "橋", "を"]
    rows = measures.rows_of_bars("| a | `b\\|c` |\n| --- | --- |\n| 1 | [x](http://y) [3] |\nwords | no")
    assert rows == [["a", "b|c"], ["1", "x"]]
    assert measures.cells_kept(rows, [["1", "x"], ["a", "gone"]]) == 3
    assert measures.cells_kept([], [["1"]]) == 0


@pytest.mark.parametrize("name", ["ours", "trafilatura", "readability"])
def test_each_contender_gives_text_rows_and_links(name: str) -> None:
    page, _ = measures.page_and_truth(PAGE.replace("some more.", "some more. " * 30), "https://a.example/x")
    kept = contenders.available()[name](page, "https://a.example/x")
    assert "some more" in kept.text
    assert name == "readability" or ["1", "b|c"] in kept.rows  # which drops so small a table


def test_ours_keeps_the_marked_tables_and_links_of_every_page() -> None:
    result = run("-n", "1", "--only", "search_results", "statistics_table")
    total = result["all"]["ours"]  # type: ignore[index]
    assert total["cells"] == total["links"] == 1
    assert total["worst_f1"] > 0.9
    lines = extraction.table(result).split("\n")
    assert lines[1].startswith("search_results")
    assert lines[-3].startswith("ours")


def test_an_unknown_page_is_refused() -> None:
    with pytest.raises(UsageError, match="no page 'nope'"):
        run("--only", "nope")
