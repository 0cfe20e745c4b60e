"""Bounds what the inside says before a byte of it is read: a string may be as long as an instance's memory.

The engine itself copies at most 128 MiB in one go; in this process that can become a gigabyte of text.
"""

from __future__ import annotations

from ctypes import byref
from typing import Any

from wasmtime import WasmtimeError, _ffi
from wasmtime.component import _types


class Bounded:
    """Puts the bound on all strings that come out of instances in this process; the package has no place for it."""

    def __init__(self, longest: int = 0) -> None:
        self.longest = longest
        """Bytes of UTF-8."""
        convert = _types.String.convert_from_c

        def bounded(kind: _types.String, value: Any) -> Any:
            size = value.of.string.size
            if size > self.longest:
                _ffi.wasm_byte_vec_delete(byref(value.of.string))
                raise WasmtimeError(f"it gave {size} bytes where {self.longest} may be")
            return convert(kind, value)

        _types.String.convert_from_c = bounded  # type: ignore[method-assign, assignment]
