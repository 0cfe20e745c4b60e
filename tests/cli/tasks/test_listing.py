"""`alita runs` over runs that are kept."""

from __future__ import annotations

import anyio
import pytest

from alita_mcp.agent.runs.store import StoredRuns
from alita_mcp.agent.values import TaskRequest
from tests.cli.tasks.conftest import Solve
from tests.cli.tasks.scripted_flow import PLAN, RUN, ScriptedFlow, kept_runs, step

OTHER = "6" * 32


def begin_run(run: str) -> StoredRuns:
    """A run that goes on for as long as its store is there."""
    store = kept_runs()
    anyio.run(store.begin_run, run, TaskRequest(task="another"))
    return store


def test_runs_are_listed_with_how_they_ended(solve: Solve, runs: Solve) -> None:
    assert runs().out == "No tasks were worked on yet.\n"
    solve(ScriptedFlow(step(1), cost=0.25), "Sum\x1b[31m the\nsales.")
    store = begin_run(OTHER)
    first, second = runs().out.splitlines()
    assert first.split() == [OTHER[:12], *first.split()[1:3], "running", "0", "steps", "0", "s", "another"]
    assert second.endswith("Sum<U+001B>[31m the sales.")
    assert "solved" in second
    assert "0.2500 USD" in second
    told = runs("--json", "--limit", "1").json
    del store
    assert [(run["run"], run["status"]) for run in told["runs"]] == [(OTHER, "running")]


def test_a_person_sees_the_runs_of_all_owners(runs: Solve) -> None:
    store = kept_runs()
    anyio.run(store.begin_run, OTHER, TaskRequest(task="another"), "token:0123456789abcdef")
    assert runs().out.rstrip().endswith("(token:0123456789abcdef) another")
    assert runs("--json").json["runs"][0]["owner"] == "token:0123456789abcdef"
    assert runs(OTHER[:4]).status == 0


def test_a_log_tells_all_that_happened_and_escapes_what_strangers_wrote(solve: Solve, runs: Solve) -> None:
    hostile = step(1, observation="line\n\x1b]0;owned\x07 second")
    solve(ScriptedFlow([("plan", "why", PLAN), ("plan", "odd", {"chosen": [1]}), *hostile]))
    out = runs(RUN[:4]).out
    assert "10:00:00  started: Sum the sales." in out
    assert "1. read_csv: the sales" in out
    assert "  | line\n  | <U+001B>]0;owned<U+0007> second" in out
    assert "\x1b" not in out
    told = runs(RUN, "--json").json
    assert (told["run"]["answer"], told["events"][-1]["kind"]) == ("42", "finished")


@pytest.mark.parametrize(
    ("prefix", "says"),
    [
        ("55", "Several"),
        ("", "no run"),
        ("../", "no run"),
        ("7", "no run"),
    ],
)
def test_a_run_is_named_by_its_beginning_where_that_is_one(prefix: str, says: str, runs: Solve) -> None:
    for end in "ab":
        begin_run("5" * 31 + end)
    said = runs(prefix)
    assert (said.status, says in said.err) == (2, True)
    assert runs("5" * 31 + "a").out == ""
