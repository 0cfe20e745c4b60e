"""The file with the token of a home: made once, private, and refused with the command that mends it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from alita_mcp.errors import LibraryError, UsageError
from alita_mcp.server.transports.http_token import (
    PAGES_KEY_FILE,
    STATE_KEY_FILE,
    ensure_key,
    ensure_token,
)
from alita_mcp.settings import Settings
from tests.postgres_cluster import PostgresServer
from tests.tables import each_case

KEYS = (PAGES_KEY_FILE, STATE_KEY_FILE)
LONG = "sixteen-letters!"
"""Just long enough."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_servers_that_start_at_once_agree_on_one_token(home: Path) -> None:
    barrier = Barrier(8)

    def start(_number: int) -> str:
        barrier.wait()
        return ensure_token(Settings(home=home))

    with ThreadPoolExecutor(8) as pool:
        tokens = {*pool.map(start, range(8))}
    assert len(tokens) == 1
    assert {ensure_token(Settings(home=home))} == tokens
    assert [path.name for path in home.iterdir()] == ["http_token"]
    assert (home / "http_token").read_text() == f"{tokens.pop()}\n"


@pytest.mark.skipif(os.name == "nt", reason="no permission bits")
def test_the_file_and_a_home_made_for_it_are_private_whatever_the_umask(home: Path) -> None:
    before = os.umask(0)
    try:
        ensure_token(Settings(home=home))
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home, home / "http_token")] == [0o700, 0o600]


def write(text: str, mode: int = 0o600) -> Callable[[Path], None]:
    def prepare(file: Path) -> None:
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)

    return prepare


def link(file: Path) -> None:
    real = file.with_name("real")
    write(LONG)(real)
    file.symlink_to(real)


@pytest.mark.skipif(os.name == "nt", reason="no permission bits")
@each_case(
    "prepare, problem, command",
    [
        (write(""), "this one 0", "Run: rm '{file}'"),
        (write(f"  {LONG[1:]}\n\n"), "at least 16 characters, this one 15", "Run: rm '{file}'"),
        (write("fünfzehn-und-mehr-zeichen"), "printable ASCII", "Run: rm '{file}'"),
        (write(f"{LONG}\n{LONG}"), "printable ASCII", "Run: rm '{file}'"),
        (write(LONG, 0o640), "others may access it (mode 640)", "Run: chmod 600 '{file}'"),
        (link, "it is a link", "remove it"),
        (lambda file: file.symlink_to("nowhere"), "it is a link", "remove it"),
        (os.mkfifo, "not a regular file", "remove it"),
        (Path.mkdir, "not a regular file", "remove it"),
    ],
)
def test_a_file_that_cannot_be_relied_on_is_refused_with_the_command(
    tmp_path: Path, prepare: Callable[[Path], None], problem: str, command: str
) -> None:
    home = tmp_path / f"a home {len(list(tmp_path.iterdir()))}"
    home.mkdir()
    prepare(home / "http_token")
    with pytest.raises(UsageError) as refused:
        ensure_token(Settings(home=home))
    assert problem in refused.value.message
    assert command.format(file=home / "http_token") in refused.value.hint
    assert not re.search("letters|zeichen", str(refused.value))


def test_a_home_that_cannot_hold_the_file_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="Cannot make the token file") as refused:
        ensure_token(Settings(home=tmp_path / "file" / "home"))
    assert "set ALITA_TOKEN" in refused.value.hint


@pytest.mark.postgres
@pytest.mark.extra("team")
def test_servers_of_one_library_agree_on_each_key(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    def settings(name: str) -> Settings:
        return Settings(home=tmp_path / name, library=postgres_url)  # type: ignore[arg-type]  # pydantic reads it

    for name in KEYS:
        with ThreadPoolExecutor(4) as pool:
            keys = {*pool.map(lambda home, name=name: ensure_key(settings(home), name), "abcd")}
        assert len(keys) == 1
    assert len({ensure_key(settings("a"), name) for name in KEYS}) == 2
    assert list(tmp_path.iterdir()) == [], "no file has one"
    postgres_server.stop("immediate")
    try:
        with pytest.raises(LibraryError, match="cannot be reached"):
            ensure_key(settings("a"), PAGES_KEY_FILE)
    finally:
        postgres_server.start()
