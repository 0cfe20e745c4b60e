"""Names that imitate well-known packages, and names that only happen to be near them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from alita_mcp.research.index.look_alikes import disguise_of, look_alike_of, slip_of
from alita_mcp.research.index.well_known_names import CALLED, WELL_KNOWN
from alita_mcp.research.index.wheels import is_compatible, parse_python_tag
from tests.tables import each_case

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
        ("nurnpy", "numpy"),
    ],
)
def test_a_name_that_looks_the_same_is_a_disguise(name: str, known: str) -> None:
    assert disguise_of(name) == look_alike_of(name) == known


@each_case(
    "name, known",
    [
        ("reqeusts", "requests"),
        ("padnas", "pandas"),
        ("numpyy", ""),  # it may have a name of its own, as tomli has beside toml
        ("djagno", "django"),
        ("tensorfllow", "tensorflow"),
        ("crytography", "cryptography"),
        ("Python_Dateutli", "python-dateutil"),
        ("crypt0graphy", "cryptography"),
        ("nurnpy", "numpy"),
    ],
)
def test_a_slip_of_the_pen_is_seen_without_an_index(name: str, known: str) -> None:
    assert slip_of(name) == known


REAL = """
aiofile aiomysql azureml-core bio bs4 cchardet cssselect2 dataset django-filer django-rest-framework docx2pdf
docx2python dotenv fastai flask-restful flexparser frozendict futures git-python github3-py google-ads google-oauth
gsutil hjson httpie httpr ijson jsonpath jsonpath-rw jsons jwt levenshtein markdown2 markitdown marko
motor multipart nameparser nest-asyncio2 nose2 oauth2-client pamqp panda parse parsy pathy pyaml pydoe pyfiglet
pygit2 pyjson5 pymssql pymupdfb pypdf3 pypdf4 pypika pypyodbc pysocks pytest-env python-backoff python-nose
python-socks pytzdata requests-html requests3 retry2 rjson schedula sklearn spython tablib tensorboardx
tensorflowjs tokenize-rt torchx trino uamqp uri-template urllib2 usort xml2dict
"""


def test_real_neighbours_of_well_known_packages_are_no_slips() -> None:
    assert [name for name in REAL.split() if slip_of(name)] == []


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
    assert slip_of(name) in {"", *WELL_KNOWN}


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


@pytest.mark.parametrize(
    ("python_tag", "wheels"),
    [
        ("cp313-linux_x86_64", {"any", "manylinux", "abi3"}),
        ("cp313-linux_AMD64", {"any", "manylinux", "abi3"}),
        ("cp313-linux_x86_64_musl", {"any", "musl"}),
        ("cp312-linux_x86_64", {"any", "abi3"}),
        ("cp313-linux_arm64", {"any", "arm"}),
        ("cp313-wasi_wasm32", {"any"}),
    ],
)
def test_a_sandboxs_tag_says_which_wheels_it_takes(python_tag: str, wheels: set[str]) -> None:
    tags = {
        "any": "py2.py3-none-any",
        "old": "py2-none-any",
        "manylinux": "cp313-cp313-manylinux_2_17_x86_64.manylinux2014_x86_64",
        "abi3": "cp39-abi3-manylinux_2_28_x86_64",
        "arm": "cp313-cp313-manylinux_2_17_aarch64",
        "musl": "cp313-cp313-musllinux_1_2_x86_64",
        "windows": "cp313-cp313-win_amd64",
        "free-threaded": "cp313-cp313t-manylinux_2_17_x86_64",
    }
    python, taken = parse_python_tag(python_tag)
    assert python == (3, int(python_tag[3:5]))
    found = {name for name, tag in tags.items() if is_compatible(f"a-1-{tag}.whl", ">=3.9", python, taken)}
    assert found == wheels
    assert not is_compatible("a-1.tar.gz", "", python, taken)
    assert not is_compatible("a-1-py3-none-any.whl", ">=3.14", python, taken)


@pytest.mark.timeout(30)
def test_a_name_that_stands_for_a_million_tags_is_no_wheel() -> None:
    parts = ("py3.a", "none.b", "any.c")
    many = "-".join(".".join(f"{part}{number}" for number in range(100)) for part in parts)
    python, tags = parse_python_tag("cp313-wasi_wasm32")
    assert not any(is_compatible(f"a-1-{many}.whl", "", python, tags) for _ in range(1_000))
