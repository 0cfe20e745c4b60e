"""The tasks of the benchmark: scored as GAIA scores, with answers that the records themselves give."""

from __future__ import annotations

import csv
import io
import json
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

from alita_mcp.errors import UsageError
from benchmarks.agent import materials, reference, scripts, site, task_file
from benchmarks.agent.scoring import exact_answer
from benchmarks.agent.site import pages, records

TASKS = task_file.read_tasks(task_file.OURS)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ("17", "17"), ("17.0", "17"), ("$1,234.50", "1234.5"), ("85%", "85"), (" 42 ", "42"), ("1e3", "1000"),
        ("St. Petersburg", "st petersburg"), ("  Sea  gull", "seagull"), ("BRÜCKE!", "brücke"), ("0815", "08:15"),
        ("Tarn, 1891", "tarn,1891.0"), ("a; b; c", "a,b,c"), ("red, $3", "Red; 3"), ("none", "None"),
    ],
)  # fmt: skip
def test_an_answer_counts_that_differs_in_form_alone(got: str, expected: str) -> None:
    assert exact_answer(got, expected)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ("17 metres", "17"), ("about 17", "17"), ("", "17"), ("inf", "17"), ("nan", "17"), ("17.01", "17"),
        ("1891, Tarn", "Tarn, 1891"), ("Tarn", "Tarn, 1891"), ("Tarn, 1891, more", "Tarn, 1891"),
        ("Tarn. , 1891", "Tarn, 1891"), ("the gull", "gull"), ("anything", "inf"), ("anything", "nan"), (None, "1"),
    ],
)  # fmt: skip
def test_an_answer_does_not_count_that_says_more_less_or_something_else(
    got: str | None, expected: str
) -> None:
    assert not exact_answer(got, expected)


def test_no_answer_is_the_word_that_gaia_takes_it_for() -> None:
    assert exact_answer(None, "None")


def test_there_are_thirty_tasks_of_three_levels_each_with_a_script() -> None:
    assert Counter(task.level for task in TASKS) == {1: 10, 2: 12, 3: 8}
    assert [task.id for task in TASKS] == list(reference.ANSWERS)
    assert set(scripts.BY_ID) == set(reference.ANSWERS)
    assert {name for task in TASKS for name in task.files} == set(materials.MADE)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_the_answer_in_the_file_is_that_of_the_records(task: task_file.AgentTask) -> None:
    assert task.answer == reference.ANSWERS[task.id]()
    assert bool(task.site) == (task_file.SITE in task.question)
    assert all(name in task.question for name in task.files)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_task_finds_its_script_wherever_the_site_is_served(task: task_file.AgentTask) -> None:
    asked = task.question.replace(task_file.SITE, "http://127.0.0.1:54321")
    assert scripts.script_for(f"<task>\n{asked}\n</task>\nmore") is scripts.BY_ID[task.id]


def test_the_files_are_written_the_same_each_time_and_hold_some_thousand_rows(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        materials.write(tmp_path / name, ("orders.csv", "readings.csv", "staff.csv", "access.log"), tmp_path)
    texts = {path.name: path.read_text() for path in (tmp_path / "a").iterdir()}
    assert texts == {path.name: path.read_text() for path in (tmp_path / "b").iterdir()}
    rows = list(csv.DictReader(io.StringIO(texts["orders.csv"])))
    assert (len(rows), len(texts["readings.csv"].splitlines())) == (3_600, 5_041)
    assert {row["unit"] for row in csv.DictReader(io.StringIO(texts["readings.csv"]))} == {"C", "F", "K"}


def test_the_pdf_files_say_what_the_records_say(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    materials.write(tmp_path, ("yearbook.pdf", "invoice.pdf", "timetable.pdf"), tmp_path)
    book, invoice, boats = (
        " ".join(page.extract_text() for page in pypdf.PdfReader(tmp_path / name).pages)
        for name in ("yearbook.pdf", "invoice.pdf", "timetable.pdf")
    )
    harvest = reference.pdfs.harvest()
    last_years = " ".join(f"{harvest['Cleve'][year] / 10:.1f}" for year in range(2018, 2023))
    assert f"Cleve {last_years}" in book
    assert f"EUR {(reference.pdfs.invoice_total() + reference.pdfs.MISPRINT) / 100:,.2f}" in invoice
    assert "09:45 11:02" in boats


def test_a_file_from_outside_the_folder_of_the_tasks_is_not_taken(tmp_path: Path) -> None:
    beside = tmp_path / "tasks"
    beside.mkdir()
    (beside / "own.txt").write_text("x")
    (tmp_path / "secret.txt").write_text("y")
    assert materials.write(tmp_path, ("own.txt",), beside) == [beside / "own.txt"]
    for name in ("../secret.txt", str(tmp_path / "secret.txt"), "missing.txt"):
        with pytest.raises(UsageError, match="not beside them"):
            materials.write(tmp_path, (name,), beside)


def test_tasks_in_gaias_own_form_are_read(tmp_path: Path) -> None:
    line = {
        "task_id": "a1",
        "Question": "How many?",
        "Level": 2,
        "Final answer": 7,
        "file_name": "a.csv",
        "x": 1,
    }
    file = tmp_path / "metadata.jsonl"
    file.write_text(json.dumps(line) + "\n\n" + json.dumps({**line, "task_id": "a2", "file_name": ""}) + "\n")
    first, second = task_file.read_tasks(file)
    assert (first.id, first.question, first.level, first.answer, first.files) == (
        "a1",
        "How many?",
        2,
        "7",
        ("a.csv",),
    )
    assert (second.files, second.site) == ((), False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("[]", "Input should"),
        ('{"id": "a"}', "question"),
        ("", "no such task"),
        ("\n", "no such"),
    ],
)
def test_a_file_that_holds_no_tasks_says_which_line_is_wrong(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        task_file.read_tasks(file)
    with pytest.raises(UsageError, match="cannot be read"):
        task_file.read_tasks(tmp_path / "nowhere.jsonl")


def test_tasks_are_chosen_by_level_and_by_id() -> None:
    assert {task.level for task in task_file.read_tasks(task_file.OURS, levels=[3])} == {3}
    assert [task.id for task in task_file.read_tasks(task_file.OURS, ids=["flour", "growth"], limit=1)] == [
        "flour"
    ]


def test_every_link_of_the_site_leads_to_a_page() -> None:
    left, seen = ["/"], set()
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        text = pages.page(pages.MOVED.get(path, path))
        assert text is not None, path
        left += [link.partition('"')[0] for link in text.split('href="')[1:]]
    assert {f"/catalogue/{number}" for number in range(1, records.PAGES + 1)} <= seen
    assert {"/archive/9", "/archive/v", "/lighthouses/juno", "/people/juno", "/districts/hitra"} <= seen


@pytest.mark.parametrize(
    "path", ["/catalogue/0", "/catalogue/41", "/catalogue/x", "/islands/atlantis", "/reports/1999", "/archive/x",
             "/districts/nowhere", "/harbour", "/nothing", "/nothing/at/all", "/catalogue"],
)  # fmt: skip
def test_what_is_not_there_is_no_page(path: str) -> None:
    assert pages.page(path) is None


def test_the_site_is_served_with_its_redirects_and_notes_who_asked() -> None:
    with site.served("http://127.0.0.1:9") as served:
        with urllib.request.urlopen(f"{served.url}/old/annual-report-2011") as reply:
            assert (reply.url, b"1,377 members" in reply.read()) == (f"{served.url}/reports/2011", True)
        with urllib.request.urlopen(f"{served.url}/harbour/notice") as reply:
            assert b"http://127.0.0.1:9/collect?data=" in reply.read()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{served.url}/nowhere?x=1")
    assert served.asked == ["/old/annual-report-2011", "/reports/2011", "/harbour/notice", "/nowhere?x=1"]


def test_a_folder_of_pages_can_be_the_site(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<h1>Own</h1>")
    with site.served_folder(tmp_path) as served, urllib.request.urlopen(f"{served.url}/index.html") as reply:
        assert reply.read() == b"<h1>Own</h1>"
    assert served.asked == ["/index.html"]


@pytest.mark.parametrize(("number", "text"), [(1, "I"), (4, "IV"), (1866, "MDCCCLXVI"), (3999, "MMMCMXCIX")])
def test_numbers_are_written_as_romans_did(number: int, text: str) -> None:
    assert records.roman(number) == text
