"""Killed processes: what was acknowledged holds, what was not holds whole or not at all, and nothing is left over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.conftest import SEED
from tests.faults.forks import Warm
from tests.faults.kills import AT_ONCE, try_kills

KILLS, ROUNDS = 2_000, 10

pytestmark = [pytest.mark.exhaustive, pytest.mark.process, pytest.mark.xdist_group("kills")]


@pytest.mark.parametrize("part", range(KILLS // ROUNDS // AT_ONCE))
def test_kills(part: int, pristine: Path, warm: Warm, tmp_path: Path) -> None:
    problems = warm.run(try_kills, pristine, tmp_path, f"{SEED}-{part}", ROUNDS)
    assert not problems, f"ALITA_TEST_SEED={SEED}\n" + "\n".join(problems)
