"""Everything that makes, shows, uses and manages tools, on the real library in the embedded sandbox."""

from __future__ import annotations

import base64
import json
import os
import shutil
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.cli.main import main
from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from alita_mcp.verification.images import IMAGE_SCHEMA
from tests.cli.conftest import Alita, Said
from tests.in_process import IN_PROCESS
from tests.library.factory import accepted
from tests.runs.pictures import png
from tests.tables import each_case

DOUBLE = '''
def double(number: int, times: int = 1) -> int:
    """Doubles a whole number.

    Args:
        number: What to double.
        times: How often.

    Raises:
        ValueError: `times` is negative.
    """
    if times < 0:
        raise ValueError("times is negative")
    return number * 2**times
'''
TESTS = [
    {"arguments": {"number": 2}, "expected": 4},
    {"arguments": {"number": -3, "times": 3}, "expected": -24},
    {"arguments": {"number": 1, "times": -1}, "raises": "ValueError"},
]
REQUEST = {
    "name": "double",
    "description": "Doubles a whole number.",
    "code": DOUBLE,
    "tests": TESTS,
    "use_when": ["twice as much", "multiply by two"],
}


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    return written(tmp_path / "request.json", REQUEST)


@pytest.fixture(scope="module")
def doubled(stocked: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    """A home in which the tool `double` was made, and what was said then."""
    folder = tmp_path_factory.mktemp("doubled")
    home = shutil.copytree(stocked, folder / "home")
    file = written(folder / "request.json", REQUEST)
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(err):
        patched.setenv("ALITA_HOME", str(home))
        patched.setenv("ALITA_SANDBOX", IN_PROCESS)
        status = main(["synthesize", str(file), "--json"])
    said = Said(status, out.getvalue(), err.getvalue())
    assert said.status == 0, said
    return home, said


@pytest.fixture
def made(doubled: tuple[Path, Said], home: Path) -> Said:
    """What was said when the tool `double` in this test's library was made."""
    shutil.copytree(doubled[0], home, dirs_exist_ok=True)
    return doubled[1]


def written(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def names(alita: Alita) -> list[str]:
    return [tool["name"] for tool in alita("list", "--json").json]


@pytest.mark.slow
def test_a_request_becomes_a_tool_and_its_stages_go_to_stderr(made: Said) -> None:
    assert made.json["status"] == "created"
    assert (made.json["tool"], made.json["version"], made.json["tests"]) == ("double", 1, "3/3")
    stages = dict.fromkeys(line.removeprefix("double: ") for line in made.err.splitlines())
    assert [stage for stage in stages if stage in ("static", "examples", "determinism", "publish")] == [
        "static",
        "examples",
        "determinism",
        "publish",
    ]


@pytest.fixture
def separate_files(tmp_path: Path) -> list[str]:
    """The words that make `double` of two files."""
    code, tests = tmp_path / "double.py", tmp_path / "tests.jsonl"
    code.write_text(DOUBLE, encoding="utf-8")
    tests.write_text("\n".join(json.dumps(test) for test in TESTS), encoding="utf-8")
    return ["synthesize", "--code", str(code), "--tests", str(tests)]


def test_a_tool_is_made_from_separate_files_too(alita: Alita, separate_files: list[str]) -> None:
    assert alita(*separate_files, "--json").json["status"] == "created"
    assert alita("show", "double", "--json").json["manifest"]["description"] == "Doubles a whole number."


def test_what_asks_for_more_than_computing_waits_for_approval(alita: Alita, tmp_path: Path) -> None:
    asking = {**REQUEST, "needs": {"network": ["example.org"]}}
    said = alita("synthesize", str(written(tmp_path / "asking.json", asking)))
    assert said.status == 3
    assert "needs approval for network example.org" in said.out


def test_many_requests_in_one_file_each_get_an_answer_and_the_worst_is_the_status(
    alita: Alita, tmp_path: Path
) -> None:
    wrong = {**REQUEST, "name": "triple", "code": DOUBLE.replace("double", "triple")}
    wrong["tests"] = [{"arguments": {"number": 2}, "expected": 6}, *TESTS[1:]]
    file = tmp_path / "requests.jsonl"
    file.write_text(f"{json.dumps(wrong)}\n\n{json.dumps(REQUEST)}\n", encoding="utf-8")
    said = alita("synthesize", str(file), "--json")
    assert said.status == 1
    assert [outcome["status"] for outcome in said.json] == ["rejected", "created"]


def test_a_rejection_shows_case_expected_got_and_fix(alita: Alita, tmp_path: Path) -> None:
    wrong = {**REQUEST, "tests": [{"arguments": {"number": 2}, "expected": 5}, *TESTS[1:]]}
    said = alita("synthesize", str(written(tmp_path / "wrong.json", wrong)))
    assert said.status == 1
    assert "rejected at examples" in said.out
    for piece in ('{"number": 2}', "expected  5", "got       4", "fix"):
        assert piece in said.out
    assert "double" not in names(alita)


@pytest.mark.slow
def test_the_same_name_again_is_there_already(made: Said, alita: Alita, request_file: Path) -> None:
    said = alita("synthesize", str(request_file))
    assert said.status == 0
    assert said.out.startswith("exists double v1")


def test_without_code_comes_a_template_to_fill_in(alita: Alita) -> None:
    said = alita("synthesize", "--description", "Turn roman numerals into numbers")
    assert said.status == 2
    assert "def turn_roman" in said.out
    assert "- At least 3 tests" in said.out


@each_case(
    "content, says",
    [
        ("{not json", "neither JSON nor JSON Lines"),
        ("", "holds no request"),
        ("[]", "holds no request"),
        ("[1, 2]", "must hold JSON objects"),
        ('"text"', "must hold JSON objects"),
        ("[" * 100_000, "nested too deeply"),
        ('{"name": "double"}\n{broken', "neither JSON nor JSON Lines"),
        ("\ud800", "cannot be read"),
    ],
)
def test_a_file_that_holds_no_requests_is_refused(
    content: str, says: str, alita: Alita, tmp_path: Path
) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(content.encode("utf-8", "surrogatepass"))
    said = alita("synthesize", str(file))
    assert (said.status, said.out) == (2, "")
    assert says in said.err
    assert "Traceback" not in said.err


@each_case(
    "words, says",
    [
        (["synthesize"], "Nothing to make"),
        (["synthesize", "missing.json"], "missing.json"),
        (["synthesize", "--code", "missing.py"], "missing.py"),
        (["tool", "import", "missing-folder"], "missing-folder"),
        (["synthesize", "requests.json", "--name", "other"], "--name does not go with a FILE"),
    ],
)
def test_input_that_is_missing_or_too_much_is_refused(words: list[str], says: str, alita: Alita) -> None:
    said = alita(*words)
    assert (said.status, said.out) == (2, "")
    assert says in said.err


def test_run_gives_what_the_tool_gives(made: Said, alita: Alita) -> None:
    assert alita("run", "double", "number=21").out == "42\n"
    assert alita("run", "double", '{"number": 21, "times": 2}').out == "84\n"
    assert alita("run", "double", "number=1", "--json").json == {"result": 2}
    assert alita("run", "double", "number=1", "--version", "v1").out == "2\n"


def test_an_image_is_written_to_a_file(made: Said, alita: Alita, home: Path, tmp_path: Path) -> None:
    code = "import base64, alita_tool\n"
    code += f"def draw():\n    return alita_tool.Image(base64.b64decode({base64.b64encode(png())!r}))\n"

    async def publish() -> None:
        async with open_library(Settings(home=home)) as library:
            takes = {"type": "object", "properties": {}}
            tool = accepted("draw", code=code, input_schema=takes, output_schema=IMAGE_SCHEMA, sandbox="wasm")
            await library.publish(tool, expected_version=0)

    anyio.run(publish)
    file = tmp_path / "out.png"
    said = f"Image: png, 3 x 2 pixels, {len(png())} bytes."
    assert alita("run", "draw").out == f"{said} Write it with --out FILE.\n"
    assert alita("run", "draw", "--out", str(file)).out == f"Wrote {file}.\n"
    assert file.read_bytes() == png()
    assert alita("run", "double", "number=2", "--out", str(file), "--json").json == {"result": 4}
    assert file.read_bytes() == b"4"
    for nowhere in (tmp_path, tmp_path / "none" / "out.png"):  # known before the tool runs
        refused = alita("run", "draw", "--out", str(nowhere))
        assert (refused.status, f"Cannot write {str(nowhere)!r}" in refused.err) == (2, True)


def test_a_failing_call_says_why_and_has_status_one(made: Said, alita: Alita) -> None:
    said = alita("run", "double", "number=1", "times=-1")
    assert (said.status, said.out) == (1, "")
    assert "double failed: ValueError: times is negative" in said.err
    as_json = alita("run", "double", "number=1", "times=-1", "--json")
    assert as_json.status == 1
    assert as_json.json["error_type"] == "ValueError"


@each_case("words", [("number=many",), ("nummer=1",), ("{}",), ("number=1", "times=0.5")])
def test_arguments_that_do_not_fit_are_refused(words: tuple[str, ...], made: Said, alita: Alita) -> None:
    said = alita("run", "double", *words)
    assert (said.status, said.out) == (2, "")
    assert "Traceback" not in said.err


@each_case(
    "command",
    [
        "run", "show", "tool pin", "tool unpin", "tool enable", "tool disable", "tool delete", "tool rollback",
        "tool export",
    ],
)  # fmt: skip
def test_an_unknown_tool_names_the_nearest(command: str, made: Said, alita: Alita) -> None:
    said = alita(*command.split(), "duoble")
    assert (said.status, said.out) == (2, "")
    assert "double" in said.err


def test_an_unknown_version_names_those_there_are(made: Said, alita: Alita) -> None:
    for words in (
        ("show", "double", "v7"),
        ("run", "double", "number=1", "--version", "7"),
    ):
        said = alita(*words)
        assert said.status == 2
        assert "v1" in said.err


@each_case("version", ["0", "-1", "v", "x", "1.5", "9" * 400, "²"])
def test_a_version_that_is_none_is_refused(version: str, alita: Alita) -> None:
    said = alita("show", "double", f"--{version}" if version.startswith("-") else version)
    assert said.status == 2


def test_search_finds_by_other_words_and_says_how_sure_it_is(made: Said, alita: Alita) -> None:
    said = alita("search", "twice", "as", "much", "--json")
    assert said.status == 0
    assert said.json["results"][0]["name"] == "double"
    assert said.json["fit"] != "none"
    assert "double" in alita("search", "twice as much").out


def test_list_has_one_line_a_tool(made: Said, alita: Alita) -> None:
    alita("tool", "pin", "double")
    row = next(line for line in alita("list").out.splitlines() if line.startswith("double"))
    assert "v1" in row
    assert "pinned" in row
    listed = {tool["name"]: tool for tool in alita("list", "--json").json}
    assert listed["double"]["pinned"] is True


def test_show_is_an_evidence_card(made: Said, alita: Alita) -> None:
    card = alita("show", "double", "--source").out
    for piece in (
        "double v1",
        "number: integer",
        "times: integer = 1",
        "3 of 3 examples",
        "wasm",
        "def double",
    ):
        assert piece in card
    assert "def double" not in alita("show", "double").out
    assert alita("show", "double", "--source", "--json").json["source"] == DOUBLE


def test_a_new_version_can_be_rolled_back(made: Said, alita: Alita, tmp_path: Path) -> None:
    newer = {**REQUEST, "code": DOUBLE.replace("number * 2**times", "number << times")}
    said = alita("synthesize", str(written(tmp_path / "new.json", newer)), "--update", "--json")
    assert (said.json["status"], said.json["version"]) == ("created", 2)
    assert said.json["kept"] == "v1 stays current: it is verified, v2 provisional"
    assert alita("tool", "rollback", "double", "v2", "--json").json["version"] == 2
    assert alita("tool", "rollback", "double").out == "double v1: enabled\n"


def test_states_change_and_calls_obey_them(made: Said, alita: Alita) -> None:
    assert alita("tool", "disable", "double", "--json").json["state"] == "disabled"
    refused = alita("run", "double", "number=1")
    assert (refused.status, refused.out) == (3, "")
    assert "disabled" in refused.err
    assert alita("tool", "enable", "double").out == "double v1: enabled\n"
    assert alita("tool", "delete", "double").status == 0
    assert alita("run", "double", "number=1").status == 3
    assert "double" not in names(alita)
    alita("tool", "enable", "double")
    assert alita("run", "double", "number=1").out == "2\n"


def test_the_log_tells_what_happened_oldest_first(made: Said, alita: Alita) -> None:
    alita("run", "double", "number=1")
    alita("tool", "disable", "double")
    events = [row["event"] for row in alita("log", "double", "--json").json]
    assert events.index("published") < events.index("called") < events.index("disabled")
    assert alita("log", "double", "--limit", "1").out.count("\n") == 1
    assert alita("log", "--limit", "0").status == 2
    assert alita("log", "--limit", "2").out.count("\n") == 2
    never = alita("log", "duoble")
    assert (never.status, never.out) == (2, "")
    assert "duoble" in never.err
    assert "double" in never.err.replace("duoble", "")
    assert alita("search", "x", "--limit", "ten").status == 2


@pytest.mark.slow
def test_an_exported_folder_can_be_imported_elsewhere(
    made: Said, alita: Alita, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = alita("tool", "export", "double")
    assert "runs unconfined, with your rights" in exported.err
    folder = Path(exported.out.strip())
    assert (folder / "server.py").is_file()
    monkeypatch.setenv("ALITA_HOME", str(tmp_path / "elsewhere"))
    said = alita("tool", "import", str(folder), "--json")
    assert (said.status, said.json["status"]) == (0, "created")
    assert alita("run", "double", "number=4").out == "8\n"


def test_a_folder_that_is_no_tool_is_refused(alita: Alita, tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text(DOUBLE, encoding="utf-8")
    assert "manifest.json" in alita("tool", "import", str(tmp_path)).err
    written(tmp_path / "manifest.json", {"manifest": [], "examples": 3})
    said = alita("tool", "import", str(tmp_path))
    assert said.status == 2
    assert "is not the manifest of a tool" in said.err
    written(tmp_path / "manifest.json", {"manifest": {"grants": {"shell": True}}, "examples": []})
    assert "asks for shell, which nobody can grant" in alita("tool", "import", str(tmp_path)).err
    written(
        tmp_path / "manifest.json", {"manifest": {"grants": {"network": ["example.org"]}}, "examples": []}
    )
    assert alita("tool", "import", str(tmp_path)).status == 1
    written(tmp_path / "manifest.json", {"manifest": {"name": 5}, "examples": "none"})
    assert alita("tool", "import", str(tmp_path)).status == 1


def test_reindex_says_how_many_tools_can_be_found(made: Said, alita: Alita) -> None:
    tools = len(alita("list", "--json").json)
    assert alita("tool", "reindex", "--json").json == {"indexed": tools}


@pytest.fixture
def no_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which only the embedded sandbox can be probed."""
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    monkeypatch.setenv("PATH", "/nowhere")


@pytest.mark.slow
@pytest.mark.usefixtures("no_engines")
def test_doctor_finds_the_embedded_sandbox_and_the_library(
    alita: Alita, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALITA_SANDBOX", "wasm")
    said = alita("doctor", "--json")
    assert said.status == 0
    assert said.json["sandbox"] == {"setting": "wasm", "chosen": "wasm"}
    assert said.json["library"]["home"] == str(home)


@pytest.mark.slow
def test_doctor_names_variables_that_are_no_settings(alita: Alita, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALITA_POLICY", "ALITA_TEST_SEED"):
        monkeypatch.setenv(name, "auto")
    for name in ("ALITA_BRAVE_KEY", "ALITA_LIMITS", "ALITA_POLCIY", "ALITA_RESPONSE_CACHE_MB"):
        monkeypatch.setenv(name, "x")
    said = [
        "ALITA_BRAVE_KEY is not a setting and is ignored: did you mean BRAVE_API_KEY?",
        "ALITA_LIMITS is not a setting and is ignored: docs/settings.md lists the settings.",
        "ALITA_POLCIY is not a setting and is ignored: did you mean ALITA_POLICY?",
        "ALITA_RESPONSE_CACHE_MB is not a setting and is ignored: docs/settings.md lists the settings.",
    ]
    assert alita("doctor", "--json").json["unknown_settings"] == said
    assert all(f"✗ {sentence}" in alita("doctor").out for sentence in said)


@pytest.mark.slow
@pytest.mark.usefixtures("no_engines")
@pytest.mark.skipif(os.name == "nt", reason="no permission bits")
def test_doctor_says_who_shares_the_token_and_whether_its_file_is_fit(
    alita: Alita, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "http_token"
    assert "HTTP has no token yet" in alita("doctor").out
    assert not file.exists()
    for text, mode, says in (
        ("sixteen-letters!", 0o600, f"✓ HTTP token in {file}: all clients that send it are one trust group"),
        (
            "sixteen-letters!",
            0o644,
            f"✗ Cannot use {file}: others may access it (mode 644). Run: chmod",
        ),
        ("fifteen-letters", 0o600, "at least 16 characters, this one 15"),
    ):
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)
        said = alita("doctor")
        assert says in said.out
        assert text not in said.out + said.err
    monkeypatch.setenv("ALITA_TOKEN", "another-of-sixteen")
    assert "✓ HTTP token in ALITA_TOKEN" in alita("doctor").out


@pytest.mark.slow
@pytest.mark.usefixtures("no_engines")
def test_doctor_says_what_is_wrong_with_the_library(alita: Alita, home: Path) -> None:
    shutil.rmtree(home)
    home.write_text("a file where the library should be", encoding="utf-8")
    said = alita("doctor")
    assert said.status == 7
    assert "✗ library" in said.out


@pytest.mark.slow
@pytest.mark.usefixtures("no_engines")
def test_doctor_names_what_earlier_versions_left_and_removes_it_on_demand(alita: Alita, home: Path) -> None:
    alita("list")
    elsewhere = home.with_name("elsewhere")
    elsewhere.write_text("not alita's", encoding="utf-8")
    (home / "lessons.jsonl").write_text("{}", encoding="utf-8")
    (home / "model_records").mkdir()
    (home / "model_records" / "m.json").write_text("{}", encoding="utf-8")
    (home / "lessons.lock").symlink_to(elsewhere)
    (home / "code-runs").mkdir()
    (home / "tasks" / ("0" * 32)).mkdir(parents=True)
    (home / "notes.txt").write_text("a person's own", encoding="utf-8")
    before = alita("doctor")
    assert "lessons.jsonl (lessons from failed syntheses) is not used any more" in before.out
    assert "alita doctor --clean" in before.out
    assert (home / "lessons.jsonl").exists()
    cleaned = alita("doctor", "--clean", "--json").json["library"]
    assert cleaned["removed"] == ["code-runs", "lessons.jsonl", "lessons.lock", "model_records", "tasks"]
    assert cleaned["leftovers"] == {}
    assert elsewhere.exists()
    assert (home / "notes.txt").exists()


@pytest.mark.usefixtures("made")
def test_a_card_lists_what_a_tool_is_found_by(alita: Alita) -> None:
    lines = [line.split("  ")[-1].strip() for line in alita("show", "double").out.splitlines()]
    assert {"twice as much", "multiply by two"} <= {*lines}


@pytest.mark.parametrize("kind", ["wasm", "docker"])
def test_a_tool_that_cannot_run_here_is_marked(
    alita: Alita, home: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    async def publish() -> None:
        async with open_library(Settings(home=home)) as library:
            await library.publish(accepted(packages=("requests>=2",)), expected_version=0)

    anyio.run(publish)
    monkeypatch.setenv("ALITA_SANDBOX", kind)
    said = "not here: needs Docker or bubblewrap for the sockets of requests"
    shown = alita("show", "slugify")
    texts = (alita("list").out, alita("search", "Turn a title into a URL slug").out, shown.out + shown.err)
    assert [said in text for text in texts] == [kind == "wasm"] * 3
