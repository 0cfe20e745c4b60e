"""The benchmark of retrieval as its user runs it: files in, rankings, figures and fitted weights out, clear errors."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.library.search.finder import Finder
from alita_mcp.library.search.ranking import Calibration, Hit, Ranking, default_calibration
from benchmarks.retrieval import add_arguments, asking, fitting, needs, run, table

pytestmark = pytest.mark.slow

TOOLS = [
    {"name": "resize_image", "description": "Change the size of a picture.", "params": [{"name": "width"}]},
    {"name": "sumNumbers", "description": "Add numbers.", "tags": ["maths"], "color": "ignored"},
    {"name": "word_count", "description": "Count the words of a text.",
     "params": [{"name": "text", "description": None, "type": "str"}]},
]  # fmt: skip
QUERIES = [
    {"id": "q1", "query": "make a picture smaller", "tools": ["resize_image"]},
    {"id": "q2", "query": "how many words has this text", "tools": ["word_count", "other"]},
    {"id": "q3", "query": "the grand tally of my picture bills", "tools": ["sumNumbers"]},
]
OUTSIDE = [
    {"id": "o1", "query": "a lullaby for penguins", "tools": [], "kind": "far"},
    {"id": "o2", "query": "…"},
]
POOL = [
    {"id": "e1", "query": "the grand tally of bills", "tools": ["sumNumbers"]},
    {"id": "e2", "query": "a grand tally, please", "tools": ["sumNumbers"]},
    {"id": "e3", "query": "nobody's", "tools": []},
]
SCRIPTED = "tests.scripted_embedder:ScriptedEmbedder"


def lines(path: Path, rows: Sequence[Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    home = tmp_path / "own"
    return {
        "--catalogue": lines(home / "catalogue.jsonl", TOOLS),
        "--queries": lines(home / "dev.jsonl", QUERIES),
        "--outside": lines(home / "ooc_dev.jsonl", OUTSIDE),
    }


def words_of(files: dict[str, Path], *more: object) -> list[str]:
    return [str(word) for pair in files.items() for word in pair] + [str(word) for word in more]


def options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(list(words))


def measured(*words: object) -> Any:
    return run(options([str(word) for word in words]))


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("embedder", [(), ("--embedder", SCRIPTED)])
def test_rankings_have_one_line_for_every_need_in_the_order_of_the_files(
    files: dict[str, Path], tmp_path: Path, embedder: tuple[str, ...]
) -> None:
    out = tmp_path / "rankings.jsonl"
    result = measured(*words_of(files, "--rankings", out, *embedder))
    rows = read(out)
    assert [row["id"] for row in rows] == ["q1", "q2", "q3", "o1", "o2"]
    for row in rows:
        assert list(row) == ["id", "names", "scores", "probability", "band"]
        assert len(row["names"]) == len(row["scores"]) == len(set(row["names"]))
        assert row["scores"] == sorted(row["scores"], reverse=True)
        assert 0 <= row["probability"] <= 1
        assert row["band"] in ("match", "possible", "none")
    assert rows[1]["names"][0] == "word_count"
    assert rows[-1]["band"] == "none"
    assert result["sets"]["own"]["queries"] == 3
    assert {"refused_far", "refused_outside"} <= result["sets"]["own"].keys()


def test_two_runs_give_the_same_rankings(files: dict[str, Path], tmp_path: Path) -> None:
    outs = [tmp_path / "one", tmp_path / "two"]
    for out in outs:
        measured(*words_of(files, "--rankings", out))
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_examples_are_given_to_their_tools(files: dict[str, Path], tmp_path: Path) -> None:
    without = measured(*words_of(files))["sets"]["own"]["MRR"]
    pool = lines(tmp_path / "pool.jsonl", POOL)
    assert measured(*words_of(files, "--examples", pool))["sets"]["own"]["MRR"] > without


def test_requests_of_a_tool_are_always_the_same_ones() -> None:
    pool = [needs.Need(id=str(n), query=f"request {n}", tools=("a", "b")) for n in range(9)]
    chosen = needs.requests_for(pool, 3)
    assert chosen.keys() == {"a"}
    assert chosen == needs.requests_for(pool[::-1], 3)
    assert len(set(chosen["a"])) == 3


def test_a_folder_of_sets_is_measured_set_by_set(files: dict[str, Path], tmp_path: Path) -> None:
    lines(tmp_path / "plain" / "catalogue.jsonl", TOOLS)
    lines(tmp_path / "plain" / "dev.jsonl", QUERIES[:2])
    lines(tmp_path / "own" / "pool.jsonl", POOL)
    out = tmp_path / "rankings"
    result = measured("--sets", tmp_path, "--examples", tmp_path / "own" / "pool.jsonl", "--rankings", out)
    assert list(result["sets"]) == ["own", "plain"]
    assert len(read(out)) == 7
    shown = table(result)
    assert [line.split()[0] for line in shown.splitlines()] == ["set", "own", "plain", "mean"]
    assert "refused_far" in shown


@pytest.mark.parametrize("embedder", [(), ("--embedder", SCRIPTED)])
def test_fit_writes_where_it_is_told(
    files: dict[str, Path], tmp_path: Path, embedder: tuple[str, ...]
) -> None:
    target, shipped = tmp_path / "weights.json", fitting.SHIPPED.read_bytes()
    fitted = measured(*words_of(files, "--fit", "--weights", target, *embedder))
    known = json.loads(target.read_text())
    assert Calibration.model_validate(known).weights.keys() == default_calibration().weights.keys()
    assert json.loads(table(fitted)) == known
    assert fitting.SHIPPED.read_bytes() == shipped


def test_pairs_are_asked_as_tools_about_to_be_made(files: dict[str, Path], tmp_path: Path) -> None:
    twin = {"name": "shrink_picture", "description": "Change a picture to another size."}
    like = {"name": "count_letters", "description": "Count the letters of a text."}
    pairs = lines(
        tmp_path / "pairs",
        [
            {"candidate": twin, "of": "resize_image", "label": 1, "kind": "x"},
            {"candidate": like, "of": "word_count", "label": 0},
            {"candidate": like, "of": None, "label": 0},
        ],
    )
    out = tmp_path / "rankings"
    result = measured("--catalogue", files["--catalogue"], "--duplicates", pairs, "--rankings", out)
    assert result["sets"]["own"]["twins"] == 1
    assert result["sets"]["own"]["look-alikes"] == 2
    assert result["sets"]["own"]["R@1"] == 1
    assert read(out)[0]["id"] == "shrink_picture"
    assert table(result).splitlines()[-1].startswith("own")


WRONG = [
    (["--queries", "{q}"], "--catalogue and --queries are needed"),
    (["--catalogue", "{c}"], "--catalogue and --queries are needed"),
    (["--catalogue", "{missing}", "--queries", "{q}"], "cannot be read"),
    (["--catalogue", "{bytes}", "--queries", "{q}"], "cannot be read"),
    (["--catalogue", "{empty}", "--queries", "{q}"], "is empty"),
    (["--catalogue", "{notjson}", "--queries", "{q}"], "line 2: the line: Invalid JSON"),
    (["--catalogue", "{q}", "--queries", "{q}"], "line 1: name: Field required"),
    (["--catalogue", "{twice}", "--queries", "{q}"], "the tool 'sumNumbers' stands twice"),
    (["--catalogue", "{c}", "--queries", "{qtwice}"], "the id 'q1' stands twice"),
    (["--catalogue", "{c}", "--queries", "{q}", "--outside", "{q}"], "The id 'q1' stands in"),
    (["--catalogue", "{c}", "--queries", "{q}", "--examples", "{outside}"], "holds no request for a tool"),
    (["--catalogue", "{c}", "--queries", "{q}", "--per-tool", "5"], "--per-tool goes with --examples"),
    (["--catalogue", "{c}", "--queries", "{q}", "--weights", "x"], "--weights goes with --fit"),
    (["--catalogue", "{c}", "--duplicates", "{q}", "--fit"], "--duplicates goes with --catalogue alone"),
    (["--catalogue", "{c}", "--queries", "{q}", "--rankings", "{missing}/x"], "no folder for"),
    (["--catalogue", "{c}", "--queries", "{q}", "--rankings", "{dir}"], "cannot be written"),
    (["--sets", "{dir}/own"], "holds no set"),
    (["--sets", "{dir}", "--examples", "{c2}"], "stands in no set"),
    (["--catalogue", "{c}", "--queries", "{right}", "--fit", "--weights", "{w}"], "nothing to fit to"),
    (["--catalogue", "{c}", "--queries", "{q}", "--fit", "--weights", "{dir}"], "cannot be written"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_bad_input_is_told_of(files: dict[str, Path], tmp_path: Path, words: list[str], said: str) -> None:
    places = {
        "c": files["--catalogue"], "q": files["--queries"], "outside": files["--outside"],
        "dir": tmp_path, "missing": tmp_path / "missing", "w": tmp_path / "weights",
        "empty": lines(tmp_path / "empty", []), "list": lines(tmp_path / "list", [[1]]),
        "twice": lines(tmp_path / "twice", [*TOOLS, TOOLS[1]]), "qtwice": lines(tmp_path / "qtwice", QUERIES * 2),
        "right": lines(tmp_path / "right", QUERIES[1:2]), "c2": lines(tmp_path / "away", POOL),
    }  # fmt: skip
    places["notjson"], places["bytes"] = tmp_path / "notjson", tmp_path / "bytes"
    places["notjson"].write_text('{"name": "a"}\n{"name": \n')
    places["bytes"].write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=said.replace("(", r"\(")):
        measured(*(word.format(**places) for word in words))


@pytest.mark.parametrize("number", ["0", "-1", "2.5", "x", ""])
def test_numbers_below_one_are_refused(
    files: dict[str, Path], number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        options(words_of(files, "--examples", "x", f"--per-tool={number}"))
    assert "is no number from 1" in capsys.readouterr().err


async def test_an_embedder_that_is_not_there_is_told_of_at_once(files: dict[str, Path]) -> None:
    one = asking.read_set(files["--catalogue"], files["--queries"], None, None, 5)
    with anyio.fail_after(60), pytest.raises(ModelError, match="there is no model"):
        await asking.ask_all([one], _NoModel())


class _NoModel:
    name = "no/model"

    async def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        raise ModelError("there is no model")


class _GivesWay(Finder):
    """Goes by words as often as told before it has the meaning too."""

    def __init__(self, times: int) -> None:
        self.times = times

    async def search(self, query: str) -> Ranking:
        self.times -= 1
        return Ranking((Hit("a", 0.9, 1.0),), by_meaning=self.times < 0)


async def test_a_search_that_gave_way_to_words_is_asked_again() -> None:
    one = asking.Set("one", {}, [needs.Need(id="q", query="x", tools=("a",))])
    found = await asking.ask_finder(one, _GivesWay(3), by_meaning=True, pause_s=0.0)
    assert found.rankings[0].by_meaning
    with pytest.raises(ModelError, match="keeps the search waiting"):
        await asking.ask_finder(one, _GivesWay(10_000), by_meaning=True, pause_s=0.0)
    assert (await asking.ask_finder(one, _GivesWay(3), by_meaning=False)).rankings[0].by_meaning is False
