"""Whatever order tools are published, rolled back, switched off, deleted and edited in, the library keeps its word."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from alita_mcp.errors import AlitaError, NameTaken, ToolNotFound, ToolQuarantined, ToolUnavailable, UsageError
from alita_mcp.library.library import Library
from alita_mcp.library.rows import ToolState
from tests.library.factory import opened, simple

NAMES = st.sampled_from(["one_tool", "two_tool"])


class Model:
    """What one tool should look like."""

    def __init__(self) -> None:
        self.versions = 1
        self.current = 1
        self.state: ToolState = "enabled"
        self.pinned = False
        self.edited: set[int] = set()
        self.noticed: set[int] = set()

    @property
    def shown(self) -> ToolState:
        return "quarantined" if self.state == "enabled" and self.current in self.noticed else self.state


class LibraryMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.home = Path(self._folder.name) / "home"
        self._threads = anyio.from_thread.start_blocking_portal("asyncio")
        self._portal = self._threads.__enter__()
        self.models: dict[str, Model] = {}
        self.open()

    def open(self) -> None:
        self._opening = self._portal.wrap_async_context_manager(opened(self.home))
        self.library: Library = self._opening.__enter__()

    def close(self) -> None:
        self._opening.__exit__(None, None, None)

    def teardown(self) -> None:
        self.close()
        self._threads.__exit__(None, None, None)
        self._folder.cleanup()

    def call(self, method: str, *arguments: Any, **words: Any) -> Any:
        async def run() -> Any:
            return await getattr(self.library, method)(*arguments, **words)

        try:
            return self._portal.call(run)
        except AlitaError as error:
            return type(error)

    @rule(name=NAMES, expected=st.integers(0, 3))
    def publish(self, name: str, expected: int) -> None:
        model = self.models.get(name)
        outcome = self.call("publish", simple(name, answer=str(expected)), expected_version=expected)
        if model is not None and model.state == "deleted":
            assert outcome is ToolUnavailable
        elif expected != (model.versions if model else 0):
            assert outcome is NameTaken
        else:
            assert outcome.version == expected + 1
            model = self.models.setdefault(name, Model())
            model.versions = model.current = expected + 1  # what a person disabled stays disabled

    @rule(name=NAMES, version=st.none() | st.integers(0, 4))
    def roll_back(self, name: str, version: int | None) -> None:
        model = self.models.get(name)
        outcome = self.call("rollback", name, version)
        if model is None:
            assert outcome is ToolNotFound
            return
        target = model.current - 1 if version is None else version
        if model.state == "deleted":
            assert outcome is ToolUnavailable
        elif version is None and target < 1:
            assert outcome is UsageError
        elif not 1 <= target <= model.versions:
            assert outcome is ToolNotFound
        elif target in model.edited:
            model.noticed.add(target)
            assert outcome is ToolQuarantined
        else:
            model.current = target
            assert outcome.manifest.version == target

    @rule(name=NAMES, change=st.sampled_from(["pin", "unpin", "disable", "delete"]))
    def change(self, name: str, change: str) -> None:
        model = self.models.get(name)
        outcome = self.call(change, name)
        if model is None or model.state == "deleted":
            assert outcome is (ToolNotFound if model is None else ToolUnavailable)
            return
        if change in ("pin", "unpin"):
            model.pinned = change == "pin"
        else:
            model.state = "disabled" if change == "disable" else "deleted"
        assert outcome.name == name

    @rule(name=NAMES)
    def enable(self, name: str) -> None:
        model = self.models.get(name)
        outcome = self.call("enable", name)
        if model is None:
            assert outcome is ToolNotFound
        elif model.current in model.edited:
            model.noticed.add(model.current)
            assert outcome is ToolQuarantined
        else:
            model.state = "enabled"
            model.noticed.discard(model.current)
            assert outcome.state == "enabled"

    @rule(name=NAMES, version=st.integers(1, 3))
    def edit_or_mend(self, name: str, version: int) -> None:
        model = self.models.get(name)
        if model is None or version > model.versions:
            return
        place = self.home / "generated_tools" / name / f"v{version}" / "tool.py"
        text = place.read_text()
        edited = version in model.edited
        place.write_text(text.removesuffix("# evil\n") if edited else f"{text}# evil\n")
        model.edited ^= {version}

    @rule(name=NAMES, version=st.none() | st.integers(1, 4))
    def read(self, name: str, version: int | None) -> None:
        model = self.models.get(name)
        outcome = self.call("read", name, version)
        number = version or (model.current if model else 1)
        if model is None:
            assert outcome is ToolNotFound
        elif model.state == "deleted":
            assert outcome is ToolUnavailable
        elif number > model.versions:
            assert outcome is ToolNotFound
        elif number in model.edited | model.noticed:
            if number in model.edited:
                model.noticed.add(number)
            assert outcome is ToolQuarantined
        else:
            assert "# evil" not in outcome.code
            assert outcome.manifest.version == number

    @precondition(lambda self: self.models)
    @rule()
    def open_again(self) -> None:
        self.close()
        self.open()

    @invariant()
    def everything_is_as_it_should_be(self) -> None:
        shown = {
            entry.name: (entry.manifest.version, entry.versions, entry.state, entry.pinned)
            for entry in self.library.tools.entries()
        }
        assert shown == {
            name: (model.current, tuple(range(1, model.versions + 1)), model.shown, model.pinned)
            for name, model in self.models.items()
            if model.state != "deleted"
        }


LibraryMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestLibraryStates = LibraryMachine.TestCase
