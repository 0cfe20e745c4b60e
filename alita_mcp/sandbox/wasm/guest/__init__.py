"""Modules inside the component beside CPython 3.14; built into it by `build.py`, never imported by the server."""

from __future__ import annotations

import alita_mcp.sandbox.wasm.guest.scratch.linux  # noqa: F401 - before any module that keeps the numbers of WASI
