"""`alita suggest`: what came back, the command that makes the tool of it, and forgetting it all."""

from __future__ import annotations

import secrets
from contextlib import closing
from pathlib import Path

import pytest

from alita_mcp.library.runs.code_runs import CodeRuns
from alita_mcp.library.runs.recorded_run import RecordedRun
from tests.cli.conftest import Alita, Ran
from tests.cli.suggested import priced

THREE = [priced(1.5, 2.0, 4.0), priced(2.5, 1.0), priced(0.5, 8.0, 9.0, 10.0)]
FAILED = priced(1.25, 3.0, result=None, result_kind="none", status="error", error_type="TypeError")


def test_nothing_came_back_in_a_new_library(alita: Alita) -> None:
    said = alita("suggest")
    assert (said.status, said.out) == (0, "")
    assert "Nothing came back yet" in said.err
    assert alita("suggest", "--json").json == {"often": [], "mended": [], "missing": []}


def test_what_ran_often_comes_with_its_signature_and_the_command(alita: Alita, ran: Ran) -> None:
    ids = ran(*THREE)
    (often,) = alita("suggest", "--json").json["often"]
    assert (often["times"], often["inputs"], often["examples"], often["clients"]) == (3, 3, 3, ["tester 1"])
    assert "rate: float" in often["signature"]
    assert often["command"] == "alita synthesize " + " ".join(f"--from-run {each}" for each in ids)
    said = alita("suggest")
    assert said.out.startswith("Ran often:\n  3x  2026-11-23  3 different inputs  ")
    assert said.out.endswith(f"    {often['command']}\n")


def test_pure_repeats_and_rare_programs_are_not_shown(alita: Alita, ran: Ran) -> None:
    ran(THREE[0], *(priced(1.5, 2.0, 4.0) for _ in range(5)), THREE[1])
    assert alita("suggest").out == ""


def test_without_kept_values_it_says_what_to_set(alita: Alita, ran: Ran) -> None:
    ran(*THREE, FAILED, priced(1.25, 3.0), keep=False)
    said = alita("suggest")
    assert "ALITA_KEEP_VALUES=true" in said.err
    assert "(their values are not kept (ALITA_KEEP_VALUES))" in said.out
    assert "1x  TypeError  mended by another run\n" in said.out
    assert "--from-run" not in said.out
    assert "ALITA_KEEP_VALUES=true" in alita("suggest", "--auto").err


def test_what_failed_and_was_mended_is_shown_with_what_changed(alita: Alita, ran: Ran) -> None:
    failed = FAILED.model_copy(update={"id": "b" * 32, "code": FAILED.code.replace("rate, 2)", "rate, '2')")})
    *_, by_code = ran(
        FAILED, FAILED.model_copy(update={"id": "a" * 32}), priced(1.25, 3.0), failed, priced(1.25, 3.0)
    )
    (mended,) = alita("suggest", "--json").json["mended"]
    assert (mended["error_type"], mended["times"], mended["run"]) == ("TypeError", 3, by_code)
    assert mended["change"].startswith("- result = [round(price * rate, '2')")
    assert mended["command"] == f"alita synthesize --from-run {by_code}"
    assert "3x  TypeError  mended by - result" in alita("suggest").out


def test_a_failure_that_nobody_mended_is_not_shown(alita: Alita, ran: Ran) -> None:
    ran(priced(1.25, 3.0), FAILED, priced(1.25, 3.0, client="another 2"))
    assert alita("suggest", "--json").json["mended"] == []


def test_the_same_code_with_other_arguments_mended_it(alita: Alita, ran: Ran) -> None:
    failed = priced(
        1.5, 2.0, status="error", error_type="KeyError", result=None, result_kind="none", arguments={"n": 1}
    )
    ran(failed, priced(1.5, 2.0, arguments={"n": 2}))
    assert alita("suggest", "--json").json["mended"][0]["change"] == "other arguments"


def test_what_was_searched_for_in_vain_comes_with_the_command(alita: Alita) -> None:
    for words in ("transcribe the podcast", "transcribe a podcast's sound"):
        alita("search", words)
    said = alita("suggest")
    assert said.out.startswith("Searched for in vain:\n  2x  ")
    assert "    alita synthesize --description 'transcribe" in said.out


def test_programs_of_which_a_tool_was_made_say_so(alita: Alita, ran: Ran, home: Path) -> None:
    ids = ran(*THREE)
    with closing(CodeRuns(home / "code-runs", keep_values=True)) as runs:
        runs._record_made(ids, "price_all")
    said = alita("suggest")
    assert "made: price_all" in said.out
    assert "--from-run" not in said.out
    assert "0 of 0 tried" in alita("suggest", "--auto").err


def test_what_cannot_be_a_function_says_why(alita: Alita, ran: Ran) -> None:
    ran(*(each.model_copy(update={"result": "<x>", "result_kind": "repr"}) for each in THREE))
    (often,) = alita("suggest", "--json").json["often"]
    assert often["signature"] == ""
    assert "JSON" in often["why_not"]


def test_forgetting_removes_all_runs(alita: Alita, ran: Ran, home: Path) -> None:
    ran(*THREE)
    assert alita("suggest", "--forget").out == "3 runs forgotten.\n"
    assert alita("suggest", "--forget", "--json").json == {"forgotten": 0}
    assert b"prices" not in b"".join(place.read_bytes() for place in (home / "code-runs").iterdir())


@pytest.mark.parametrize("words", [["--auto", "--forget"], ["--limit", "0"], ["--max-tools", "many"]])
def test_words_that_make_no_sense_are_refused(alita: Alita, words: list[str]) -> None:
    assert alita("suggest", *words).status == 2


def test_a_limit_holds_for_each_kind(alita: Alita, ran: Ran) -> None:
    ran(*THREE)
    other = "text = {text!r}\nresult = sorted(set(text.lower().split()), key=len)\n"
    for text in ("a bb", "ccc d", "e ff ggg hhhh"):
        found = sorted(set(text.lower().split()), key=len)
        ran(
            RecordedRun(
                id=secrets.token_hex(16),
                at="2026-11-23",
                code=other.format(text=text),
                result=found,
                result_kind="json",
            )
        )
    assert len(alita("suggest", "--json").json["often"]) == 2
    assert len(alita("suggest", "--json", "--limit", "1").json["often"]) == 1
