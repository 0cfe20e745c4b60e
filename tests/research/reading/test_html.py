"""Pages in HTML: main text, tables, code and links as a reader of the page has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import UsageError
from alita_mcp.research.reading.documents import read_document
from alita_mcp.research.values import Document

pytestmark = pytest.mark.extra("web")

URL = "https://example.org/guide/page?page=2"
SENTENCES = (
    "Owls hunt at night and fly without a sound. They see well in the dark, and hear better still. " * 3
)


def read(body: str, head: str = "", url: str = URL) -> Document:
    page = f"<!doctype html><html><head><title>A page</title>{head}</head><body>{body}</body></html>"
    return read_document(page.encode(), "text/html; charset=utf-8", url)


def article(inside: str) -> str:
    return f"<main><article><h1>Owls</h1><p>{SENTENCES}</p>{inside}<p>{SENTENCES}</p></article></main>"


def test_tables_code_lists_and_headings_stand_in_the_text_as_markdown() -> None:
    table = """<table><caption>Prices</caption><tr><th>Fruit</th><th>old</th><th>new</th></tr>
      <tr><td>apple|pear</td><td>1</td><td>2<br>or 3</td></tr></table>"""
    inside = (
        f"{table}<h2>Kinds</h2><ul><li>barn owls<ul><li>of the north</li></ul></li><li>tawny_<code>owls</code></li>"
        "</ul><ol><li>first</li></ol><h3>Terms</h3><dl><dt>owl</dt><dd>a bird</dd></dl>"
        "<pre><code>def owls(n):\n\n    return  n * 2  # &lt;b&gt; \\[n\\]\n</code></pre>"
        "<pre><b>a</b>\n\n= 1<br>b</pre>"
    )
    text = read(article(inside)).text
    lines = [line.rstrip() for line in text.split("\n")]
    for line in (
        "# Owls",
        "| Fruit | old | new |",
        "| apple\\|pear | 1 | 2 or 3 |",
        "## Kinds",
        "- barn owls",
        "  - of the north",
        "- tawny_`owls`",
        "1. first",
        "### Terms",
    ):
        assert line in lines
    assert "```\ndef owls(n):\n    return  n * 2  # <b> \\[n\\]\n```" in text
    assert "```\na\n= 1\nb\n```" in text
    assert text.index("hear better") < text.index("| apple") < text.index("## Kinds")


def test_links_are_absolute_numbered_once_and_followed_by_those_outside_of_the_text() -> None:
    body = (
        '<nav><a href="/">Start</a><a href="/about"><img alt="About us" src="x"></a></nav>'
        + article('<p>See <a href="owls.html">the owls</a> and <a href="owls.html">again</a>, '
                  '<a href="#here">here</a>, <a href="mailto:a@b.c">mail</a>, <a href="javascript:x()">run</a>, '
                  '<a href="http://me:word@a.example/">in</a>, <a href="http://[">broken</a>.</p>')
        + '<div class="pager"><a href="?page=1">Previous</a><a href="?page=3" rel="next">Next »</a></div>'
    )  # fmt: skip
    document = read(body, head='<base href="https://other.example/base/"><link rel="next" href="?page=3">')
    by_text = {link.text: link for link in document.links}
    assert by_text["the owls"].url == "https://other.example/base/owls.html"
    assert by_text["Next »"].url == "https://other.example/base/?page=3"
    assert by_text["About us"].url == "https://other.example/about"
    assert len(document.links) == 6  # with "here": the base makes another page of it
    number = by_text["the owls"].number
    assert f"See the owls [{number}] and again [{number}]," in document.text
    outside = document.text.partition("## Other links on this page")[2].split("\n")
    names = [line.rpartition(" [")[0] for line in outside if line]
    assert names == ["- Previous", "- Next »", "- Start", "- About us"]


def test_a_page_of_nothing_but_a_table_is_its_table() -> None:
    rows = "".join(f"<tr><td>town {row}</td><td>{row * 1000}</td></tr>" for row in range(50))
    text = read(f"<h1>Towns</h1><table>{rows}</table>").text
    assert text.count("| town ") == 50
    assert "Towns" in text


def test_tables_that_lay_out_a_page_do_not_hide_its_text() -> None:
    inner = f"<h1>Owls</h1><p>{SENTENCES}</p>"
    body = f"<table><tr><td><table><tr><td>menu</td></tr></table></td><td>{inner}</td></tr></table>"
    assert "hear better still" in read(body).text


def test_what_no_reader_sees_is_not_read() -> None:
    hidden = (
        '<p style="display: none">obey one</p><p hidden>obey two</p><script>obey()</script>'
        '<template><p>obey three</p></template><div style="font-size:0px">obey four</div><!-- obey five -->'
        '<p style="opacity:0.5">faint words that a reader sees well enough to read them</p>'
    )
    text = read(article(hidden)).text
    assert "obey" not in text
    assert "faint words" in text


def test_a_page_without_a_main_part_is_read_whole() -> None:
    text = read("<div>one</div><div>two words</div>").text
    assert "one" in text
    assert "two words" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 50_000 + "deep",
        "<b><i>" * 20_000 + "deep",
        "<table><tr><td>" * 5_000 + "deep",
        "<ul><li>" * 5_000 + "deep",
        "<p " + " ".join(f"a{n}=1" for n in range(2_000)) + ">deep</p>",
        "&lt;" * 100_000 + "deep",
        f"<table><tr><td colspan=999999999 rowspan=999999999>deep</td></tr>{'<tr><td>x</td></tr>' * 300}</table>",
    ],
)
def test_pathological_markup_is_read_or_refused(body: str) -> None:
    try:
        assert len(read(body).text) < 5_000_000
    except UsageError as refused:
        assert "readable" in refused.message  # noqa: PT017 - both ends are right


def test_markup_without_text_is_refused() -> None:
    for body in ("", "<script>x()</script>", "<img src=x>"):
        with pytest.raises(UsageError, match="no readable text"):
            read(body)


PIECES = st.sampled_from(
    ["<table>", "<tr>", "<td colspan=2>", "</td>", "</table>", "<th rowspan=3>", "<pre>", "</pre>", "<a href='?p=2'>",
     "</a>", "<li>", "<ul>", "</ul>", "<p>", "words of a page ", "<br>", "<h1>", "</h1>", "<blockquote>", "<nav>", "|",
     "<img alt=x>", "<base href='//['>", "<frameset>", "</body>", "</html>", "\0", "\ufffe", "[1]", "<div hidden>"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_markup_breaks_it(body: str) -> None:
    try:
        document = read_document(body.encode("utf-8", "surrogatepass"), "text/html", URL)
    except UsageError:
        return
    assert [link.number for link in document.links] == list(range(1, len(document.links) + 1))
    assert all(link.url.startswith(("http://", "https://")) for link in document.links)


def test_a_thread_keeps_who_wrote_what() -> None:
    posts = "".join(
        f'<div class="post"><div class="author">{name}</div><div class="message"><p>{SENTENCES}</p></div></div>'
        for name in ("marta", "gearhead")
    )
    text = read(f'<div class="posts"><h1>Owls</h1>{posts}</div>').text
    assert "marta" in text
    assert "gearhead" in text


def test_headings_are_looked_for_again_where_the_main_text_lacks_them() -> None:
    rules = "".join(
        f"<h2>§ {n} Rule</h2><p>({n}) Everyone may use the library. {SENTENCES}</p>" for n in range(1, 5)
    )
    head = '<div class="kopf"><a href="/">Home</a></div><div class="navi"><a href="/a">A</a></div>'
    lines = read(
        f'{head}<div class="inhalt"><h1>Statute</h1><p>The council decided:</p>{rules}</div>'
    ).text.split("\n")
    assert "# Statute" in lines
    assert "## § 4 Rule" in lines


def test_what_is_left_out_is_said() -> None:
    assert "nested too deeply" in read("<p>first</p>" + "<div><p>word</p>" * 1_000).text
    links = "".join(f'<a href="/{number}">link {number}</a> ' for number in range(1_200))
    document = read(f"<nav>{links}</nav>{article('')}")
    assert len(document.links) == 1_000
    assert document.text.endswith("(800 more links are not listed here)\n(links after these have no numbers)")
