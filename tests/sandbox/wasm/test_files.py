"""Files in the embedded sandbox: a scratch folder in memory that behaves as one on Linux does, and nothing else."""
# ruff: noqa: E501 - programs, as dense as tables

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.values import Limits
from tests.forked import printed
from tests.sandbox.arena import Arena
from tests.tables import each_case

TOLD = """
import csv, configparser, errno, fileinput, glob, gzip, io, json, linecache, logging, os, pathlib, re, shelve, shutil, stat
import sys, tarfile, tempfile, zipfile
from pathlib import Path

def told(action):
    try:
        return action()
    except Exception as problem:
        number = getattr(problem, "errno", None)
        name = errno.errorcode.get(number) if number else None
        text = re.sub(r"\\[Errno \\d+\\] ", "", str(problem))  # the numbers are those of the system
        return [type(problem).__name__, text, name, str(getattr(problem, "filename", None))]
"""
SAME = {
    "text": """
        with open("a", "w") as file:
            file.write("h\\u00e9llo\\nb\\n")
        with open("a") as file:
            return [file.name, file.mode, file.readline(), file.tell() > 0, list(file), file.closed]
        """,
    "bytes": """
        with open("a", "wb+") as file:
            file.write(b"0123456789"); file.seek(4); file.write(b"xy"); file.seek(-3, 2)
            return [file.read().decode(), file.tell(), file.truncate(3), Path("a").read_bytes().decode()]
        """,
    "modes": """
        out = []
        for mode in ("x", "r", "x", "a", "r+", "w", "r"):
            def work():
                with open("a", mode) as file:
                    return [file.readable() and file.read(), file.writable() and file.write(mode), file.tell()]
            out.append(told(work))
        return out
        """,
    "descriptors": """
        fd = os.open("a", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)
        out = [os.write(fd, b"hello"), os.lseek(fd, 1, os.SEEK_SET), os.read(fd, 2).decode(), os.lseek(fd, 0, os.SEEK_CUR), os.isatty(fd), oct(os.fstat(fd).st_mode)]
        os.ftruncate(fd, 2); os.fsync(fd); out.append(os.fstat(fd).st_size); os.close(fd)
        with open("a", "wb", 0) as file:
            out += [told(lambda: file.write("text")), told(lambda: os.write(file.fileno(), "text"))]
        return out + [told(lambda: os.read(fd, 1)), told(lambda: os.close(fd)), told(lambda: os.fstat(fd))]
        """,
    "holes": """
        with open("a", "wb") as file:
            file.seek(10); file.write(b"x"); file.truncate(20)
        return [Path("a").read_bytes().hex(), os.stat("a").st_size]
        """,
    "removed_while_open": """
        with open("a", "w+") as file:
            os.remove("a"); file.write("still"); file.seek(0)
            return [file.read(), os.path.exists("a"), os.fstat(file.fileno()).st_nlink]
        """,
    "missing": """
        return [told(lambda: work("no")) for work in (
            open, os.stat, os.lstat, os.listdir, os.scandir, os.remove, os.unlink, os.rmdir, os.chdir, os.readlink,
            os.path.getsize)] + [
            told(lambda: os.rename("no", "b")), told(lambda: os.replace("no", "b")), told(lambda: os.chmod("no", 0)),
            told(lambda: os.mkdir("no/b")), told(lambda: open("no/b", "w")),
            told(lambda: shutil.copy("no", "b")), told(lambda: open("")),
            told(Path("no").read_text), told(Path("no").unlink), told(lambda: Path("no").rename("b"))]
        """,
    "wrong_kind": """
        os.mkdir("d"); Path("f").touch(); Path("d/f").touch()
        return [told(each) for each in (
            lambda: open("d"), lambda: open("d", "w"), lambda: os.remove("d"), lambda: os.rmdir("f"), lambda: os.rmdir("d"),
            lambda: os.listdir("f"), lambda: os.chdir("f"), lambda: open("f/g"), lambda: os.stat("f/"), lambda: os.mkdir("f"),
            lambda: os.mkdir("d"), lambda: os.rename("f", "d"), lambda: os.rename("d", "f"), lambda: os.rename("d", "d/e"),
            lambda: os.readlink("f"), lambda: os.rmdir("."), lambda: open("g/", "w"))]
        """,
    "folders": """
        os.makedirs("a/b/c"); os.makedirs("a/b", exist_ok=True); Path("a/b/x").write_text("x"); os.rename("a/b", "z")
        walked = [[top, sorted(folders), sorted(files)] for top, folders, files in os.walk(".")]
        os.rmdir("z/c")
        return [sorted(walked), told(lambda: os.makedirs("z")), sorted(os.listdir()), os.listdir("a"), os.path.isdir("a/../z")]
        """,
    "working_folder": """
        top = os.getcwd(); os.mkdir("d"); os.chdir("d"); Path("f").touch()
        out = [os.path.relpath(os.getcwd(), top), os.path.exists("../d/f"), os.path.relpath(os.path.abspath("f"), top)]
        os.remove("f"); os.rmdir("../d")
        out += [told(os.getcwd), told(lambda: open("g", "w"))]
        os.chdir(top)
        return out
        """,
    "scandir": """
        os.mkdir("d"); Path("f").write_text("abc")
        with os.scandir() as entries:
            return sorted([e.name, e.path, e.is_dir(), e.is_file(), e.is_symlink(), e.is_dir(follow_symlinks=False),
                           repr(e), os.fspath(e), e.is_dir() or e.stat().st_size] for e in entries)
        """,
    "replace": """
        Path("a").write_text("a"); Path("b").write_text("b"); os.mkdir("d"); os.mkdir("e")
        os.replace("a", "b"); os.rename("d", "e"); os.rename("b", "b")
        return [sorted(os.listdir()), Path("b").read_text()]
        """,
    "times_and_modes": """
        Path("f").touch(); os.utime("f", ns=(10**18, 10**18 + 5)); os.chmod("f", 0o4751)
        found = os.stat("f")
        out = [found.st_mtime_ns, found.st_mtime, oct(found.st_mode), stat.filemode(found.st_mode)]
        os.utime("f", (1, 2.5)); Path("g").touch()
        return out + [os.stat("f").st_mtime, os.path.getmtime("f"), oct(os.stat("g").st_mode)]
        """,
    "temporary": """
        out = []
        for make in (tempfile.TemporaryFile, tempfile.NamedTemporaryFile, lambda: tempfile.SpooledTemporaryFile(max_size=2)):
            with make() as file:
                file.write(b"abc"); file.seek(0); out.append(file.read().decode())
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "x").write_text("x"); out.append(os.listdir(folder))
        fd, name = tempfile.mkstemp(".txt", "pre", text=True); os.close(fd)
        made = tempfile.mkdtemp(); out += [os.path.exists(folder), oct(os.stat(name).st_mode), oct(os.stat(made).st_mode)]
        os.remove(name); os.rmdir(made)
        return out + [os.path.basename(name).startswith("pre"), tempfile.gettempdir()]
        """,
    "shutil": """
        os.makedirs("a/b"); Path("a/b/f").write_text("f"); os.chmod("a/b/f", 0o600)
        shutil.copytree("a", "c"); shutil.copy("a/b/f", "g"); shutil.copy2("g", "h"); shutil.move("h", "c")
        archive = shutil.make_archive("made", "zip", "c"); shutil.unpack_archive(archive, "out"); shutil.rmtree("a")
        return [sorted(glob.glob("**", recursive=True)), oct(os.stat("g").st_mode),
                told(lambda: shutil.copy("g", "g")), told(lambda: shutil.copytree("c", "out"))]
        """,
    "archives": """
        Path("f").write_text("text" * 100)
        with zipfile.ZipFile("z.zip", "w", zipfile.ZIP_DEFLATED) as file:
            file.write("f"); file.writestr("g", "gg")
        with zipfile.ZipFile("z.zip", "a") as file:
            file.writestr("h", "h")
        with tarfile.open("t.tar.gz", "w:gz") as file:
            file.add("f")
        with gzip.open("g.gz", "wt") as file:
            file.write("zipped")
        with zipfile.ZipFile("z.zip") as zipped, tarfile.open("t.tar.gz") as tarred:
            return [zipped.namelist(), zipped.read("f").decode()[:8], tarred.getnames(), gzip.open("g.gz", "rt").read(),
                    zipfile.is_zipfile("z.zip"), zipfile.is_zipfile("f")]
        """,
    "modules": """
        os.makedirs("made/inner"); Path("made/__init__.py").write_text("from made.inner import VALUE")
        Path("made/inner/__init__.py").write_text("VALUE = 7\\n")
        sys.path.insert(0, os.getcwd())
        try:
            import made
        finally:
            sys.path.pop(0)
        return [made.VALUE, os.path.relpath(made.__file__), told(lambda: __import__("never_made"))]
        """,
    "pathlib": """
        top = Path("d"); (top / "e").mkdir(parents=True); (top / "e" / "f.txt").write_text("x"); (top / "g.py").touch()
        with (top / "g.py").open("a") as file:
            file.write("y")
        return [sorted(map(str, top.rglob("*"))), sorted(map(str, top.glob("*.py"))), [p.name for p in top.iterdir() if p.is_dir()],
                (top / "g.py").stat().st_size, (top / "no").exists(), told((top / "e").rmdir), told(top.read_bytes),
                str((top / "g.py").rename(top / "h.py")), str((top / ".." / "d").resolve().relative_to(Path.cwd())),
                told(lambda: (top / "e").mkdir()), (top / "e").is_file(), told(lambda: (top / "e").touch(exist_ok=False))]
        """,
}  # fmt: skip


def program(body: str) -> str:
    return f"{TOLD}\ndef f():\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"


def run(arena: Arena, code: str, **limits: Any) -> RunResult:
    return arena.run(Job(code=code, function="f", arguments={}, limits=Limits(**limits)))


def value(arena: Arena, body: str, **limits: Any) -> Any:
    result = run(arena, program(body), **limits)
    assert result.ok, result
    return result.value


@pytest.mark.slow
@each_case("name", SAME)
def test_the_scratch_folder_behaves_as_a_folder_of_linux(arena: Arena, name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    code = f"import os\nos.chdir({str(folder)!r})\n{program(SAME[name])}\nprint(json.dumps(f()))\n"
    there = json.loads(printed(code).splitlines()[-1])
    here = value(arena, f"os.mkdir('work'); os.chdir('work')\n{textwrap.dedent(SAME[name]).strip()}")
    assert here == json.loads(json.dumps(there).replace(str(folder), "/tmp/work"))


@each_case(
    "attempt, error",
    [
        ("open('/etc/passwd')", "No such file or directory: '/etc/passwd'"),
        ("open('/proc/self/environ')", "No such file or directory: '/proc/self/environ'"),
        ("open('../../../etc/hostname')", "No such file or directory: '../../../etc/hostname'"),
        ("open('C:\\\\Windows')", "No such file or directory: 'C:\\\\Windows'"),
        ("open('/new', 'w')", "Permission denied: '/new'"),
        ("open('/dev/new', 'w')", "Permission denied: '/dev/new'"),
        ("os.mkdir('/new')", "Permission denied: '/new'"),
        ("os.rename('/tmp', '/new')", "Permission denied: '/tmp' -> '/new'"),
        ("os.rmdir('/tmp')", "Permission denied: '/tmp'"),
        ("os.remove('/dev/null')", "Permission denied: '/dev/null'"),
        ("os.chmod('/', 0o777)", "Operation not permitted: '/'"),
    ],
)
def test_outside_of_the_scratch_folder_nothing_is_there_and_nothing_can_be_made(
    arena: Arena, attempt: str, error: str
) -> None:
    assert value(arena, f"return told(lambda: {attempt})")[1] == error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "limits", "message"),
    [
        ("open('f', 'wb').write(b'x' * (2 << 20))", {"scratch_bytes": 1 << 20}, "1048576 bytes in the scratch directory (scratch_bytes)"),
        ("[open(str(n), 'wb').write(b'x' * 200_000) for n in range(99)]", {"scratch_bytes": 1 << 20},
         "1048576 bytes in the scratch directory (scratch_bytes)"),
        ("[open(str(n), 'wb').close() for n in range(99)]", {"scratch_files": 64},
         "64 files and folders in the scratch directory (scratch_files)"),
        ("[os.mkdir(str(n)) for n in range(99)]", {"scratch_files": 64},
         "64 files and folders in the scratch directory (scratch_files)"),
        ("held = [open('/dev/null') for n in range(99)]", {"open_files": 40}, "40 open files (open_files)"),
        ("fd = os.open('f', os.O_CREAT | os.O_RDWR); os.lseek(fd, 1 << 40, 0); os.write(fd, b'x')", {}, "in the scratch directory (scratch_bytes)"),
    ],
)  # fmt: skip
def test_a_limit_that_is_hit_is_named(arena: Arena, code: str, limits: dict[str, int], message: str) -> None:
    result = run(arena, program(code), **limits)
    assert (result.status, result.error_type) == ("error", "OSError")
    assert message in result.message


def test_space_comes_back_when_the_last_name_and_descriptor_are_gone(arena: Arena) -> None:
    assert value(
        arena,
        """
        for _ in range(20):
            with open("f", "wb+") as file:
                file.write(b"x" * 900_000); file.flush(); os.remove("f")
                assert told(lambda: Path("g").write_bytes(b"x" * 900_000))[0] == "OSError"
            os.remove("g")
        free = os.statvfs("/tmp")
        return [free.f_bavail == free.f_blocks, free.f_favail == free.f_files]
        """,
        scratch_bytes=1 << 20,
    ) == [True, True]


def test_sqlite_says_that_it_has_no_files(arena: Arena) -> None:
    error, *rest = value(
        arena,
        """
        import sqlite3
        memory = [sqlite3.connect(name).execute("select 1").fetchall() for name in (":memory:", "")]
        return [told(lambda: sqlite3.connect("my.db")), memory, sqlite3.connect("file::memory:", uri=True) is None]
        """,
    )
    assert error[0] == "OperationalError"
    assert "'my.db'" in error[1]
    assert '":memory:"' in error[1]
    assert rest == [[[[1]], [[1]]], False]


def test_the_streams_are_still_there(arena: Arena) -> None:
    code = "import os, sys\ndef f():\n    os.write(1, b'raw\\n')\n    print('out')\n    sys.stderr.write('err')\n    return open(0).read()\n"
    result = run(arena, code)
    assert (result.value, result.stdout, result.stderr) == ("", "raw\nout\n", "err")


def test_errors_that_a_tool_makes_by_their_number_have_their_class(arena: Arena) -> None:
    assert value(
        arena,
        """
        named = ["ENOENT", "EACCES", "EEXIST", "ENOTDIR", "EISDIR", "EPIPE", "ETIMEDOUT", "ECONNREFUSED", "ENOSPC"]
        made = [OSError(getattr(errno, name), "x") for name in named]
        return [[type(each).__name__ for each in made], os.strerror(errno.ENOTEMPTY)]
        """,
    ) == [
        ["FileNotFoundError", "PermissionError", "FileExistsError", "NotADirectoryError", "IsADirectoryError",
         "BrokenPipeError", "TimeoutError", "ConnectionRefusedError", "OSError"],
        "Directory not empty",
    ]  # fmt: skip


def test_one_call_leaves_nothing_to_the_next(arena: Arena) -> None:
    code = program("seen = os.listdir('/tmp'); os.mkdir('d'); os.chmod('d', 0); return seen")
    assert [run(arena, code).value for _ in range(3)] == [[], [], []]
