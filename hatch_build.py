"""Builds the component of the embedded sandbox into each wheel; editable installations use that of `make component`."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "alita_mcp/sandbox/wasm"


class ComponentHook(BuildHookInterface):  # type: ignore[type-arg]
    """The component and its record, made aside and put into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds it; what hatch calls before it packs."""
        if version != "standard":
            return
        # loaded by its path: of our package, nothing else can be imported where a wheel is built
        spec = importlib.util.spec_from_file_location(
            "build_component", Path(self.root) / FOLDER / "build.py"
        )
        assert spec is not None  # noqa: S101 - the path ends with .py
        assert spec.loader is not None  # noqa: S101
        build = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(build)
        self._work = tempfile.TemporaryDirectory()
        made = Path(self._work.name) / "component"
        try:
            build.build(made)
        except build.BuildFailed as problem:
            self.app.abort(str(problem))
        for file in (build.FILE, build.RECORD):
            build_data["force_include"][str(made / file)] = f"{FOLDER}/{file}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Removes the copy that was made aside."""
        if version == "standard":
            self._work.cleanup()
