"""Packages that somebody chose: which may be used, which not and why, and what happens when the index is silent."""

from __future__ import annotations

import anyio
import pytest

from alita_mcp.toolsmith import package_check
from alita_mcp.toolsmith.package_check import PackageCheck
from alita_mcp.values import PackageFacts
from tests.research.pretended import ScriptedWebAgent, TableIndex

KNOWN = {
    "numpy": PackageFacts(name="numpy", exists=True),
    "reqeusts": PackageFacts(name="reqeusts", exists=True, looks_like="requests"),
    "numpi": PackageFacts(name="numpi", exists=False, looks_like="numpy"),
}


def checking(index: TableIndex) -> PackageCheck:
    return PackageCheck(ScriptedWebAgent(index=index))


async def test_a_package_that_is_there_may_be_used_and_is_asked_about_once() -> None:
    index = TableIndex(KNOWN)
    check = checking(index)
    assert await check.failure(["numpy>=2", "NumPy"]) is None
    assert index.asked == ["numpy"]


async def test_a_package_that_is_not_there_is_refused_with_what_may_be_meant() -> None:
    missing = await checking(TableIndex(KNOWN)).failure(["numpi"])
    assert missing is not None
    assert (missing.stage, missing.hard) == ("environment", True)
    assert "is not in the package index" in missing.message
    assert "Did you mean 'numpy'?" in missing.fix
    unknown = await checking(TableIndex(KNOWN)).failure(["nothing-like-it"])
    assert unknown is not None
    assert "Use a package that exists, or the standard library" in unknown.fix


async def test_a_look_alike_is_refused_unless_a_caller_pins_it() -> None:
    check = checking(TableIndex(KNOWN))
    alike = await check.failure(["numpy", "reqeusts>=2"], pinned_are_meant=True)
    assert alike is not None
    assert "may be a mistyped 'requests'" in alike.message
    assert "pin its version" in alike.fix
    assert await check.failure(["reqeusts==2.0"], pinned_are_meant=True) is None
    assert await check.failure(["reqeusts==2.0"]) is not None, "a model's own pin proves nothing"
    assert await check.failure(["numpi==1.0"], pinned_are_meant=True) is not None


async def test_a_silent_index_refuses_only_slips_of_the_pen_and_is_not_asked_again_at_once() -> None:
    index = TableIndex(is_down=True)
    check = checking(index)
    mistyped = await check.failure(["numpy", "reqeusts"], pinned_are_meant=True)
    assert mistyped is not None
    assert "may be a mistyped 'requests'" in mistyped.message
    assert "Did you mean 'requests'?" in mistyped.fix
    assert await check.failure(["reqeusts==2.0"], pinned_are_meant=True) is None
    assert sorted(index.asked) == ["numpy", "reqeusts"]


async def test_an_index_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging(TableIndex):
        async def read_facts(self, name: str) -> PackageFacts:
            await anyio.sleep_forever()
            raise AssertionError

    monkeypatch.setattr(package_check, "PATIENCE_S", 0.1)
    with anyio.fail_after(60):
        assert await checking(Hanging()).failure(["numpy"]) is None


async def test_without_an_index_nothing_is_asked_and_nothing_refused() -> None:
    check = PackageCheck(None)
    assert await check.failure(["numpi"]) is None
    assert await check.failure(["reqeusts"]) is not None
