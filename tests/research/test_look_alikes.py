"""Names that imitate well-known packages, and names that only happen to be near them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from alita_mcp.research.index.look_alikes import disguise_of, look_alike_of
from alita_mcp.research.index.well_known_names import CALLED, WELL_KNOWN
from alita_mcp.research.index.wheels import fits, linux_tags, pure_tags, tags_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("reqeusts", "requests"),
        ("request", "requests"),
        ("python-requests", "requests"),
        ("requests3", "requests"),
        ("python3-dateutil", "python-dateutil"),
        ("dateutil", "python-dateutil"),
        ("beautifulsoup", "beautifulsoup4"),
        ("learn-scikit", "scikit-learn"),
        ("sklearn", "scikit-learn"),
        ("pytorch", "torch"),
        ("djago", "django"),
        ("tensorfllow", "tensorflow"),
        ("urllib2", "urllib3"),
        ("attr", "attrs"),
    ],
)
def test_a_name_that_could_be_taken_for_another_is_seen(name: str, known: str) -> None:
    assert look_alike_of(name) == known


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("num-py", "numpy"),
        ("jeIlyfish", "jellyfish"),
        ("coIorama", "colorama"),
        ("crypt0graphy", "cryptography"),
        ("1xml", "lxml"),
        ("r\u0435quests", "requests"),
        ("p\u0430nd\u0430s", "pandas"),
        ("fl\u0251sk", "flask"),
        ("\uff46\uff4c\uff41\uff53\uff4b", "flask"),
        ("nu\u0301mpy", "numpy"),
        ("nurnpy", "numpy"),
    ],
)
def test_a_name_that_looks_the_same_is_a_disguise(name: str, known: str) -> None:
    assert disguise_of(name) == look_alike_of(name) == known


@pytest.mark.parametrize(
    "name",
    [
        "georinex",
        "flask-restx",
        "pydantic-ai",
        "pint-pandas",
        "pytest-timeout",
        "graphql-core",
        "owlery",
        "x",
        "",
    ],
)
def test_a_name_of_its_own_resembles_none(name: str) -> None:
    assert look_alike_of(name) == ""


def test_well_known_names_resemble_none_however_they_are_written() -> None:
    assert [
        name for name in WELL_KNOWN if look_alike_of(name) or disguise_of(name.upper().replace("-", "_"))
    ] == []


def test_packages_that_this_project_is_locked_to_are_not_suspected() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    names = [package["name"] for package in lock["package"]]
    assert len(names) > 100
    assert [name for name in names if look_alike_of(name)] == []


def test_the_list_is_written_as_indexes_file_names() -> None:
    assert len(WELL_KNOWN) > 500
    assert [
        name for name in (*WELL_KNOWN, *CALLED, *CALLED.values()) if canonicalize_name(name) != name
    ] == []
    assert [name for name in CALLED if name in WELL_KNOWN] == []
    assert [known for known in CALLED.values() if known not in WELL_KNOWN] == []


@given(st.text(max_size=60))
def test_any_name_is_judged(name: str) -> None:
    assert look_alike_of(name) in {"", *WELL_KNOWN}


@pytest.mark.parametrize("known", sorted(WELL_KNOWN)[::25])
@given(data=st.data())
def test_one_slip_of_the_pen_is_seen_in_long_names(known: str, data: st.DataObject) -> None:
    if len(known) < 6:
        return
    place = data.draw(st.integers(1, len(known) - 2))
    slipped = known[:place] + known[place + 1] + known[place] + known[place + 2 :]
    assert (
        known == canonicalize_name(slipped)
        or canonicalize_name(slipped) in WELL_KNOWN
        or look_alike_of(slipped)
    )


def test_a_sandboxs_tag_says_which_wheels_it_takes() -> None:
    assert tags_of("cp313-linux_x86_64") == ((3, 13), linux_tags((3, 13), "x86_64"))
    assert tags_of("cp311-linux_aarch64_musl") == ((3, 11), linux_tags((3, 11), "arm64", musl=True))
    assert tags_of("cp313-wasi_wasm32") == ((3, 13), pure_tags((3, 13)))
    with pytest.raises(ValueError, match="no tag"):
        tags_of("pp310-darwin")


def test_musl_takes_other_wheels_than_glibc() -> None:
    musl, glibc = linux_tags((3, 13), "x86_64", musl=True), linux_tags((3, 13), "AMD64")
    name = "a-1-cp313-cp313-musllinux_1_2_x86_64.whl"
    assert fits(name, "", (3, 13), musl)
    assert not fits(name, "", (3, 13), glibc)
    assert fits("a-1-py3-none-any.whl", ">=3.9", (3, 13), musl & glibc)
    assert not fits("a-1.tar.gz", "", (3, 13), glibc)


@pytest.mark.timeout(30)
def test_a_name_that_stands_for_a_million_tags_is_no_wheel() -> None:
    many = "-".join(
        ".".join(f"{part}{number}" for number in range(100)) for part in ("py3.a", "none.b", "any.c")
    )
    assert not any(fits(f"a-1-{many}.whl", "", (3, 13), pure_tags((3, 13))) for _ in range(1_000))
