"""Marks of a run without its values: types, sizes and keyed hashes of what was seen."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import secrets
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field

from alita_mcp.library.private_text import holds_secret
from alita_mcp.runs.recorded_run import RUN_ID, RecordedRun
from alita_mcp.values import Value

MAX_WORDS = 50
"""So many packages, tools and arguments of a run are named."""
MAX_WORD = 200
_ERROR_TYPE = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,99}")
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


class ValueMark(Value):
    """Mark of a value: enough to tell it from others, not enough to guess it without the home's key."""

    type: str
    size: int
    """Bytes of its JSON."""
    hash: str


class KeptRun(Value):
    """Run as it is always kept, without any of its values."""

    id: str = Field(pattern=RUN_ID.pattern)
    at: str
    client: str = ""
    digest: str
    """Of its program's normal form; empty where the code does not parse."""
    inputs: str
    """Hash of the constants and arguments: the same for two runs that were given the same."""
    status: str
    error_type: str = ""
    seconds: float = 0.0
    sandbox: str = ""
    packages: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    pure: bool = True
    in_session: bool = False
    arguments: tuple[ValueMark, ...] = ()
    result: ValueMark | None = None
    secret: bool = False
    """Whether it holds what looks like a key or a password: its values are then never kept."""

    @property
    def counts(self) -> bool:
        """Whether it shows what its program does: it ended well, and depends on nothing but what it was given."""
        return self.status == "ok" and not self.in_session and bool(self.digest)


def kept_run(run: RecordedRun, digest: str, key: bytes) -> KeptRun:
    """A run without its values."""
    return KeptRun(
        id=run.id,
        at=run.at[:40],
        client=run.client[:MAX_WORD],
        digest=digest,
        inputs=_hashed(as_json([_constants(run.code), as_json(run.arguments)]), key),
        status=run.status[:40],
        error_type=run.error_type if _ERROR_TYPE.fullmatch(run.error_type) else "",
        seconds=run.seconds,
        sandbox=run.sandbox[:MAX_WORD],
        packages=_words(run.packages),
        tools=_words(run.tools),
        pure=run.pure,
        in_session=bool(run.session),
        arguments=tuple(_mark(value, key) for _, value in sorted(run.arguments.items())[:MAX_WORDS]),
        result=None if run.result_kind == "none" else _mark(run.result, key),
        secret=any(map(holds_secret, (run.code, as_json(run.arguments), run.stdout, as_json(run.result)))),
    )


def as_json(value: Any) -> str:
    """JSON in one line; also of what no JSON can hold, which then cannot be read back."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)
    except (ValueError, TypeError, RecursionError):
        return f"<{type(value).__name__}>"


def home_key(folder: Path) -> bytes:
    """The random key of the hashes in a folder, made at the first use; one for all processes.

    Raises:
        OSError: the folder cannot be used.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    place = folder / "hash.key"
    unfinished = folder / f"hash.{secrets.token_hex(8)}.part"
    if not place.exists():
        unfinished.touch(mode=0o600, exist_ok=False)
        try:
            unfinished.write_bytes(secrets.token_bytes(32))
            place.hardlink_to(unfinished)
        except FileExistsError:
            pass
        finally:
            unfinished.unlink()
    return place.read_bytes()[:64]


def _mark(value: Any, key: bytes) -> ValueMark:
    text = as_json(value)
    return ValueMark(type=_TYPES.get(type(value), "null"), size=len(text), hash=_hashed(text, key))


def _hashed(text: str, key: bytes) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=16).hexdigest()


def _words(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word[:MAX_WORD] for word in words[:MAX_WORDS])


@lru_cache(256)
def _constants(code: str) -> list[str]:
    """The constants of a program in the order in which they are met; the code itself where it does not parse."""
    try:
        nodes = ast.walk(ast.parse(code))
        return [repr(node.value) for node in nodes if isinstance(node, ast.Constant)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [code]
