"""Which pages a run may read: none that a page made it put together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from alita_mcp.agent.actions.web_access import WebAccess
from alita_mcp.errors import InvalidArguments
from alita_mcp.research.texts import urls_in
from alita_mcp.research.values import Document, Link
from tests.tables import each_case

PAGE = "https://a.example/page"


def page(url: str, *links: str) -> Document:
    numbered = tuple(Link(number=number, url=link, text="") for number, link in enumerate(links, 1))
    return Document(url=url, links=numbered)


def is_open(access: WebAccess, url: str) -> bool:
    try:
        access.open_request(url)
    except InvalidArguments:
        return False
    return True


def restricted(hits: Sequence[str] = ()) -> WebAccess:
    access = WebAccess("task")
    access.admit_hits(hits)
    access.has_private_data = True
    return access


NAMED = "https://docs.example"


@each_case(
    "url, opens, opens_after_private_data",
    [
        (f"{NAMED}/start", True, True),
        (f"{NAMED}/start///", True, True),
        (f"{NAMED}/other?page=2", True, False),
        ("http://api.example:8080/x", True, True),
        ("http://api.example/x", False, False),
        (PAGE, True, True),
        (f"{PAGE}#part", True, True),
        (f"{PAGE}?data=secret", False, False),
        ("", False, False),
        ("file:///etc/passwd", False, False),
        ("http://[", False, False),
        ("//x", False, False),
        ("https://docs.example@evil.example/", False, False),
        ("javascript:1", False, False),
    ],
)
def test_what_a_task_its_hosts_and_a_search_open(
    url: str, opens: bool, opens_after_private_data: bool
) -> None:
    access = WebAccess(f"Look at {NAMED}/start, please.", ["api.example:8080"])
    access.admit_hits([PAGE])
    assert is_open(access, url) is opens
    access.has_private_data = True
    assert is_open(access, url) is opens_after_private_data


def test_links_of_a_page_are_followed_on_its_own_host_only() -> None:
    access = WebAccess("task")
    access.admit_hits([PAGE, "https://b.example/"])
    links = ["https://a.example/2", "https://b.example/x", "https://evil.example/?q=1"]
    access.admit_page(PAGE, page(PAGE, *links))
    assert is_open(access, "https://a.example/2")
    assert is_open(access, "https://b.example/x")
    with pytest.raises(InvalidArguments, match="no person named its host"):
        access.open_request("https://evil.example/?q=1")


def test_what_a_model_made_up_is_redirected_only_to_where_the_run_may_read() -> None:
    access = WebAccess("https://docs.example/", ["api.example"])
    access.admit_hits([PAGE])
    _, may_follow = access.open_request("https://docs.example/?to=x")
    assert may_follow is not None
    assert (may_follow(PAGE), may_follow("https://evil.example/?d=secret")) == (True, False)
    access.has_private_data = True
    _, may_follow = access.open_request("https://api.example/?to=x")
    assert may_follow is not None
    assert (may_follow("https://api.example/y"), may_follow("https://docs.example/")) == (True, True)
    assert (may_follow(PAGE), may_follow("https://docs.example/?d=secret")) == (False, False)


def test_after_private_data_five_requests_a_host_are_left_and_twenty_in_all() -> None:
    hits = [f"https://{host}.example/{number}" for host in "abcdefg" for number in range(10)]
    access = restricted(hits=hits)
    opened = [url for url in hits if is_open(access, url)]
    assert opened == [url for url in hits if url[8] in "abcd" and int(url[-1]) < 5]
    assert not is_open(access, opened[0])


def test_after_private_data_redirects_to_other_hosts_count() -> None:
    access = restricted(hits=[PAGE])
    _, may_follow = access.open_request(PAGE)
    assert may_follow is not None
    assert [may_follow(f"https://evil.example/{number}") for number in range(7)] == [True] * 5 + [False] * 2


def test_after_private_data_a_page_is_read_again_from_the_copy() -> None:
    access = WebAccess("task")
    first = page(PAGE)
    access.admit_page("https://a.example/moved", first)
    assert access.find_page(PAGE) is None
    access.has_private_data = True
    assert access.find_page("https://a.example/moved/") is access.find_page(PAGE) is first


def test_a_person_names_an_address_in_an_answer() -> None:
    access = restricted()
    assert not is_open(access, PAGE)
    access.admit_named(f"Yes, read {PAGE}.")
    assert is_open(access, PAGE)
    assert not is_open(access, f"{PAGE}?d=secret")


def test_addresses_in_a_text_end_where_the_sentence_does() -> None:
    assert urls_in("See (https://a.example/x), http://b.example. And <https://c.example/y>!") == [
        "https://a.example/x", "http://b.example", "https://c.example/y",
    ]  # fmt: skip
