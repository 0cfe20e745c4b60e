"""The processes that read: kept, bounded, killed; nothing that is read takes the server with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio
import psutil
import pytest

from alita_mcp.errors import UsageError
from alita_mcp.research.reading import worker
from alita_mcp.research.reading.readers import (
    MAX_FILE_BYTES,
    Readers,
    ReadingLimits,
    open_readers,
    read_file,
)
from alita_mcp.sandbox.wasm import process
from tests.research.reading.test_pdf import pdf

pytestmark = [pytest.mark.anyio, pytest.mark.extra("web")]
PAGE = b"<html><title>Owls</title><body><p>Owls hunt at night.</p></body></html>"
SLOW = b"<p " + b" ".join(b"a%d=1" % number for number in range(60_000)) + b">words</p>"


async def title(readers: Readers) -> str:
    return (await readers.read_document(PAGE, "text/html", "http://a.example/")).title


@pytest.mark.slow
async def test_one_process_reads_many_bodies_and_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    opened = anyio.open_process

    async def noted(*arguments: object, **options: object) -> object:
        made = await opened(*arguments, **options)  # type: ignore[arg-type]
        started.append(made.pid)
        return made

    monkeypatch.setattr(process.anyio, "open_process", noted)
    with anyio.fail_after(60):
        async with open_readers() as readers:
            for _ in range(4):
                assert await title(readers) == "Owls"
            assert len(started) == 1
        assert [pid for pid in started if psutil.pid_exists(pid)] == []


@pytest.mark.slow
async def test_what_takes_too_long_is_given_up_and_the_next_body_is_read() -> None:
    with anyio.fail_after(60):
        async with open_readers(ReadingLimits(seconds=3)) as readers:
            with pytest.raises(UsageError, match="longer than 3 s"):
                await readers.read_document(SLOW, "text/html", "http://a.example/")
            assert await title(readers) == "Owls"


async def test_what_is_refused_inside_is_refused_outside() -> None:
    with anyio.fail_after(60):
        async with open_readers() as readers:
            with pytest.raises(UsageError, match="encrypted with a password") as refused:
                await readers.read_document(pdf("x", password="y"), "application/pdf", "http://a.example/")
            assert refused.value.hint == "Provide a copy without a password."


@pytest.mark.slow
async def test_a_process_that_ended_while_nobody_asked_is_replaced() -> None:
    with anyio.fail_after(60):
        async with open_readers() as readers:
            assert await title(readers) == "Owls"
            (idle,) = readers._idle
            await idle.stack.aclose()
            assert await title(readers) == "Owls"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("pass", "process died"),
        ("import sys; sys.stdin.buffer.read(1); print('x' * 100, end='')", "process died"),
        ("print('{}', flush=True); input()", "something else"),
        ("print('[]', flush=True); input()", "something else"),
        ("print('{\"document\": 1}', flush=True); input()", "something else"),
    ],
)
async def test_a_process_that_answers_nonsense_is_no_document(
    program: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        process, "module_command", lambda *_words: [sys.executable, "-I", "-S", "-c", program]
    )
    with anyio.fail_after(60):
        async with open_readers() as readers:
            with pytest.raises(UsageError, match=why):
                await title(readers)


async def test_where_no_process_starts_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "module_command", lambda *_words: ["/no/such/program"])
    async with open_readers() as readers:
        with pytest.raises(UsageError, match="no reading process"):
            await title(readers)


async def test_memory_is_bounded(tmp_path: Path) -> None:
    root = str(Path(worker.__file__).parents[3])
    program = (
        f"import sys; sys.path.insert(0, {root!r}); from alita_mcp.research.reading import worker\n"
        "worker.read_document = lambda *_: bytearray(8 << 30); worker.main()"
    )
    with anyio.fail_after(60), pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "module_command", lambda *_words: [sys.executable, "-I", "-c", program])
        async with open_readers() as readers:
            with pytest.raises(UsageError, match="more memory"):
                await title(readers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "body", "kind", "text"),
    [
        ("data.csv", b"a;b\r\n1;2\r\n", "text/csv", "a;b\n1;2\n"),
        ("notes.md", "# Käuze".encode("latin-1"), "text/plain", "# Käuze"),
        ("data.json", b'{"a": 1}', "application/json", '{\n "a": 1\n}'),
        ("page.html", PAGE, "text/html", "Owls hunt at night."),
        ("Report.PDF", pdf("words"), "application/pdf", "--- page 1 of 1 ---\nwords"),
        ("nothing.txt", b" \n", "text/plain", ""),
    ],
    ids=["csv", "markdown", "json", "html", "pdf", "nothing"],
)
async def test_files_of_a_task_are_read(name: str, body: bytes, kind: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(body)
    with anyio.fail_after(60):
        document = await read_file(tmp_path / "file", name)
        assert (document.url, document.content_type, document.text) == (f"file:{name}", kind, text)
        async with open_readers() as readers:
            assert await read_file(tmp_path / "file", name, readers) == document


async def test_files_that_are_not_read_are_refused_by_name(tmp_path: Path) -> None:
    large, program = tmp_path / "large", tmp_path / "program"
    with large.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    program.write_bytes(b"\x7fELF\x02\x01")
    cases = [
        (large, "large.csv", "larger than"),
        (program, "tool.bin", "'tool.bin'.*no text"),
        (tmp_path, "folder", "not a file"),
        (tmp_path / "none", "none.txt", "not a file"),
        (program, "table.xlsx", "office file"),
    ]
    with anyio.fail_after(60):
        for path, name, why in cases:
            with pytest.raises(UsageError, match=why):
                await read_file(path, name)


@pytest.mark.process
def test_a_reading_process_leaves_no_byte_code_that_its_limit_of_files_cut_off(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_text("names = [" + "".join(f"'name {n}', " for n in range(20_000)) + "]\n")
    program = (
        "import sys; from alita_mcp.research.reading import worker; worker.limit_process(); "
        f"sys.path.insert(0, {str(tmp_path)!r}); import large; print(len(large.names))"
    )
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert run.stdout.strip() == "20000", run.stderr
    assert not list(tmp_path.rglob("*.pyc"))


@pytest.mark.parametrize(("failure", "why"), [(MemoryError, "memory"), (RecursionError, "deeply")])
def test_what_is_too_much_for_the_process_is_refused(
    failure: type[Exception], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(worker, "read_document", fail)
    assert why in worker.answer_request({"content_type": "", "url": ""}, b"")["refused"]
