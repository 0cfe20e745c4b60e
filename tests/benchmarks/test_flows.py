"""`alita bench flows`: three flows are profiled, and none grows unnoticed."""

from __future__ import annotations

import argparse

from benchmarks import flows

CEILINGS = {"search": 138, "run": 125, "synthesize": 642}
"""Functions, a tenth above what was measured when this was written; to be lowered as the flows get shorter.

What writes the journal in the background may fall into `run`.
"""


def test_the_flows_go_through_no_more_functions_than_they_did() -> None:
    result = flows.run(argparse.Namespace(list="search"))
    counted = {row["name"]: row for row in result["flows"]}
    assert counted.keys() == CEILINGS.keys() == flows.GOALS.keys()
    for name, row in counted.items():
        assert 20 < row["functions"] <= CEILINGS[name], row
        assert 10 < row["files"] < row["functions"]
    assert "app/app.py: App.search" in result["functions"]
    assert len(result["functions"]) == counted["search"]["functions"]
    assert flows.table(result).splitlines()[1].split()[0] == "search"
