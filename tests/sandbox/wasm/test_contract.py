"""The contracts of back ends, held by the embedded sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from tests.sandbox.contract import ConfinedContract
from tests.sandbox.contract_calls import CallContract
from tests.sandbox.contract_kept import KeptContract
from tests.sandbox.leftovers import Leftovers, wasm_leftovers

ABSENT = {
    "test_the_hash_seed_decides_the_order_of_sets": "the hash seed is part of the component",
    "test_a_hash_seed_that_no_job_names_tells_nobody_a_rehearsal_from_a_call": "the same in both",
    "test_an_import_that_leaves_what_calls_would_share_gets_workers_of_one_call": "calls share no memory",
    "test_a_call_whose_zygote_dies_before_it_begins_gets_another_worker": "no zygotes",
    "test_libraries_that_would_start_threads_are_asked_not_to": "no threads",
    "test_too_few_processes_for_the_sandbox_itself_are_refused": "no processes",
    "test_it_says_what_code_can_do_in_it": "`tests/sandbox/wasm` has the words for it",
}
"""Claims about what does not exist here."""
ABSENT_LIMITS = {
    "shared_memory": "no memory to share",
    "threads": "no threads",
    "file_size": "one file may fill the scratch, whose limit is named",
    "scratch_bytes": "buffers are larger than what it writes, and nothing closes its files",
}
"""Limits that bite otherwise or bound nothing here."""


class WasmFixtures:
    @pytest.fixture(autouse=True)
    def what_exists(self, request: pytest.FixtureRequest) -> None:
        name = request.node.originalname
        if reason := ABSENT.get(name):
            pytest.skip(reason)

    @pytest.fixture
    def warm_workers(self) -> None:
        """None: leftovers are told by what a started worker is called."""

    @pytest.fixture
    async def sandbox(self, settings: Settings) -> AsyncIterator[WasmSandbox]:
        sandbox = WasmSandbox(settings)
        yield sandbox
        await sandbox.aclose()

    @pytest.fixture
    def left(self) -> Leftovers:
        return wasm_leftovers


class TestWasm(WasmFixtures, ConfinedContract, CallContract, KeptContract):
    """Those of its promises that are about more than processes."""

    absent_limits = ABSENT_LIMITS
