from __future__ import annotations

from typing import Any

import pytest

from benchmarks.calls import goals


def spread(milliseconds: float, n: int = 5) -> dict[str, Any]:
    seconds = milliseconds / 1000
    return {"n": n, "median_s": seconds, "p10_s": seconds * 0.9, "p90_s": seconds * 1.2}


def whole_result() -> dict[str, Any]:
    crowd = {
        "one": {"callers": 1, "per_second": 300.0, "lost": 0},
        "many": {
            "callers": 16, "per_second": 500.0, "lost": 0, "p99_s": 0.06,
            "fewest_per_caller": 40, "most_per_caller": 50, "fairness": 0.8,
        },
        "times_one_caller": 1.67,
        "times_docker_run": 29.0,
    }  # fmt: skip
    return {
        "kinds": ["docker"],
        "missing": {"bubblewrap": "it is not installed"},
        "docker": {
            "spaced": spread(2), "back_to_back": spread(5),
            "ratio_to_docker_run": 0.01, "ratio_to_docker_run_back_to_back": 0.026,
            "crowd": crowd,
            "memory": {
                "idle_worker": {"workers": 1, "bytes": 18_000_000, "how": "docker stats"},
                "pool": {"bound": 8, "workers": 8, "bytes": 120_000_000, "how": "docker stats"},
            },
            "small_get": {"missing": "no broker"},
        },
        "baselines": {"docker run --rm": spread(200), "docker exec": {"missing": "no engine"}},
        "peers": {
            "slow peer": spread(100) | {"compared_with": "docker", "ratio": 0.02},
            "other peer": {"missing": "it did not start: " + 300 * "x", "compared_with": "docker"},
        },
        "stdio": {
            "ratio_to_noop": 3.0,
            "noop": {"spaced": spread(2), "back_to_back": spread(1)},
            "docker": {
                "spaced": spread(6), "back_to_back": spread(8), "ratio_to_noop": 3.0,
                "server_memory": {"calls": 1000, "start_bytes": 100_000_000, "end_bytes": 101_000_000, "growth": 0.01},
            },
        },
        "rounds": 5, "date": "2026-01-01", "seconds": 12.3, "versions": {"python": "3.11"},
    }  # fmt: skip


def verdicts(result: dict[str, Any]) -> dict[str, bool | None]:
    return {goal.what: goal.met for goal in goals.goals(result)}


def test_every_promised_figure_gets_its_verdict() -> None:
    assert verdicts(whole_result()) == {
        "docker: warm call, spaced, against docker run": True,
        "docker: warm call, back to back, against docker run": False,
        "docker: 16 callers against one": True,
        "docker: 16 callers against docker run": False,
        "docker: lost calls": True,
        "docker: idle warm worker, MB": True,
        "docker: small GET through the broker against direct": None,
        "docker against slow peer": True,
        "docker against other peer": None,
        "docker: tools/call over stdio against a no-op": True,
        "docker: growth of the server over 1000 calls": True,
    }


@pytest.mark.parametrize(
    ("path", "bad", "what"),
    [
        (("docker", "ratio_to_docker_run"), 0.017, "docker: warm call, spaced, against docker run"),
        (("docker", "crowd", "many", "lost"), 1, "docker: lost calls"),
        (("docker", "crowd", "times_one_caller"), 1.4, "docker: 16 callers against one"),
        (("docker", "memory", "idle_worker", "bytes"), 25_100_000, "docker: idle warm worker, MB"),
        (("stdio", "docker", "ratio_to_noop"), 3.51, "docker: tools/call over stdio against a no-op"),
        (
            ("stdio", "docker", "server_memory", "growth"),
            0.06,
            "docker: growth of the server over 1000 calls",
        ),
        (("peers", "slow peer", "ratio"), 1.01, "docker against slow peer"),
    ],
)
def test_a_figure_on_the_wrong_side_of_its_goal_is_not_met(
    path: tuple[str, ...], bad: float, what: str
) -> None:
    result = whole_result()
    place = result
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = bad
    assert verdicts(result)[what] is False


def test_the_table_shows_measured_value_ratio_goal_and_verdict_and_says_why_something_is_missing() -> None:
    lines = goals.table(whole_result()).splitlines()
    row = next(line for line in lines if "back to back, against docker run" in line)
    assert row.split("  ")[0] == "docker: warm call, back to back, against docker run"
    for word in ("5.00 ms / 200.00 ms", "0.0260", "≤ 0.0250", "NOT met"):
        assert word in row
    assert any("slow peer" in line and "2.00 ms / 100.00 ms" in line for line in lines)
    assert any(
        "other peer" in line and "not measured: it did not start" in line and len(line) < 220
        for line in lines
    )
    assert any("small GET" in line and "not measured: no broker" in line for line in lines)
    assert any("18.0 MB; pool of 8: 120.0 MB" in line for line in lines)
    assert any("40-50 calls each, fairness 0.8, p99 60.0 ms" in line for line in lines)
    assert "docker exec" in "\n".join(lines)
    assert "bubblewrap: not measured: it is not installed" in lines
    assert lines[-1] == "2026-01-01, 5 rounds, 12 s: python 3.11"


def test_without_an_engine_bubblewrap_is_compared_with_a_fresh_one_and_no_promise_counts_as_kept() -> None:
    result = {
        "kinds": ["bubblewrap"],
        "bubblewrap": {
            "spaced": spread(1), "back_to_back": spread(2), "ratio_to_docker_run": None,
            "ratio_to_fresh_bubblewrap": 0.05, "ratio_to_fresh_bubblewrap_back_to_back": 0.1,
        },
        "baselines": {"docker run --rm": {"missing": "no engine"}},
    }  # fmt: skip
    first, second = goals.goals(result)
    assert (first.met, second.met) == (None, None)
    assert first.why_not == "no engine; 0.050 of a fresh bubblewrap and interpreter"
    assert second.why_not == "no engine; 0.100 of a fresh bubblewrap and interpreter"


def test_a_goal_as_json_names_its_reason_only_when_nothing_was_measured() -> None:
    measured, missing = goals.goals(whole_result())[0], goals.goals(whole_result())[6]
    assert measured.as_json() == {
        "what": "docker: warm call, spaced, against docker run",
        "measured": 0.01,
        "goal": 0.01667,
        "at_most": True,
        "met": True,
    }
    assert missing.as_json()["why_not"] == "no broker"
    assert missing.as_json()["met"] is None


def test_the_embedded_sandbox_has_promises_of_its_own() -> None:
    slow = {"slow_import_spaced": spread(9), "slow_import_back_to_back": spread(30)}
    compute = {"loop": {"inside": spread(400), "plain": spread(100), "ratio": 4.0}}
    memory = {
        "idle_worker": {"workers": 1, "bytes": 25_000_000, "private_bytes": 19_000_000, "how": "PSS"},
    }
    crowd = whole_result()["docker"]["crowd"] | {"times_one_caller": 1.31}
    result = {
        "kinds": ["wasm"],
        "wasm": {
            "spaced": spread(2), "back_to_back": spread(6.1), "ratio_to_docker_run": 0.02,
            "ratio_to_docker_run_back_to_back": 0.024, "memory": memory, "compute": compute, "crowd": crowd, **slow,
            "first_call": spread(290),
        },
        "baselines": {"docker run --rm": spread(250)},
        "rounds": 5, "date": "2026-01-01", "seconds": 12.3, "versions": {"python": "3.11"},
    }  # fmt: skip
    assert verdicts(result) == {
        "wasm: warm call, spaced, against docker run": True,
        "wasm: warm call, back to back, against docker run": True,
        "wasm: warm call, ms": True,
        "wasm: warm call, back to back, ms": False,
        "wasm: call of a tool with an import of 20 ms, ms": True,
        "wasm: first call, its worker started for it, ms": True,
        "wasm: 16 callers against one": True,
        "wasm: 16 callers against docker run": False,
        "wasm: lost calls": True,
        "wasm: idle warm worker, private MB": True,
    }
    table = goals.table(result)
    assert "wasm, loop: 4 times plain" in table
    assert "wasm, slow import back to back  30.00 ms" in table
