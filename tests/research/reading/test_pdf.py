"""PDFs: text page by page, and every way in which one cannot be read."""

from __future__ import annotations

import functools
import io
import itertools
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import UsageError
from alita_mcp.research.reading.documents import read_document
from alita_mcp.research.reading.pdf import pdf_document
from alita_mcp.research.values import Document

pytestmark = pytest.mark.extra("web")


def pdf(*pages: str, password: str | None = None, owner: str = "") -> bytes:
    from fpdf import FPDF  # takes a second, in each process that collects tests
    from fpdf.enums import EncryptionMethod

    made = FPDF()
    made.set_title("Owl counts")
    made.set_font("helvetica", size=12)
    if password is not None:
        made.set_encryption(
            owner_password=owner or "owner",
            user_password=password,
            encryption_method=EncryptionMethod.AES_256,
        )
    for text in pages:
        made.add_page()
        if text:
            made.multi_cell(0, text=text)
    return bytes(made.output())


def read(body: bytes) -> Document:
    return read_document(body, "application/pdf", "https://a.example/owls.pdf")


def test_pages_come_one_after_the_other_with_their_numbers() -> None:
    document = read(pdf("Owls in 2024: 17", "", "Owls in 2025: 23\nand more"))
    assert document.text.split("\n\n") == [
        "--- page 1 of 3 ---\nOwls in 2024: 17",
        "--- page 2 of 3 ---\n(no text on this page)",
        "--- page 3 of 3 ---\nOwls in 2025: 23\nand more",
    ]
    assert (document.title, document.content_type) == ("Owl counts", "application/pdf")


def test_one_that_only_forbids_changes_is_read_and_one_with_a_password_is_not() -> None:
    assert "words" in read(pdf("words", password="")).text
    with pytest.raises(UsageError, match="encrypted"):
        read(pdf("words", password="secret"))


def test_damaged_ones_are_refused() -> None:
    for body in (b"%PDF-1.7", b"%PDF-1.7\n%%EOF", b"%PDF-" + b"\xff" * 5_000, pdf("words")[:300]):
        with pytest.raises(UsageError):
            read(body)


def test_reading_ends_at_its_time_and_says_what_is_left() -> None:
    clock = itertools.count(0, 5)
    document = pdf_document(pdf(*["words"] * 9), "u", clock=lambda: float(next(clock)))
    assert document.text.endswith("--- 7 more pages were not read ---")


@pytest.mark.slow
def test_a_stream_that_unpacks_to_gigabytes_takes_no_gigabytes() -> None:
    packer = zlib.compressobj()
    bomb = b"".join(packer.compress(b" " * 1_000_000) for _ in range(400)) + packer.flush()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(bomb), bomb),
    ]
    made = io.BytesIO(b"%PDF-1.4\n")
    made.seek(0, io.SEEK_END)
    places = []
    for number, content in enumerate(objects, 1):
        places.append(made.tell())
        made.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    start = made.tell()
    made.write(
        b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    )
    made.write(b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start)
    with pytest.raises(UsageError):
        read(made.getvalue())


@functools.cache
def sound() -> bytes:
    return pdf("Owls hunt at night", "and fly without a sound")


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=30))
def test_no_damage_breaks_it(changes: list[tuple[int, int]]) -> None:
    body = bytearray(sound())
    for place, value in changes:
        body[8 + place % (len(body) - 8)] = value
    try:
        assert read(bytes(body)).text
    except UsageError:
        return
