"""`alita approve --code` and `alita revoke --code`: a person reads code that asks for rights, and decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_mcp.library.grants.code_approvals import AskedCode, CodeApprovals
from alita_mcp.library.storage import Storage
from alita_mcp.values import Grants
from tests.cli.conftest import Alita

pytestmark = pytest.mark.slow

ASKED = AskedCode(
    code="import alita_tool\nalita_tool.complete('x')\x1b[2J", grants=Grants(model=True), client="claude"
)


def test_code_is_approved_by_its_digest_and_taken_back(alita: Alita, home: Path) -> None:
    approvals = CodeApprovals(Storage(home))
    number = approvals.ask(ASKED)
    refused = alita("approve", "--code", number)
    assert refused.status == 2
    assert "| alita_tool.complete('x')" in refused.err
    assert "\x1b" not in refused.err
    assert f"`alita approve --code {number} DIGEST`" in refused.err
    assert alita("approve", "--code", number, "sha256:no").status != 0
    assert not approvals.is_approved(ASKED)
    done = alita("approve", "--code", number, ASKED.digest)
    assert (done.status, done.out) == (0, f"Code {number} may run with: model.\n")
    assert approvals.is_approved(ASKED)
    assert "code approved" in alita("log").out
    assert alita("revoke", "--code", number).status == 0
    assert not approvals.is_approved(ASKED)
    assert "waits for approval" in alita("revoke", "--code", number).err


def test_a_part_of_what_code_asks_for_is_not_granted(alita: Alita, home: Path) -> None:
    number = CodeApprovals(Storage(home)).ask(ASKED)
    said = alita("approve", "--code", number, ASKED.digest, "--network", "example.org")
    assert said.status == 2
    assert "all that it asks for, or nothing" in said.err
