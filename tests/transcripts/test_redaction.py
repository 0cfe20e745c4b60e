from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.transcripts.redaction import MOST_NAMED, public_path, without_private
from alita_mcp.transcripts.session import is_python
from alita_mcp.transcripts.values import ExecutedProgram

PEM = "-----BEGIN RSA PRIVATE KEY-----\\nMIIEow+/=\\n-----END RSA PRIVATE KEY-----"


def program(code: str, **more: object) -> ExecutedProgram:
    return ExecutedProgram.model_validate(
        {"code": code, "agent": "codex", "file": "a.jsonl", "session": "s", "line": 1, "at": "", **more}
    )


def redacted(code: str, **more: object) -> ExecutedProgram:
    found = without_private(program(code, **more))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("code", "public"),
    [
        ('x = "AKIAIOSFODNN7EXAMPLE"', 'x = "[secret]"'),
        (f'x = "ghp_{"a1" * 20}"  # ghp_{"a1" * 20}', 'x = "[secret]"  # [secret]'),
        (f'x = "{PEM}"', 'x = "[secret]"'),
        ('password = "hunter2"', 'password = "[secret]"'),
        ("login(user, passwd='correct horse')", "login(user, passwd='[secret]')"),
        ('{"api_key": "abcdef"}', '{"api_key": "[secret]"}'),
        ('os.environ["DB_PASSWORD"] = "abcdef"', 'os.environ["DB_PASSWORD"] = "[secret]"'),
        ('connect("host=db password=hunter2")', 'connect("host=db password=[secret]")'),
        ('token = "a1b2c3d4e5f6g7"', 'token = "[secret]"'),
        ('headers = {"Authorization": "Bearer a1b2c3d4e5f6g7"}', 'headers = {"Authorization": "Bearer [secret]"}'),
        ('url = "postgres://me:hunter22@db.example.org/x"', 'url = "[secret]/x"'),
        ('mail = "erika.muster+x@mail.example.org"', 'mail = "[email]"'),
        ('open("/home/erika/a.csv"); open("/Users/max/b")', 'open("~/a.csv"); open("~/b")'),
        (r'open("C:\\Users\\Max\\b"); open(r"d:\users\Max\b")', r'open("~\\b"); open(r"~\b")'),
        ('phone = "+49 (151) 234-567 89"', 'phone = "+00 (000) 000-000 00"'),
        ('iban = "DE89 3704 0044 0532 0130 00"', 'iban = "[account]"'),
        ('card = "4111 1111 1111 1111"; other = 4111111111111111', 'card = "0000 0000 0000 0000"; other = 0'),
    ],
)  # fmt: skip
def test_private_values_in_code_are_taken_out(code: str, public: str) -> None:
    found = redacted(code)
    assert (found.code, found.redacted) == (public, True)


@pytest.mark.parametrize(
    "code",
    [
        "token = tokens[0]", 'token = "word"', "password = input()",
        "total_tokens = 1024; print(f'tokens: {1024}')",
        "at = 1700000000000; phi = 1.6180339887498948", 'when = "2026-03-01 2026-03-02"', "x = a@b.T",
        "n = 4111111111111112",
        'iban = "DE89 3704 0044 0532 0130 01"', 'p = "/usr/share/x"', 'secret = ""', "x = 1+123456789",
    ],
)  # fmt: skip
def test_what_is_not_private_stays(code: str) -> None:
    found = redacted(code)
    assert (found.code, found.redacted) == (code, False)


def test_a_secret_is_taken_out_wherever_it_stands() -> None:
    found = redacted(
        'import sys, base64\npassword = "hunter2"\nprint(password)',
        output="hunter2\naHVudGVyMg==\nerika@example.org",
        given="it was hunter2",
        arguments=("--pw=hunter2", "--password=swordfish"),
        file="/home/erika/.claude/projects/-home-erika-shop/a.jsonl",
        session="erika@example.org",
    )
    assert "erika" not in found.model_dump_json()
    assert "hunter2" not in found.model_dump_json()
    assert "swordfish" not in found.model_dump_json()
    assert found.output == "[secret]\n[secret]\n[email]"
    assert found.file == "~/.claude/projects/-~-shop/a.jsonl"


def test_a_program_that_cannot_be_told_without_its_values_is_not_told() -> None:
    assert without_private(program("import erika; x = erika @example.org if 0 else 1")) is not None
    assert without_private(program("hunter2 = 1\npassword = 'hunter2'")) is None
    many = "\n".join(f"password = 'value{number}'" for number in range(MOST_NAMED + 1))
    assert without_private(program(many)) is None


def test_paths_are_shown_without_the_name_of_a_person() -> None:
    assert public_path("/home/erika/x/-Users-erika-y/z.jsonl") == "~/x/-~-y/z.jsonl"
    assert public_path("/srv/data-home/z.jsonl") == "/srv/data-home/z.jsonl"


def test_hostile_texts_take_no_long_time() -> None:
    for text in (
        "eyJ-",
        "a@",
        "password=",
        "/home/",
        "-----BEGIN ",
        "x://",
        "+1",
        "4111 ",
        "DE89 ",
        "sk-",
        "bearer ",
    ):
        flood = text * (200_000 // len(text))
        without_private(program("x = 1", output=flood[:20_000], given=flood))


@given(
    st.text(max_size=60),
    st.sampled_from(["hunter2x", "erika@example.org", "AKIAIOSFODNN7EXAMPLE", "/home/erika"]),
)
def test_code_stays_code_and_the_value_is_gone(text: str, private: str) -> None:
    code = f"text = {text!r}\npassword = {'abc' + private!r}\nprint(text)"
    found = without_private(program(code, output=f"{text} abc{private}"))
    if found is not None:
        assert is_python(found.code)
        assert private not in found.code
        assert f"abc{private}" not in found.output
        assert len(ast.parse(found.code).body) == 3
