"""The optional parts of the package: what each is for, whether it is installed, and the command that adds it.

`pyproject.toml` names the packages of each extra. Whatever imports one of them does so on first use, inside
`extra_imports(EXTRA)`, so that the core works without any.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from alita_mcp.errors import ExtraMissing

Extra = Literal["models", "search", "team", "web"]
EXTRAS: tuple[Extra, ...] = get_args(Extra)
DISTRIBUTION = "alita-mcp-server"

PACKAGES: Mapping[Extra, Sequence[str]] = {
    "models": ("litellm",),
    "search": ("lancedb", "model2vec", "numpy", "pyarrow"),
    "team": ("procrastinate", "prometheus_client", "psycopg"),
    "web": ("lxml_html_clean", "protego", "pypdf", "trafilatura"),
}
"""The names that they are imported by, which are those of their distributions too."""
FEATURES: Mapping[Extra, str] = {
    "models": "a language model of the server's own, ALITA_MODEL",
    "search": "search by meaning and ALITA_EMBEDDER",
    "team": "a library that several servers share, ALITA_LIBRARY",
    "web": "reading web pages, HTML and PDF",
}


class Problem(NamedTuple):
    """Why an extra cannot be used, as in `litellm is not installed`."""

    reason: str
    is_broken: bool = False
    """Whether the packages look installed to an installer, so that it must be told to reinstall them."""


class Installation(NamedTuple):
    """Where and from what this server was installed."""

    prefix: Path
    python: str
    direct_url: Mapping[str, Any]
    """As in `direct_url.json` (PEP 610); empty where it came from a package index."""
    has_pip: bool
    present: Sequence[Extra]
    """The extras that are installed."""

    def command(self, extra: Extra, *others: Extra, repair: bool = False) -> str:
        """The shell command that adds extras and keeps those already installed; `repair` reinstalls them.

        What an installer leaves in the environment tells three cases apart: 1. a tool of uv, 2. any other with pip,
        3. any other without.
        """
        wanted, kept = {extra, *others}, {extra, *others, *self.present}
        editable = ["--editable"] if self.direct_url.get("dir_info", {}).get("editable") else []
        if (self.prefix / "uv-receipt.toml").is_file():
            again = ["--reinstall"] if repair else []
            return _shell_line("uv", "tool", "install", *again, *editable, self._requirement(kept))
        if self.has_pip:
            again = ["--force-reinstall"] if repair else []
            pip = [self.python, "-m", "pip", "install"]
        else:
            again = ["--reinstall"] if repair else []
            pip = [_uv_program(self.python), "pip", "install", "--python", self.python]
        return _shell_line(*pip, *again, *editable, self._requirement(wanted))

    def _requirement(self, extras: set[Extra]) -> str:
        """The distribution with these extras, from where it came: a folder, an archive, a repository or an index."""
        names = "all" if extras.issuperset(EXTRAS) else ",".join(sorted(extras))
        url = str(self.direct_url.get("url", ""))
        if "dir_info" in self.direct_url:
            return f"{_path_of(url)}[{names}]"
        if vcs := self.direct_url.get("vcs_info"):
            url = f"{vcs['vcs']}+{url}@{vcs.get('requested_revision') or vcs['commit_id']}"
        return f"{DISTRIBUTION}[{names}] @ {url}" if url else f"{DISTRIBUTION}[{names}]"


def find_extra_problem(extra: Extra) -> Problem | None:
    """Why an extra cannot be used; None where it can, as far as is known without importing it."""
    for package in PACKAGES[extra]:
        version, module = _version_of(package), find_spec(package)
        if version is None:
            return Problem(f"{package} is not installed")
        if module is None or module.origin is None:  # a folder without its modules
            return Problem(f"{package} {version} is installed only in part", is_broken=True)
    return None


def missing_extra_error(extra: Extra, feature: str, problem: Problem) -> ExtraMissing:
    """The error that names the feature, what is wrong with its extra, and the command that fixes it."""
    what = feature or f"{FEATURES[extra][0].upper()}{FEATURES[extra][1:]}"
    return ExtraMissing(
        f"{what} needs the extra {extra!r}: {problem.reason}.",
        hint=f"To add it: {find_installation().command(extra, repair=problem.is_broken)}",
    )


def require_extra(extra: Extra, feature: str = "") -> None:
    """Returns if an extra is installed.

    Raises:
        ExtraMissing: it is not; the message says that `feature` needs it.
    """
    if problem := find_extra_problem(extra):
        raise missing_extra_error(extra, feature, problem)


@contextmanager
def extra_imports(extra: Extra, feature: str = "") -> Iterator[None]:
    """Wraps the imports of an extra's packages.

    Raises:
        ExtraMissing: one of them cannot be imported, for any reason.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as failure:  # damaged modules fail in any way
        problem = find_extra_problem(extra)
        if problem is None:
            said = f"{type(failure).__name__}: {failure}"[:300].rstrip(".")
            problem = Problem(f"its packages cannot be imported ({said})", is_broken=True)
        raise missing_extra_error(extra, feature, problem) from failure


def find_installation() -> Installation:
    """How the running server was installed."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        said = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:  # sources on the path, never installed
        folder = Path(__file__).parent.parent
        said = json.dumps({"url": folder.as_uri(), "dir_info": {"editable": True}})
    present = [extra for extra in EXTRAS if find_extra_problem(extra) is None]
    has_pip = find_spec("pip") is not None
    return Installation(Path(sys.prefix), sys.executable, json.loads(said or "{}"), has_pip, present)


def _version_of(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _path_of(url: str) -> str:
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return url2pathname(urlsplit(url).path)


def _uv_program(python: str) -> str:
    """`uv` if a shell finds it, else our own dependency beside the interpreter."""
    if shutil.which("uv"):
        return "uv"
    return shutil.which("uv", path=str(Path(python).parent)) or "uv"


def _shell_line(*words: str) -> str:
    if os.name == "nt":  # cmd and PowerShell both take double quotes
        return " ".join(word if re.fullmatch(r"[\w./\\:=-]+", word) else f'"{word}"' for word in words)
    return shlex.join(words)
