"""Approvals of code, on one machine and of several servers: of people who decide at once, one wins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from alita_mcp.errors import ToolNotFound
from alita_mcp.library.grants import code_approvals
from alita_mcp.library.grants.code_approvals import AskedCode, CodeApprovals
from alita_mcp.library.storage import Storage
from alita_mcp.values import Grants

ASKED = AskedCode(code="1\x00", grants=Grants(model=True), owner="TEAM/subject")


def test_of_people_who_decide_at_once_one_wins(storage: Storage) -> None:
    for _ in range(5):
        people = [CodeApprovals(storage) for _ in range(6)]
        number = people[0].ask(ASKED)
        with ThreadPoolExecutor(6) as threads:
            decisions = [threads.submit(each.approve, number, ASKED.digest) for each in people[:4]]
            refusals = [threads.submit(each.revoke, number, if_waiting=True) for each in people[4:]]
        outcomes = [each.exception() or each.result() for each in decisions]
        is_approved = CodeApprovals(storage).is_approved(ASKED)
        refused = [each.result() for each in refusals if not each.exception()]
        assert outcomes.count(True) == int(is_approved)
        assert all(bool(each.approved_at) == is_approved for each in refused)
        if is_approved:
            assert outcomes.count(False) == 3
            people[0].revoke(number)
        else:
            assert len(refused) == 1
            assert all(isinstance(each, ToolNotFound) for each in outcomes)
        assert not CodeApprovals(storage).is_approved(ASKED)


def test_who_asks_much_displaces_its_own_and_nothing_that_is_approved(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_approvals, "MAX_WAITING", 6)
    approvals = CodeApprovals(storage)
    approved, waits = approvals.ask(ASKED), approvals.ask(ASKED.model_copy(update={"code": "2"}))
    approvals.approve(approved, ASKED.digest)
    for number in range(20):
        approvals.ask(AskedCode(code=str(number), grants=Grants(model=True)))
    waiting = dict(approvals.list_waiting())
    assert waits in waiting
    assert sorted(each.code for each in waiting.values() if each.owner == "user") == [
        "15",
        "16",
        "17",
        "18",
        "19",
    ]
    assert CodeApprovals(storage).is_approved(ASKED)
    assert not approvals.is_approved(ASKED.model_copy(update={"owner": "TEAM/other"}))
