"""Figures and files that a run tells: only what a client can take and what is harmless is passed on."""

from __future__ import annotations

import base64

import pytest

from alita_mcp.runs import outputs
from alita_mcp.runs.outputs import is_file_name, outputs_of
from tests.runs.pictures import SIGNATURE, chunk, png


def figure(data: bytes, mime: str = "image/png") -> dict[str, str]:
    return {"mime": mime, "data": base64.b64encode(data).decode()}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (png(), ""),
        (png(8_000, 8_000), ""),
        (png(8_001, 1), "a PNG of 8,001 x 1 pixels"),
        (png(0, 1), "a PNG of 0 x 1 pixels"),
        (png()[:-1], "a PNG that is damaged"),
        (b"GIF89a", "neither a PNG nor an SVG"),
        (SIGNATURE, "a PNG without a picture"),
        (SIGNATURE + chunk(b"IHDR", png()[16:24]) + png()[33:], "a PNG without a picture"),
    ],
)
def test_a_picture_is_a_png_of_a_size_that_clients_show(data: bytes, problem: str) -> None:
    found = outputs_of([figure(data)], [], [])
    assert len(found.figures) == (not problem)
    assert [note.startswith(f"Figure 1 is left out: {problem}") for note in found.notes] == [True] * bool(
        problem
    )


def test_pictures_beyond_what_an_answer_holds_are_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "MAX_SHOWN_BYTES", len(png()) + 1)
    taken = {"name": "figure-2.png", "data": ""}
    found = outputs_of([figure(png()), figure(png())], [taken], [])
    assert len(found.figures) == 1
    assert [file.name for file in found.files] == ["figure-2.png", "_figure-2.png"]
    assert found.files[1].data == png()


@pytest.mark.parametrize(
    "told",
    [
        {"mime": "image/png", "data": "no base64!"},
        {"mime": "image/png", "data": base64.b64encode(b"no png").decode()},
        {"mime": "image/png", "data": "A" * 3_000_000},
        {"mime": "text/html", "data": "PHNjcmlwdD4="},
        {"mime": "image/svg+xml", "data": "<html><svg/></html>"},
        {"mime": "image/svg+xml", "data": "<svg>" + "x" * 1_000_000},
        {},
    ],
)
def test_a_forged_figure_is_left_out_and_said_so(told: dict[str, str]) -> None:
    found = outputs_of([told], [], [])
    assert (found.figures, found.files) == ((), ())
    assert found.notes[0].startswith("Figure 1 is left out: ")


@pytest.mark.parametrize(
    "name", ["", "..", "../x", "a/../b", "/etc/passwd", "a//b", "a/", ".", "a\nb", "\x1b[2J", "x" * 301]
)
def test_a_name_that_is_no_plain_path_below_a_folder_is_none(name: str) -> None:
    assert not is_file_name(name)
    found = outputs_of([], [{"name": name, "data": "QUJD"}], [])
    assert found.files == ()
    assert "is left out" in found.notes[0]


def test_forged_files_are_bounded_in_number_and_bytes_and_no_name_comes_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outputs, "MAX_FILE_BYTES", 5)
    told = [{"name": name, "data": "QUJD"} for name in ("a", "a", "b", *map(str, range(50)))]
    found = outputs_of([], [told[0], {"name": "c", "data": "!"}, *told[1:]], ["x" * 10_000] * 100)
    assert [file.name for file in found.files] == ["a"]
    assert len(found.notes) == outputs.MAX_NOTES + outputs.MAX_FILES - 1
    assert max(map(len, found.notes)) == outputs.MAX_NOTE
