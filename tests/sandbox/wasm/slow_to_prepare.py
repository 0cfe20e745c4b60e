"""A back end that has to be compiled first, by a compiler that waits until a test has seen how far it is."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from alita_mcp.sandbox.interface import Progress, RunResult
from alita_mcp.sandbox.wasm.compiled import CompiledFiles
from alita_mcp.sandbox.wasm.component import Component
from alita_mcp.settings import Settings
from tests.sandbox.wasm.fake_compiler import MODULE
from tests.scripted_sandbox import ScriptedSandbox


class SlowToPrepare(ScriptedSandbox):
    """Answers 42 to each call once it was prepared."""

    folder: ClassVar[Path]

    def __init__(self, _settings: Settings) -> None:
        super().__init__(lambda _job: RunResult(status="ok", value=42), "slow")

    async def ready(self, progress: Progress) -> None:
        component = Component(path=self.folder / "component.json", sha256="c" * 64)
        await CompiledFiles(self.folder / "compiled", MODULE).compile_once(component, progress)


NAME = f"{__name__}:{SlowToPrepare.__name__}"


def set_up(folder: Path, text: str) -> None:
    """Where it finds its component, and what its compiler is told there."""
    folder.mkdir(exist_ok=True)
    (folder / "component.json").write_text(text, "utf-8")
    SlowToPrepare.folder = folder
