"""`alita_tool` as a tool sees it: every door says which grant it lacks."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn


class _AlitaTool(ModuleType):
    """The rights a tool may be granted; `workspace` is a path where it is granted."""

    def complete(self, *_arguments: Any, **_options: Any) -> NoReturn:
        """A completion by the configured model."""
        _refuse("complete", "model")

    def call_tool(self, *_names: Any, **_arguments: Any) -> NoReturn:
        """The result of another tool of the library."""
        _refuse("call_tool", "tools")

    def secret(self, *_names: Any) -> NoReturn:
        """A secret by name."""
        _refuse("secret", "secrets")

    @property
    def workspace(self) -> NoReturn:
        """The folder that the tool may use."""
        _refuse("workspace", "workspace")


def module() -> ModuleType:
    """The module for `sys.modules["alita_tool"]`."""
    return _AlitaTool("alita_tool", _AlitaTool.__doc__)


def _refuse(door: str, grant: str) -> NoReturn:
    raise PermissionError(f"alita_tool.{door} needs the grant {grant!r}, which this tool does not have")
