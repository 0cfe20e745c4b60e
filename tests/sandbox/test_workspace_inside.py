"""The workspace as a tool sees it: each program runs in an interpreter of its own, as a user who is not root.

The audit hook of `alita_tool` cannot be taken away again, and mode 000 means nothing to root.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.forked import printed

ROOT = Path(__file__).resolve().parents[2]
PRELUDE = """
import csv, json, os, pathlib, shutil, sqlite3, subprocess, sys, tempfile, threading
sys.path.insert(0, SOURCE)
import pydantic
from alita_mcp.sandbox.broker.requests import ChangeWords
from alita_mcp.sandbox.broker.workspace import Workspace
from alita_mcp.sandbox.runner.tool import grants
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65532)
    os.setuid(65532)
place = tempfile.mkdtemp(prefix="alita-inside-")
os.chdir(place)
host = pathlib.Path(place, "host")
for name, text in {"a.txt": "hello", "sub/b.txt": "b", "sub/c.txt": "c", "table.csv": "x,y\\n1,2\\n"}.items():
    (host / name).parent.mkdir(parents=True, exist_ok=True)
    (host / name).write_text(text)
(host / "link").symlink_to("a.txt")
folder = Workspace(host)
asked = []
def ask(door, words):
    asked.append((door, words.get("path", "")))
    if door == "workspace.list":
        return folder.names(words["path"])
    if door == "workspace.read":
        return folder.read(words["path"], words["offset"], words["length"])
    change = ChangeWords.model_validate(json.loads(json.dumps(words)))
    folder.stage(change.operations)
    return folder.commit() if change.last else None
def fetched():
    return [path for door, path in asked if door == "workspace.read"]
def refused(action):
    try:
        return repr(action())
    except Exception as problem:
        return [type(problem).__name__, str(problem)]
def on_host():
    return {str(path.relative_to(host)): path.read_text() if path.is_file() else None
            for path in sorted(host.rglob("*")) if not path.is_symlink()}
alita_tool = grants.module({"workspace": GRANT}, ask, root=f"{place}/workspace")
workspace = alita_tool.workspace
answer = None
try:
    exec(PROGRAM)
finally:
    os.chdir("/")
    subprocess.run(["chmod", "-R", "700", place])
    shutil.rmtree(place)
print(json.dumps(answer, default=str))
"""


def inside(program: str, grant: str = "write") -> Any:
    words = f"SOURCE, GRANT, PROGRAM = {str(ROOT)!r}, {grant!r}, {program!r}\n"
    return json.loads(printed(words + PRELUDE))


HELLO = {"a.txt": "hello", "sub": None, "sub/b.txt": "b", "sub/c.txt": "c", "table.csv": "x,y\n1,2\n"}
READ_ONLY = "alita_tool.workspace needs the grant 'workspace': 'write'; this tool may only read it"


def test_it_is_a_path_and_naming_it_asks_nothing() -> None:
    kind, text, asked = inside("""
path = workspace / "sub" / ".." / "a.txt"
answer = [isinstance(path, pathlib.PosixPath), path.name, list(asked)]
""")
    assert (kind, text, asked) == (True, "a.txt", [])


@pytest.mark.parametrize(
    "reading",
    [
        '(workspace / "a.txt").read_text()',
        '(workspace / "a.txt").read_bytes().decode()',
        '(workspace / "a.txt").open().read()',
        'open(workspace / "a.txt").read()',
        'open(str(workspace / "a.txt")).read()',
        'open(f"{workspace}/a.txt").read()',
        'open(os.path.join(workspace, "a.txt")).read()',
        'open(os.fsencode(workspace / "a.txt")).read()',
        'os.read(os.open(workspace / "a.txt", os.O_RDONLY), 100).decode()',
        '(os.chdir(workspace), open("a.txt").read())[1]',
        'pathlib.Path(str(workspace), "a.txt").read_text()',
        'next(workspace.glob("a.*")).read_text()',
        'next(path for path in workspace.iterdir() if path.name == "a.txt").read_text()',
        'subprocess.run(["cat", workspace / "a.txt"], capture_output=True, text=True).stdout',
        'open(workspace / "sub" / ".." / "a.txt").read()',
        'alita_tool.read_text("a.txt")',
        'alita_tool.read_bytes("a.txt").decode()',
    ],
)
@pytest.mark.parametrize("grant", ["read", "write"])
def test_a_file_is_there_whatever_way_it_is_opened(reading: str, grant: str) -> None:
    assert inside(f"answer = [{reading}, fetched()]", grant) == ["hello", ["a.txt"]]


def test_names_sizes_and_kinds_are_there_without_any_content() -> None:
    names, facts, read = inside("""
names = sorted(str(path.relative_to(workspace)) for path in workspace.rglob("*"))
facts = [(workspace / "a.txt").stat().st_size, (workspace / "a.txt").exists(), (workspace / "sub").is_dir(),
         (workspace / "a.txt").is_file(), (workspace / "none").exists(), (workspace / "sub").is_symlink(),
         (workspace / "a.txt").lstat().st_mode & 0o777]
walked = [sorted(files) for _, _, files in os.walk(workspace)]
answer = [names, facts, fetched()]
""")
    assert names == ["a.txt", "link", "sub", "sub/b.txt", "sub/c.txt", "table.csv"]
    assert facts == [5, True, True, True, False, False, 0]
    assert read == []


def test_an_unread_file_never_looks_empty_to_a_program_that_python_does_not_see() -> None:
    out, error = inside("""
text = str(workspace / "a.txt")
names = os.listdir(workspace)
run = subprocess.run(["cat", text], capture_output=True, text=True)
answer = [run.stdout, run.stderr]
""")
    assert out == ""
    assert "denied" in error


def test_a_file_is_fetched_once_and_a_large_one_in_pieces() -> None:
    length, pieces = inside("""
(host / "large").write_bytes(b"x" * 1_200_000)
length = len((workspace / "large").read_bytes())
(workspace / "large").read_bytes()
answer = [length, len(fetched())]
""")
    assert (length, pieces) == (1_200_000, 3)


@pytest.mark.parametrize("path", ["link", "/etc/../etc/hostname"])
def test_links_are_refused_and_other_paths_are_none_of_its_business(path: str) -> None:
    refused, asked = inside(f"answer = [refused((workspace / {path!r}).read_text), len(asked)]")
    if path == "link":
        assert refused[0] == "PermissionError"
        assert "link" in refused[1]
    else:
        assert asked == 0


@pytest.mark.parametrize(
    "change",
    [
        '(workspace / "a.txt").write_text("x")',
        '(workspace / "new").write_text("x")',
        'open(workspace / "a.txt", "a")',
        'open(f"{workspace}/a.txt", "r+")',
        'os.open(workspace / "new", os.O_CREAT | os.O_WRONLY)',
        '(workspace / "folder").mkdir()',
        '(workspace / "a.txt").unlink()',
        'os.remove(str(workspace / "a.txt"))',
        '(workspace / "sub").rmdir()',
        'shutil.rmtree(workspace / "sub")',
        '(workspace / "a.txt").rename(workspace / "z.txt")',
        '(workspace / "a.txt").chmod(0o600)',
        'os.truncate(workspace / "a.txt", 0)',
        '(workspace / "l").symlink_to("a.txt")',
        'shutil.copy("/etc/hostname", workspace)',
    ],
)
def test_with_the_grant_to_read_every_change_names_the_grant_to_write(change: str) -> None:
    refused, there, host = inside(
        f"""
refused_as = refused(lambda: {change})
grants.finish()
answer = [refused_as, (workspace / "a.txt").read_text(), on_host()]
""",
        "read",
    )
    assert refused == ["PermissionError", READ_ONLY]
    assert there == "hello"
    assert host == HELLO


def test_with_the_grant_to_read_no_program_writes_into_the_copies() -> None:
    codes = inside(
        """
(workspace / "a.txt").read_text()
texts = [str(workspace / "a.txt"), str(workspace / "new")]
runs = [subprocess.run(["sh", "-c", f"echo x >> {text}"], stderr=subprocess.DEVNULL) for text in texts]
answer = [run.returncode != 0 for run in runs]
""",
        "read",
    )
    assert codes == [True, True]


def test_changes_reach_the_host_when_the_call_has_succeeded_and_not_before() -> None:
    before, after = inside("""
(workspace / "a.txt").write_text("changed")
with open(workspace / "sub" / "b.txt", "a") as file:
    file.write("+")
(workspace / "new" / "deep").mkdir(parents=True)
(workspace / "new" / "deep" / "d.txt").write_text("d")
(workspace / "empty").touch()
(workspace / "sub" / "c.txt").unlink()
before = on_host()
grants.finish()
answer = [before, on_host()]
""")
    assert before == HELLO
    assert after == {
        "a.txt": "changed", "empty": "", "new": None, "new/deep": None, "new/deep/d.txt": "d", "sub": None,
        "sub/b.txt": "b+", "table.csv": "x,y\n1,2\n",
    }  # fmt: skip


def test_a_file_that_is_overwritten_is_not_fetched_and_what_is_only_read_is_not_handed_back() -> None:
    read, changed = inside("""
(workspace / "a.txt").write_text("changed")
(workspace / "sub" / "b.txt").read_text()
(workspace / "sub" / "c.txt").unlink()
grants.finish()
answer = [fetched(), sum(door == "workspace.change" for door, _ in asked)]
""")
    assert (read, changed) == (["sub/b.txt"], 1)


def test_nothing_is_asked_or_handed_back_when_nothing_was_touched() -> None:
    assert inside("grants.finish()\nanswer = asked") == []
    assert inside("os.listdir(workspace)\ngrants.finish()\nanswer = asked") == [["workspace.list", ""]]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ('(workspace / "a.txt").rename(workspace / "z.txt")', {"a.txt": ..., "z.txt": "hello"}),
        ('os.replace(f"{workspace}/a.txt", workspace / "sub" / "b.txt")', {"a.txt": ..., "sub/b.txt": "hello"}),
        (
            '(workspace / "sub").rename(workspace / "moved")',
            {"sub": ..., "sub/b.txt": ..., "sub/c.txt": ..., "moved": None, "moved/b.txt": "b", "moved/c.txt": "c"},
        ),
        ('shutil.rmtree(workspace / "sub")', {"sub": ..., "sub/b.txt": ..., "sub/c.txt": ...}),
        ('shutil.copytree(workspace / "sub", workspace / "t")', {"t": None, "t/b.txt": "b", "t/c.txt": "c"}),
        (
            '[(workspace / "t.txt").write_text("safe"), os.replace(workspace / "t.txt", workspace / "a.txt")]',
            {"a.txt": "safe"},
        ),
        (
            '[(workspace / "a.txt").unlink(), (workspace / "a.txt").mkdir(), (workspace / "a.txt" / "in").touch()]',
            {"a.txt": None, "a.txt/in": ""},
        ),
        ('[(workspace / "sub" / n).unlink() for n in ("b.txt", "c.txt")] + [(workspace / "sub").rmdir()]',
         {"sub": ..., "sub/b.txt": ..., "sub/c.txt": ...}),
        ('(workspace / "none").unlink(missing_ok=True)', {}),
        ('os.truncate(workspace / "a.txt", 2)', {"a.txt": "he"}),
        ('os.link(workspace / "a.txt", workspace / "same")', {"same": "hello"}),
    ],
)  # fmt: skip
def test_moves_and_removals_are_carried_out(change: str, expected: dict[str, Any]) -> None:
    host = inside(f"{change}\ngrants.finish()\nanswer = on_host()")
    wanted = {name: text for name, text in (HELLO | expected).items() if text is not ...}
    assert host == wanted


def test_databases_and_tables_are_read_and_written() -> None:
    rows, total, again = inside("""
with open(workspace / "table.csv", newline="") as file:
    rows = list(csv.DictReader(file))
connection = sqlite3.connect(str(workspace / "data.db"))
connection.execute("create table t (x)")
connection.executemany("insert into t values (?)", [(1,), (2,)])
connection.commit()
connection.close()
grants.finish()
kept = sqlite3.connect(host / "data.db")
total = kept.execute("select sum(x) from t").fetchone()[0]
kept.close()
again = sorted(path.name for path in host.iterdir())
answer = [rows, total, again]
""")
    assert rows == [{"x": "1", "y": "2"}]
    assert total == 3
    assert again == ["a.txt", "data.db", "link", "sub", "table.csv"]


def test_a_database_is_read_with_the_grant_to_read() -> None:
    assert inside(
        """
kept = sqlite3.connect(host / "data.db")
kept.execute("create table t as select 7 as x")
kept.commit()
kept.close()
answer = sqlite3.connect(f"{workspace}/data.db").execute("select x from t").fetchall()
""",
        "read",
    ) == [[7]]


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        ('(workspace / "l").symlink_to("/etc/passwd")', "ValueError", "neither a file nor a folder"),
        ('os.mkfifo(os.path.join(workspace, "p"))', "ValueError", "neither a file nor a folder"),
        ('(workspace / "big").write_bytes(bytes((16 << 20) + 1))', "OSError", "that a file may have"),
        ('subprocess.run(["rm", "-f", workspace / "a.txt"])', "FileNotFoundError", "not by unlink"),
        ('[(workspace / "a.txt").write_text("x"), (host / "a.txt").write_text("theirs")]', "OSError", "meanwhile"),
        ('[(workspace / "new").write_text("x"), (host / "new").write_text("theirs")]', "FileExistsError", "meanwhile"),
    ],
)  # fmt: skip
def test_changes_that_cannot_be_kept_fail_the_call_and_none_of_them_is_carried_out(
    spoil: str, error: str, message: str
) -> None:
    refused, other = inside(f"""
(workspace / "other").write_text("x")
{spoil}
answer = [refused(grants.finish), (host / "other").exists()]
""")
    assert refused[0] == error
    assert message in refused[1]
    assert other is False


def test_a_broken_fetch_leaves_nothing_that_looks_like_the_file() -> None:
    first, mode, second = inside("""
answers = iter([OSError("the wire broke")])
whole = folder.read
def breaking(*words):
    problem = next(answers, None)
    if problem:
        raise problem
    return whole(*words)
folder.read = breaking
first = refused((workspace / "a.txt").read_text)
mode = (workspace / "a.txt").stat().st_mode & 0o777
answer = [first, mode, (workspace / "a.txt").read_text()]
""")
    assert (first, mode, second) == (["OSError", "the wire broke"], 0, "hello")


def test_a_file_that_could_not_be_fetched_is_not_handed_back_empty() -> None:
    refusals, host = inside("""
with open(host / "large", "wb") as file:
    file.truncate((16 << 20) + 1)
refusals = [refused((workspace / "large").read_bytes), refused((workspace / "link").read_text)]
(workspace / "new").write_text("x")
grants.finish()
answer = [refusals, [(host / "large").stat().st_size, (host / "new").exists(), (host / "a.txt").read_text()]]
""")
    assert [kind for kind, _ in refusals] == ["OSError", "PermissionError"]
    assert host == [(16 << 20) + 1, True, "hello"]


def test_a_file_that_changes_while_it_is_read_is_an_error() -> None:
    assert inside("""
(host / "large").write_bytes(b"x" * 600_000)
whole = folder.read
def changing(path, offset, length):
    piece = whole(path, offset, length)
    (host / "large").write_bytes(b"y" * 700_000)
    return piece
folder.read = changing
answer = refused((workspace / "large").read_bytes)[1]
""").startswith("[Errno 116] the file changed while it was read")


def test_folders_that_did_not_fit_are_listed_when_they_are_looked_at() -> None:
    count, text, inner, asked = inside("""
for number in range(1_995):
    (host / "many" / "deep").mkdir(parents=True, exist_ok=True)
    (host / "many" / "deep" / str(number)).write_text("x")
inner = subprocess.run(["ls", str(workspace / "many" / "deep")], capture_output=True).returncode
os.listdir(workspace)
text = open(f"{workspace}/many/deep/7").read()
listed = [path for door, path in asked if door == "workspace.list"]
answer = [len(os.listdir(workspace / "many" / "deep")), text, inner != 0, listed]
""")
    assert (count, text, inner) == (1_995, "x", True)
    assert asked == ["", "many/deep"]


def test_several_threads_fetch_without_getting_in_each_others_way() -> None:
    texts, errors = inside("""
for number in range(40):
    (host / f"n{number}").write_text(str(number))
texts, errors = [], []
def work(number):
    try:
        texts.append(int((workspace / f"n{number}").read_text()))
        (workspace / f"n{number}").unlink()
        (workspace / f"m{number}").write_text("m")
    except Exception as problem:
        errors.append(repr(problem))
threads = [threading.Thread(target=work, args=(number % 40,)) for number in range(40)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
grants.finish()
answer = [sorted(texts), errors + [name for name in on_host() if name.startswith("n")]]
""")
    assert (texts, errors) == (list(range(40)), [])


def test_at_import_time_the_path_is_there_and_its_files_are_not() -> None:
    kind, message = inside("""
def ask_early(door, words):
    raise RuntimeError("alita_tool answers only while a call runs")
early = grants.module({"workspace": "read"}, ask_early, root=f"{place}/early").workspace
answer = refused((early / "a.txt").read_text)
""")
    assert (kind, message) == ("RuntimeError", "alita_tool answers only while a call runs")


def test_without_the_grant_the_path_is_refused_by_name() -> None:
    assert inside("answer = refused(lambda: grants.module({}, ask).workspace)") == [
        "PermissionError", "alita_tool.workspace needs the grant 'workspace', which this tool does not have",
    ]  # fmt: skip


def test_the_other_doors_ask_with_their_words_or_name_the_missing_grant() -> None:
    answers, asked = inside("""
asked = []
def asks(door, words):
    asked.append([door, words])
    return door
full = grants.module({"model": True, "tools": ["other_tool"], "secrets": ["KEY"]}, asks)
answers = [full.complete("hi", max_tokens=5), full.call_tool("other_tool", name="n", a=1), full.secret("KEY"),
           refused(lambda: full.call_tool("third", a=1)), refused(lambda: full.secret("x")),
           refused(lambda: grants.module().complete("x"))]
answer = [answers, asked]
""")
    assert answers[:3] == ["complete", "call_tool", "secret"]
    assert [text for _, text in answers[3:]] == [
        "alita_tool.call_tool needs the grant 'tools': 'third', which this tool does not have",
        "alita_tool.secret needs the grant 'secrets': 'x', which this tool does not have",
        "alita_tool.complete needs the grant 'model', which this tool does not have",
    ]
    assert asked == [
        ["complete", {"prompt": "hi", "system": None, "max_tokens": 5, "temperature": None}],
        ["call_tool", {"name": "other_tool", "arguments": {"name": "n", "a": 1}}],
        ["secret", {"name": "KEY"}],
    ]


def test_files_are_read_and_written_by_their_names_alone() -> None:
    names, before, kept = inside("""
names = alita_tool.list_files()
before = fetched()
alita_tool.write_text("new/d.txt", alita_tool.read_text("a.txt") + " ä")
alita_tool.write_bytes("sub/b.txt", b"B")
grants.finish()
answer = [[names, alita_tool.list_files("sub")], before, on_host()]
""")
    assert names == [["a.txt", "link", "sub/b.txt", "sub/c.txt", "table.csv"], ["sub/b.txt", "sub/c.txt"]]
    assert before == []
    assert kept == HELLO | {"new": None, "new/d.txt": "hello ä", "sub/b.txt": "B"}


@pytest.mark.parametrize("path", ["/etc/passwd", "../host/a.txt", "sub/../../x", "sub/.."])
@pytest.mark.parametrize("call", ["read_text({!r})", "write_text({!r}, 'x')", "list_files({!r})"])
def test_no_name_leads_out_of_the_workspace(call: str, path: str) -> None:
    kind, text = inside(f"answer = refused(lambda: alita_tool.{call.format(path)})")
    assert kind == "PermissionError"
    assert "outside of the workspace" in text


def test_who_may_only_read_writes_no_file_by_its_name() -> None:
    kind, _ = inside("answer = refused(lambda: alita_tool.write_text('x.txt', 'x'))", "read")
    assert kind == "PermissionError"


def test_a_tool_without_the_grant_is_told_which_one_it_lacks() -> None:
    kind, text = inside("answer = refused(lambda: grants.module().read_text('a.txt'))")
    assert (kind, "'workspace'" in text) == ("PermissionError", True)
