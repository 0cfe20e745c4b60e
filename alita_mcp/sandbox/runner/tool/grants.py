"""`alita_tool` as a tool sees it: grants and a way to ask the host in, the module out.

A door without its grant says so at once; the host checks every question again, whatever this module lets through.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from alita_mcp.sandbox.runner.tool.mirror import ROOT, Mirror
from alita_mcp.sandbox.runner.tool.workspace import watch_files, workspace_path

if TYPE_CHECKING:
    from pathlib import PosixPath

Ask = Callable[[str, dict[str, Any]], Any]
ERRORS: dict[str, type[Exception]] = {
    error.__name__: error
    for error in (
        PermissionError, FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, ValueError,
        TimeoutError, RuntimeError, OSError, LookupError,
    )
}  # fmt: skip
"""What an error of the host may be inside; any other is a RuntimeError."""
_FILES = ("read_text", "read_bytes", "write_text", "write_bytes", "list_files")
_GRANTS = {
    "complete": "model", "call_tool": "tools", "secret": "secrets", "workspace": "workspace",
    **dict.fromkeys(_FILES, "workspace"),
}  # fmt: skip
_mirrors: list[Mirror] = []


def lacks(door: str, what: str = "") -> str:
    """What a tool's author reads about a door without its grant; `what` is the single thing that lacks it."""
    name = door.partition(".")[0]
    if name not in _GRANTS:
        return f"alita_tool has no door {door[:100]!r}"
    grant = f"{_GRANTS[name]!r}: {what[:100]!r}" if what else repr(_GRANTS[name])
    return f"alita_tool.{name} needs the grant {grant}, which this tool does not have"


class AlitaTool(ModuleType):
    """The rights a tool may be granted: `complete`, `call_tool`, `secret`, `workspace` and its files."""

    def __init__(self, grants: dict[str, Any], ask: Ask) -> None:
        super().__init__("alita_tool", type(self).__doc__)
        self._grants = grants
        self._ask = ask
        self._workspace: PosixPath | None = None

    def complete(
        self,
        prompt: str,
        system: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> str:
        """A completion by the configured model; needs the grant `model`."""
        if not self._grants.get("model"):
            raise PermissionError(lacks("complete"))
        words = {"prompt": prompt, "system": system, "max_tokens": max_tokens, "temperature": temperature}
        text: str = self._ask("complete", words)
        return text

    def call_tool(self, name: str, /, **arguments: Any) -> Any:
        """The result of another tool of the library; needs the grant `tools` with its name."""
        self._check("call_tool", "tools", name)
        return self._ask("call_tool", {"name": name, "arguments": arguments})

    def secret(self, name: str) -> str:
        """A secret by name; needs the grant `secrets` with that name."""
        self._check("secret", "secrets", name)
        value: str = self._ask("secret", {"name": name})
        return value

    @property
    def workspace(self) -> PosixPath:
        """The folder that the tool may read, or read and write, as a `pathlib.Path`; needs the grant `workspace`."""
        if self._grants.get("workspace", "none") == "none":
            raise PermissionError(lacks("workspace"))
        if self._workspace is None:
            self._workspace = workspace_path(_mirrors[-1])
        return self._workspace

    def read_text(self, path: str) -> str:
        """The text of a file of the workspace, UTF-8."""
        return self._file(path, "read_text").read_text(encoding="utf-8")

    def read_bytes(self, path: str) -> bytes:
        """The bytes of a file of the workspace."""
        return self._file(path, "read_bytes").read_bytes()

    def write_text(self, path: str, text: str) -> None:
        """Makes or replaces a file of the workspace, in UTF-8, with the folders above it; needs `write`."""
        self._new_file(path, "write_text").write_text(text, encoding="utf-8")

    def write_bytes(self, path: str, data: bytes) -> None:
        """The same with bytes."""
        self._new_file(path, "write_bytes").write_bytes(data)

    def list_files(self, folder: str = "") -> list[str]:
        """Paths of all files in and below a folder of the workspace, relative to the workspace, sorted."""
        place = self._file(folder, "list_files")
        return sorted(
            path.relative_to(self.workspace).as_posix() for path in place.rglob("*") if path.is_file()
        )

    def _file(self, path: str, door: str) -> PosixPath:
        if self._grants.get("workspace", "none") == "none":
            raise PermissionError(lacks(door))
        place = self.workspace / path
        if ".." in place.parts or not place.is_relative_to(self.workspace):
            raise PermissionError(f"{str(path)[:100]!r} lies outside of the workspace")
        return place

    def _new_file(self, path: str, door: str) -> PosixPath:
        place = self._file(path, door)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def _check(self, door: str, grant: str, name: str) -> None:
        granted = self._grants.get(grant, ())
        if name not in granted:
            raise PermissionError(lacks(door, str(name) if granted else ""))


def module(grants: dict[str, Any] | None = None, ask: Ask | None = None, *, root: str = ROOT) -> ModuleType:
    """The module for `sys.modules["alita_tool"]`; `ask(door, words)` works during a call only."""
    grants, ask = grants or {}, ask or _nobody_answers
    if grants.get("workspace", "none") != "none":
        mirror = Mirror(ask, writable=grants["workspace"] == "write", root=root)
        _mirrors[:] = [mirror]
        watch_files(mirror)
    return AlitaTool(grants, ask)


def finish() -> None:
    """Keeps what the tool changed in its workspace; called after its function returned a value."""
    for mirror in _mirrors:
        mirror.finish()


def _nobody_answers(door: str, _words: dict[str, Any]) -> Any:
    raise PermissionError(lacks(door))
