"""What the program inside a sandbox collects of figures and files, run here on stand-ins of the libraries."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.runs.guest import figures, files
from alita_mcp.sandbox.runner.tool import grants, pictures
from tests.runs.pictures import png


@pytest.fixture(autouse=True)
def alita_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "alita_tool", grants.module())


class Box:
    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height


class Plot:
    """A figure as matplotlib's: what it draws takes as many bytes as it has dots."""

    dpi = 100.0

    def __init__(self, around: Box | None = None, bytes_a_dot: float = 0.001) -> None:
        self.around = around or Box(4, 3)
        self.bytes_a_dot = bytes_a_dot
        self.drawn: list[tuple[float, str | None]] = []

    def get_size_inches(self) -> tuple[float, float]:
        return 4.0, 3.0

    def get_tightbbox(self) -> Box:
        return self.around

    def savefig(self, file: Any, format: str, dpi: float, bbox_inches: str | None) -> None:  # noqa: A002
        self.drawn.append((dpi, bbox_inches))
        file.write(figures.PNG + bytes(int(4 * 3 * dpi * dpi * self.bytes_a_dot)))


class Image:
    """An image as Pillow's."""

    def __init__(self, size: tuple[int, int], mode: str = "RGB") -> None:
        self.size, self.mode = size, mode

    def copy(self) -> Image:
        return Image(self.size, self.mode)

    def convert(self, mode: str) -> Image:
        return Image(self.size, mode)

    def thumbnail(self, size: tuple[int, int]) -> None:
        self.size = size

    def save(self, file: Any, kind: str) -> None:
        assert (kind, self.mode) == ("PNG", "RGB")
        file.write(figures.PNG + bytes(self.size[0] * self.size[1]))


class Told:
    """Something with a picture of its own."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def _repr_png_(self) -> Any:
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


def sizes(told: dict[str, Any]) -> list[int]:
    return [len(base64.b64decode(each["data"])) for each in told["figures"]]


def test_a_figure_that_is_far_too_wide_is_drawn_without_what_stands_far_away() -> None:
    far, near = Plot(Box(1_000, 3)), Plot(Box(5, 3))
    figures.take_figures(far)
    figures.take_figures(near)
    assert far.drawn == [(100.0, None)]
    assert near.drawn == [(100.0, "tight")]


def test_what_is_too_large_is_drawn_smaller() -> None:
    plot = Plot(bytes_a_dot=10)
    assert sizes(figures.take_figures(plot))[0] <= pictures.SCALED_TO_BYTES
    assert [dpi for dpi, _ in plot.drawn] == [100.0, 50.0]
    assert sizes(figures.take_figures(Image((4_000, 3_000), "F")))[0] <= pictures.SCALED_TO_BYTES


@pytest.mark.parametrize(
    "answer", [5, "text", b"no png", RuntimeError("no"), SystemExit(), KeyboardInterrupt()]
)
def test_a_picture_that_fails_costs_no_more_than_itself(answer: Any) -> None:
    figures.display(Told(answer))
    told = figures.take_figures(png())
    assert len(told["figures"]) == 1
    raised = type(answer) if isinstance(answer, BaseException) else TypeError
    assert told["notes"] == [f"A figure is left out: drawing it raised {raised.__name__}."]


def test_display_prints_what_is_no_picture(capsys: pytest.CaptureFixture[str]) -> None:
    figures.display(3, "a", Told(None), "<svg/>", Told((png(), {})))
    assert capsys.readouterr().out.startswith("3\n'a'\n<tests.runs")
    mimes = [each["mime"] for each in figures.take_figures(None)["figures"]]
    assert mimes == ["image/svg+xml", "image/png"]


def test_more_figures_than_an_answer_holds_are_named() -> None:
    figures.display(*[png()] * 14)
    told = figures.take_figures(None)
    assert len(told["figures"]) == 8
    assert told["notes"] == [
        "6 more figures are left out, 8 are shown: bytes, bytes, bytes, bytes, bytes, …."
    ]


def test_regular_files_are_listed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.txt").write_text("hi")
    for hidden in (".cache", "__pycache__"):
        (tmp_path / hidden).mkdir()
        (tmp_path / hidden / "x").touch()
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "line\nbreak").write_text("x")
    (tmp_path / "gone").write_text("x")
    os.mkfifo(tmp_path / "fifo")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.bin")).write_text("x")
    told = files.collect_files(str(tmp_path))
    assert [file["name"] for file in told["files"]] == ["a/b/c.txt", "gone"]
    assert told["files"][0]["data"] == base64.b64encode(b"hi").decode()
    assert told["notes"][0].startswith(
        "Files left out (2): 'line\\nbreak' (1 bytes), '\\udcff.bin' (1 bytes)."
    )


def test_files_beyond_the_limits_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 100)
    (tmp_path / "0large").write_bytes(bytes(101))
    for number in range(30):
        (tmp_path / f"f{number:02}").write_bytes(b"1")
    told = files.collect_files(str(tmp_path))
    assert [file["name"] for file in told["files"]] == [f"f{number:02}" for number in range(20)]
    assert told["notes"][0].startswith("Files left out (11): '0large' (101 bytes), 'f20' (1 bytes)")
