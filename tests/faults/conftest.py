"""A home with every kind of file, and a process that forks itself to work on copies of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.forks import Warm, open_warm
from tests.faults.homes import copy_home, fill, list_modules, warm_up

collect_ignore_glob = [] if sys.platform == "linux" else ["test_*.py"]
"""Other systems fork, drop rights and end processes in other ways, if at all."""

SEED = os.environ.get("ALITA_TEST_SEED", "0")
"""Of all damage and kills; `make test-all` draws one and prints it."""


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory, workers_door: str) -> Path:
    """The home, to be copied."""
    home = tmp_path_factory.mktemp("pristine") / "home"
    with open_warm(warm_up, workers_door, ()) as warm:
        warm.run(fill, home)
    return home


@pytest.fixture(scope="session")
def warm(pristine: Path, tmp_path_factory: pytest.TempPathFactory, workers_door: str) -> Iterator[Warm]:
    """The process, once it has imported what a look at the home imports."""
    copy = copy_home(pristine, tmp_path_factory.mktemp("looked-at") / "home")
    with open_warm(warm_up, workers_door, ()) as first:
        modules = first.run(list_modules, copy)
    with open_warm(warm_up, workers_door, modules) as warm:
        yield warm
