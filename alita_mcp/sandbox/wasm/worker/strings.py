"""Bound on the length of strings from instances, checked before they are read; one may fill an instance's memory.

The engine itself copies at most 128 MiB in one go; in this process that can become a gigabyte of text.
"""

from __future__ import annotations

from ctypes import byref
from typing import Any

from wasmtime import WasmtimeError, _ffi
from wasmtime.component import _types


class Bounded:
    """Bound on all strings from instances in this process, put into wasmtime, which has no setting for it."""

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
