"""The module `alita_tool` that a tool imports: one function for each thing that a grant allows.

A function without its grant says so at once; the host checks every request again, whatever this module lets through.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from alita_mcp.sandbox.runner.tool import pictures
from alita_mcp.sandbox.runner.tool.workspace import WorkspaceFiles

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
_opened: list[WorkspaceFiles] = []


def lacks(service: str, what: str = "") -> str:
    """Message about a function that is used without its grant; `what` is the single thing that lacks it."""
    name = service.partition(".")[0]
    if name not in _GRANTS:
        return f"alita_tool has no service {service[:100]!r}"
    grant = f"{_GRANTS[name]!r}: {what[:100]!r}" if what else repr(_GRANTS[name])
    return f"alita_tool.{name} needs the grant {grant}, which this tool does not have"


class AlitaTool(ModuleType):
    """The module `alita_tool`: `Image`, `complete`, `call_tool`, `secret` and the files of the workspace."""

    Image = pictures.Image
    _draw = staticmethod(pictures.draw)

    def __init__(self, grants: dict[str, Any], ask: Ask) -> None:
        super().__init__("alita_tool", type(self).__doc__)
        self._grants = grants
        self._ask = ask

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

    def read_text(self, path: str) -> str:
        """The text of a file of the workspace, UTF-8; each line ends with a line feed."""
        text = self._files("read_text").read(path).decode()
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def read_bytes(self, path: str) -> bytes:
        """The bytes of a file of the workspace."""
        return self._files("read_bytes").read(path)

    def write_text(self, path: str, text: str) -> None:
        """Makes or replaces a file of the workspace, in UTF-8, with the folders above it; needs `write`."""
        self._files("write_text").write(path, str.encode(text))

    def write_bytes(self, path: str, data: bytes) -> None:
        """The same with bytes."""
        self._files("write_bytes").write(path, bytes(memoryview(data)))

    def list_files(self, folder: str = "") -> list[str]:
        """Paths of all files in and below a folder of the workspace, relative to the workspace, sorted."""
        return self._files("list_files").names(folder)

    def _files(self, service: str) -> WorkspaceFiles:
        if self._grants.get("workspace", "none") == "none":
            raise PermissionError(lacks(service))
        return _opened[-1]

    def _check(self, service: str, grant: str, name: str) -> None:
        granted = self._grants.get(grant, ())
        if name not in granted:
            raise PermissionError(lacks(service, str(name) if granted else ""))


def module(grants: dict[str, Any] | None = None, ask: Ask | None = None) -> ModuleType:
    """Makes the module for `sys.modules["alita_tool"]`; `ask(service, words)` works during a call only."""
    grants, ask = grants or {}, ask or _refuse
    if grants.get("workspace", "none") != "none":
        _opened[:] = [WorkspaceFiles(ask, writable=grants["workspace"] == "write")]
    return AlitaTool(grants, ask)


def finish() -> None:
    """Sends what the tool wrote in its workspace; called after its function returned a value."""
    for files in _opened:
        files.finish()


def _refuse(service: str, _words: dict[str, Any]) -> Any:
    raise PermissionError(lacks(service))
