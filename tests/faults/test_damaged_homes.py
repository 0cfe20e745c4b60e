"""Damaged homes: no traceback, no wrong answer, no right that nobody granted, no decision undone without a word."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.conftest import SEED
from tests.faults.damage import damage, find_kinds, find_lost_files, find_problems, follow_advice
from tests.faults.forks import Warm, drop_capabilities, fork
from tests.faults.homes import Seen, copy_home, observe

HOMES, A_PART = 500, 10

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("damaged homes")]


@pytest.fixture(scope="session")
def before(pristine: Path, warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What is seen of a home without damage."""
    seen: Seen = warm.run(observe_as_user, copy_home(pristine, tmp_path_factory.mktemp("whole") / "home"))
    return seen


def test_every_kind_of_file_is_there(pristine: Path) -> None:
    kinds = find_kinds(pristine)
    assert [kind for kind, places in kinds.items() if not places] == []
    assert set(pristine.rglob("*")) == {place for places in kinds.values() for place in places}


@pytest.mark.sample(1)
@pytest.mark.parametrize("part", range(HOMES // A_PART))
def test_damaged_homes(part: int, pristine: Path, before: Seen, warm: Warm, tmp_path: Path) -> None:
    problems = []
    for number in range(part * A_PART, (part + 1) * A_PART):
        place = tmp_path / str(number)
        place.mkdir()
        problems += warm.run(try_damage, pristine, place, f"{SEED}-{number}", before)
    assert not problems, f"ALITA_TEST_SEED={SEED}\n" + "\n".join(problems)


def try_damage(pristine: Path, place: Path, seed: str, before: Seen) -> list[str]:
    """The problems of one damaged home."""
    home = copy_home(pristine, place / "home")
    done = damage(home, seed)
    try:
        after = fork(observe_as_user, home).wait()
        problems = find_problems(before, after, done) + find_lost_files(pristine, home, done)
        if after.said["list"].status:
            advice = follow_advice(home, pristine, after, done)
            later = fork(observe_as_user, home).wait()
            if later.said["list"].status:
                problems.append(f"after {advice or 'no advice'!r} it still says {later.said['list'].err}")
            else:
                problems += [f"after {advice!r}: {each}" for each in find_problems(before, later, done)]
    except (AssertionError, TimeoutError) as failure:
        problems = [str(failure)]
    shutil.rmtree(place, ignore_errors=True)
    return [f"seed {seed}, {done.what}: {problem}" for problem in problems]


def observe_as_user(home: Path) -> Seen:
    """What is seen by a user whom modes and owners of files stop."""
    drop_capabilities()
    return observe(home)
