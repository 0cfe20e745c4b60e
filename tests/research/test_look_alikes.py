"""Names that imitate well-known packages, and names that only happen to be near them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from alita_mcp.research.index.look_alikes import slip_of
from alita_mcp.research.index.well_known_names import WELL_KNOWN
from tests.tables import each_case

ROOT = Path(__file__).resolve().parents[2]


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
        ("jeIlyfish", "jellyfish"),
        ("coIorama", "colorama"),
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


def test_well_known_names_resemble_none_however_they_are_written() -> None:
    assert [name for name in WELL_KNOWN if slip_of(name.upper().replace("-", "_"))] == []


def test_packages_that_this_project_is_locked_to_are_not_suspected() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    names = [package["name"] for package in lock["package"]]
    assert len(names) > 100
    assert [name for name in names if slip_of(name)] == []


def test_the_list_is_written_as_indexes_file_names() -> None:
    assert len(WELL_KNOWN) > 500
    assert [name for name in WELL_KNOWN if canonicalize_name(name) != name] == []


@given(st.text(max_size=60))
def test_any_name_is_judged(name: str) -> None:
    assert slip_of(name) in {"", *WELL_KNOWN}


@pytest.mark.parametrize("known", sorted(WELL_KNOWN)[::25])
@given(data=st.data())
def test_one_slip_of_the_pen_is_seen_in_long_names(known: str, data: st.DataObject) -> None:
    if len(known) < 6:
        return
    place = data.draw(st.integers(1, len(known) - 2))
    slipped = known[:place] + known[place + 1] + known[place] + known[place + 2 :]
    assert known == canonicalize_name(slipped) or canonicalize_name(slipped) in WELL_KNOWN or slip_of(slipped)
