"""Pages that were read before, what a strange disk does to them, and how long they count by their headers."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.cache_folder import MAX_AGE_S
from alita_mcp.research.fetching.cache import (
    DEFAULT_S,
    LONGEST_S,
    Freshness,
    PageCache,
    freshness,
    page_key,
)
from alita_mcp.research.values import Document

pytestmark = [pytest.mark.anyio, pytest.mark.extra("web")]
FRESH = Freshness(may_keep=True, fresh_s=60.0, etag='"1"')
KEY = page_key("http://a.example/", is_allowed=False)


def page(text: str = "words") -> Document:
    return Document(url="http://a.example/", text=text)


def files(folder: Path) -> list[Path]:
    return list(folder.glob("*/*"))


async def test_what_is_kept_is_found_by_another_process_and_counts_for_its_time(tmp_path: Path) -> None:
    now = [1_000.0]
    cache = PageCache(tmp_path, 1_000_000, clock=lambda: now[0])
    await cache.keep(KEY, page(), FRESH)
    other = PageCache(tmp_path, 1_000_000, clock=lambda: now[0])
    found = await other.find(KEY)
    assert found is not None
    assert found.document == page()
    assert other.is_fresh(found)
    now[0] += 61
    assert not other.is_fresh(found)
    now[0] += MAX_AGE_S
    assert await other.find(KEY) is None
    now[0] = 10.0  # a clock that went back
    assert await other.find(KEY) is None


@pytest.mark.parametrize("damage", [b"", b"\xff\xff", b"{}", b"x" * 200, b"0" * 64 + b"\n{}"])
async def test_damaged_files_count_as_none(tmp_path: Path, damage: bytes) -> None:
    cache = PageCache(tmp_path, 1_000_000)
    await cache.keep(KEY, page(), FRESH)
    (place,) = files(tmp_path)
    place.write_bytes(damage)
    assert await cache.find(KEY) is None
    await cache.keep(KEY, page(), FRESH)
    assert await cache.find(KEY) is not None


async def test_a_page_of_another_url_in_a_pages_place_is_not_given(tmp_path: Path) -> None:
    cache = PageCache(tmp_path, 1_000_000)
    await cache.keep(KEY, page(), FRESH)
    (place,) = files(tmp_path)
    other = page_key("http://b.example/", is_allowed=False)
    there = tmp_path / other[:2] / f"{other}.json"
    there.parent.mkdir(exist_ok=True)
    place.rename(there)
    assert await cache.find(other) is None


async def test_the_folder_stays_within_its_bounds_and_large_pages_outside(tmp_path: Path) -> None:
    cache = PageCache(tmp_path, 100_000)
    await cache.keep(page_key("large", is_allowed=False), page("x" * 20_000), FRESH)
    assert files(tmp_path) == []
    for number in range(65):
        await cache.keep(page_key(str(number), is_allowed=False), page("x" * 5_000), FRESH)
    kept = sum(place.stat().st_size for place in files(tmp_path))
    assert kept < 200_000
    (tmp_path / "aa").mkdir(exist_ok=True)
    orphan = tmp_path / "aa" / "left.new"
    orphan.write_bytes(b"half")
    os.utime(orphan, (1, 1))
    await PageCache(tmp_path, 1_000_000).keep(KEY, page(), FRESH)
    assert not orphan.exists()


async def test_a_cache_without_room_or_a_disk_without_writes_keeps_nothing(tmp_path: Path) -> None:
    none = PageCache(tmp_path / "none", 0)
    await none.keep(KEY, page(), FRESH)
    assert await none.find(KEY) is None
    (tmp_path / "file").write_bytes(b"")
    broken = PageCache(tmp_path / "file", 1_000_000)
    await broken.keep(KEY, page(), FRESH)
    assert await broken.find(KEY) is None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, Freshness(may_keep=True, fresh_s=DEFAULT_S)),
        ({"cache-control": "no-store", "etag": "1"}, Freshness(may_keep=False)),
        ({"vary": "*"}, Freshness(may_keep=False)),
        ({"cache-control": "no-cache"}, Freshness(may_keep=False)),
        ({"cache-control": "no-cache", "etag": "1"}, Freshness(may_keep=True, etag="1")),
        ({"cache-control": "private, Max-Age=90", "age": "30"}, Freshness(may_keep=True, fresh_s=60)),
        ({"cache-control": "max-age=99999999"}, Freshness(may_keep=True, fresh_s=LONGEST_S)),
        ({"cache-control": "max-age=-1"}, Freshness(may_keep=False)),
        (
            {"cache-control": "must-revalidate", "last-modified": "x"},
            Freshness(may_keep=True, last_modified="x"),
        ),
        ({"expires": "0", "etag": "1"}, Freshness(may_keep=True, etag="1")),
    ],
)
def test_headers_say_how_long_a_page_counts(headers: dict[str, str], expected: Freshness) -> None:
    assert freshness(httpx.Headers(headers)) == expected


@given(
    st.dictionaries(
        st.sampled_from(["cache-control", "expires", "date", "age", "etag", "vary"]),
        st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"])),
    )
)
def test_no_headers_break_it_or_count_for_ever(headers: dict[str, str]) -> None:
    said = freshness(httpx.Headers({name: value.encode("latin-1") for name, value in headers.items()}))
    assert 0 <= said.fresh_s <= LONGEST_S
