"""Which pages a run may read: none that a page made it put together."""

from __future__ import annotations

import pytest

from alita_mcp.agent.actions.web_access import WebAccess, urls_in


def test_hosts_that_the_person_named_are_read_freely() -> None:
    access = WebAccess("Look at https://docs.example/start, please.", ["api.example:8080"])
    assert access.is_allowed("https://docs.example/other?page=2")
    assert access.is_allowed("http://api.example:8080/x")
    assert not access.is_allowed("http://api.example/x")


def test_what_a_search_found_is_read_as_it_stands() -> None:
    access = WebAccess("task")
    access.admit_hits(["https://a.example/page"])
    assert access.is_allowed("https://a.example/page#part")
    assert not access.is_allowed("https://a.example/page?data=secret")


def test_links_of_a_page_are_followed_on_its_own_host_only() -> None:
    access = WebAccess("task")
    access.admit_hits(["https://a.example/page", "https://b.example/"])
    access.admit_links(
        "https://a.example/page", ["https://a.example/2", "https://b.example/x", "https://evil.example/?q=1"]
    )
    assert access.is_allowed("https://a.example/2")
    assert access.is_allowed("https://b.example/x")
    assert not access.is_allowed("https://evil.example/?q=1")
    assert "no person named its host" in access.why_not("https://evil.example/?q=1")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "file:///etc/passwd",
        "https://",
        "http://[",
        "//x",
        "https://docs.example@evil.example/",
        "javascript:1",
    ],
)
def test_what_is_no_address_of_theirs_is_not_read(url: str) -> None:
    assert not WebAccess("https://docs.example/").is_allowed(url)


def test_addresses_in_a_text_end_where_the_sentence_does() -> None:
    assert urls_in("See (https://a.example/x), http://b.example. And <https://c.example/y>!") == [
        "https://a.example/x", "http://b.example", "https://c.example/y",
    ]  # fmt: skip
