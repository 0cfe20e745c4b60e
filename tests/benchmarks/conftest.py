"""Which tests of the retrieval benchmark start processes or take long in this one."""

from __future__ import annotations

import pytest

SLOW = {"test_retrieval.py", "test_retrieval_floors.py", "test_retrieval_growth.py"}
PROCESSES = {
    "test_each_size_is_measured_in_a_server_process_that_finds_what_another_one_publishes",
    "test_processes_that_write_at_once_lose_and_repeat_nothing",
    "test_what_is_lost_or_written_twice_is_counted",
    "test_a_writer_that_fails_is_an_error_and_no_figure",
    "test_the_command_works_from_any_folder",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name in PROCESSES:
            item.add_marker(pytest.mark.process)
        if item.path.name in SLOW:
            item.add_marker(pytest.mark.slow)
        if item.path.name == "test_retrieval_floors.py":
            item.add_marker(pytest.mark.xdist_group("floors"))  # all judge the same two runs
