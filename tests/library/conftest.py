"""Which tests of the library start processes: whole modules, and some tests by name."""

from __future__ import annotations

from pathlib import Path

import pytest

MODULES = {"test_embedding_in_processes.py", "test_export.py", "test_index_processes.py"}
WORDS = (
    "two_processes", "what_another_process_does", "_a_kill", "dead_publisher", "raising_at_once", "seed_of_hashes",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents and (
            item.path.name in MODULES or any(word in item.name for word in WORDS)
        ):
            item.add_marker(pytest.mark.process)
