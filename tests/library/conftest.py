"""The tests of the library run on both stores, but those about the files of one machine's library."""

from __future__ import annotations

import pytest

OF_ONE_MACHINE = frozenset({
    "test_decisions", "test_exposure", "test_files", "test_formats", "test_rebuilding", "test_opening", "test_loaded",
    "test_search_tables", "test_run_files", "test_kept_results",
    "test_bounded_files", "test_code_approvals",
})  # fmt: skip
"""Modules whose tests look into SQLite's file, damage what lies beside it, or choose their storage themselves."""

STORES = ["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.extra("team")])]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.module.__name__.rpartition(".")[2]
    if "store" not in metafunc.fixturenames or module in OF_ONE_MACHINE:
        return
    if hasattr(metafunc.module, "store"):
        return
    if not metafunc.definition.get_closest_marker("one_machine"):
        metafunc.parametrize("store", STORES)
