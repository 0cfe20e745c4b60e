"""`alita.toml`: what it sets, what goes before it, what is said of one that cannot be used, and how it is changed."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path

import platformdirs
import pytest

from alita_mcp.errors import UsageError
from alita_mcp.server.transports.local.endpoint import find_endpoint
from alita_mcp.settings import Settings, find_unknown_settings, read_settings
from alita_mcp.settings_file import change_settings_file
from tests.cli.conftest import Alita

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX links and modes")


@pytest.fixture
def file(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALITA_HOME", str(home))
    home.chmod(0o700)
    path = home / "alita.toml"
    path.touch(0o600)
    return path


def test_a_value_of_the_file_counts_where_no_variable_and_no_program_says_otherwise(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(
        '# mine\npolicy = "auto"\nmodel = "openai/a"\nmodel_coder = "temperature=0.5"\nmax_workers = 3\n'
        'prepare = true\nworkspace = "work"\n[model_judge]\nname = "anthropic/b"\n'
    )
    monkeypatch.delenv("ALITA_PREPARE")
    monkeypatch.setenv("ALITA_POLICY", "locked")
    monkeypatch.setenv("ALITA_MODEL", "")  # as unset
    found = read_settings()
    assert (found.policy, found.model, found.max_workers, found.prepare) == ("locked", "openai/a", 3, True)
    assert (found.model_coder.temperature, found.model_judge.name) == (0.5, "anthropic/b")
    assert found.workspace == file.parent / "work"
    assert Settings(home=file.parent, model="openai/c").model == "openai/c"
    assert Settings(home=file.parent.parent).model is None


NAMED = "{path}"
WRONG = [
    ("no value", "\n\nmodel =\n", ("not valid TOML", "line 3")),
    ("no TOML", "\n\nALITA_MODEL: x\n", ("not valid TOML", "line 3", 'name = "value"')),
    ("twice", 'model = "a/b"\n\nmodel = "c/d"\n', ("not valid TOML", "line 3")),
    ("nested", "\n\nx = " + "[" * 5_000, ("not valid TOML",)),
    ("a wrong type", "\n\nmodel = 5\n", ("Invalid model=5", NAMED, "delete the line")),
    ("a wrong value", "\n\n  policy = 'yes'\n", ("Invalid policy='yes'", NAMED, "'auto', 'ask' or 'locked'")),
    ("too much", "\n\nmax_workers = 1000\n", ("Invalid max_workers=1000", NAMED, "256")),
    ("a date", "\n\nmodel = 2026-01-01\n", ("Invalid model", NAMED)),
    ("a wrong part", "\n\n[model_coder]\nheat = 1\n", ("Invalid model_coder", NAMED)),
    ("a short token", "\n\ntoken = 'short-word'\n", ("Invalid token in", NAMED, "at least 16 characters")),
    ("the home", "\n\nhome = '/elsewhere'\n", (NAMED, "Set ALITA_HOME")),
    ("what the relay reads", "\n\nshared = false\n", (NAMED, "Set ALITA_SHARED")),
    ("no text", "\n\nmodel = '\udcff'\n", ("line 3 is not UTF-8",)),
    ("huge", "#" * (1 << 20) + "\n#", ("larger than 1 MB",)),
]  # fmt: skip


@pytest.mark.parametrize(("content", "said"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
def test_a_file_that_cannot_be_read_is_named_with_the_line_and_what_to_do(
    file: Path, content: str, said: tuple[str, ...]
) -> None:
    file.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(UsageError) as raised:
        read_settings()
    for words in (*said, str(file)):
        assert words.format(path=file) in str(raised.value)
    assert "short-word" not in str(raised.value)
    assert raised.value.hint


def others_may_write(file: Path) -> None:
    file.chmod(0o646)


def link(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to(file.with_name("elsewhere"))


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def another_user(file: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a file away")
    os.chown(file, 65_534, -1)


@posix
@pytest.mark.parametrize(("spoil", "said", "advice"), [
    (others_may_write, "others may write it (mode 646)", "chmod 600"),
    (link, "it is a link", "Put the file itself in its place"),
    (folder, "it is not a regular file", "Put a file"),
    (pipe, "it is not a regular file", "Put a file"),
    (another_user, "belongs to another user (65534)", "chown"),
])  # fmt: skip
def test_a_file_that_somebody_else_may_have_written_is_refused_and_never_replaced(
    file: Path, spoil: Callable[[Path], None], said: str, advice: str
) -> None:
    file.write_text('model = "openai/a"\n')
    spoil(file)
    for use in (read_settings, lambda: change_settings_file(file.parent, {"model": "openai/b"})):
        with pytest.raises(UsageError, match=str(file)) as raised:
            use()
        assert said in raised.value.message
        assert advice in raised.value.hint
    assert [each.name for each in file.parent.iterdir() if each.name.startswith(".")] == []


@posix
def test_a_file_with_a_token_is_its_owner_s_alone(file: Path) -> None:
    file.write_text('token = "sixteen-letters!"\n')
    assert read_settings().token is not None
    file.chmod(0o644)
    with pytest.raises(UsageError, match="others may access it") as raised:
        read_settings()
    assert "sixteen" not in str(raised.value)
    file.write_text('policy = "ask"\n')
    assert read_settings().policy == "ask"


def test_the_command_line_says_it_in_two_lines(file: Path, alita: Alita) -> None:
    file.write_text("model =\n")
    said = alita("list")
    assert said.status == 2
    assert said.err.splitlines() == [
        f"error: {file} is not valid TOML: Invalid value (at line 1, column 8).",
        'hint: Fix the line: each one is `name = "value"`, as in docs/settings.md.',
    ]


def test_names_that_are_no_settings_are_warned_of_with_the_nearest(
    file: Path, alita: Alita, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('\nmodle = "x"\nALITA_POLICY = "ask"\nopenai_api_key = "sk-secret-1234567"\nlimits = 3\n')
    monkeypatch.setenv("ALITA_MODLE", "x")
    sentences = [
        "ALITA_MODLE is not a setting and is ignored: did you mean ALITA_MODEL?",
        f"modle in {file} is not a setting and is ignored: did you mean model?",
        f"ALITA_POLICY in {file} is not a setting and is ignored: did you mean policy?",
        f"openai_api_key in {file} is not a setting and is ignored: docs/settings.md lists the settings.",
        f"limits in {file} is not a setting and is ignored: docs/settings.md lists the settings.",
    ]
    assert find_unknown_settings(file.parent) == sentences
    said = alita("list")
    assert [line.removeprefix("warning: ") for line in said.err.splitlines()[: len(sentences)]] == sentences


KEPT = (
    "# mine, with \ttabs\r\n\r\nmemory = false  # why\r\nunknown-key = {a = [1, 2],b='c'}\r\n\r\n"
    "[model_coder]\r\nname='a/b'\r\n"
)


def test_a_change_keeps_every_other_byte_and_is_the_owner_s_alone(file: Path) -> None:
    file.write_bytes(KEPT.encode())
    change_settings_file(file.parent, {"model": "openai/a", "model_base_url": None})
    assert (
        file.read_bytes().decode().replace('model = "openai/a"\n', "").replace("\r\n\r\n\n[", "\r\n\r\n[")
        == KEPT
    )
    assert read_settings().model == "openai/a"
    before = file.stat()
    change_settings_file(file.parent, {"model": "openai/a"})
    assert file.stat().st_ino == before.st_ino
    change_settings_file(file.parent, {"model": None})
    assert tomllib.loads(file.read_text()) == tomllib.loads(KEPT)
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_first_change_makes_the_file_and_a_broken_one_stays(file: Path) -> None:
    home = file.parent / "new"
    path = change_settings_file(home, {"model": 'odd"\\\n'})
    assert tomllib.loads(path.read_text()) == {"model": 'odd"\\\n'}
    assert path.read_text().startswith("# Settings of alita")
    file.write_text("model =")
    with pytest.raises(UsageError):
        change_settings_file(file.parent, {"model": "a/b"})
    assert file.read_text() == "model ="


@posix
def test_another_file_means_another_server_and_it_can_ask_for_none(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {"HOME": str(file.parent), "ALITA_HOME": str(file.parent)}
    names = []
    for content in ("", 'model = "a/b"', 'model = "a/c"', ""):
        file.write_text(content)
        names.append(find_endpoint(variables, "/").name)
    assert len(set(names)) == 3
    assert names[0] == names[3]
    # the usual home, as the settings find it
    monkeypatch.delenv("ALITA_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(file.parent))
    usual = platformdirs.user_data_path("alita-mcp", appauthor=False)
    usual.mkdir()
    before = find_endpoint(os.environ, "/").name
    (usual / "alita.toml").write_text('policy = "auto"')
    assert (read_settings().policy, find_endpoint(os.environ, "/").name == before) == ("auto", False)


def test_secrets_may_come_from_files_that_variables_name(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, library = tmp_path / "token", tmp_path / "library"
    token.write_text("correct horse battery staple\n")
    library.write_text("postgresql://alita:secret@db/alita\n")
    monkeypatch.setenv("ALITA_TOKEN_FILE", str(token))
    monkeypatch.setenv("ALITA_LIBRARY_FILE", str(library))
    settings = read_settings()
    assert settings.token is not None
    assert settings.token.get_secret_value() == "correct horse battery staple"
    assert settings.library_url == "postgresql://alita:secret@db/alita"
    assert find_unknown_settings(home) == []

    monkeypatch.setenv("ALITA_TOKEN", "another one, which goes first")
    settings = read_settings()
    assert settings.token is not None
    assert settings.token.get_secret_value() == "another one, which goes first"

    library.write_text("mysql://alita:secret@db/alita")
    with pytest.raises(UsageError) as wrong:
        read_settings()
    assert str(wrong.value).startswith("Invalid ALITA_LIBRARY: an address of PostgreSQL begins with")
    assert "secret@" not in f"{wrong.value}{wrong.value.hint}"

    library.unlink()
    with pytest.raises(UsageError, match=r"Cannot read ALITA_LIBRARY_FILE: .*No such file.*library"):
        read_settings()
