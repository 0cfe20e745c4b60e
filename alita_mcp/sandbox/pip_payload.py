"""The zip that a builder gets: pip as it is installed here, a request, the authorities to trust."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

_LEFT_OUT = frozenset({".pyc", ".exe", ".pyi"})


def pip_payload(request: dict[str, Any], authorities: bytes) -> bytes:
    """A zip that Python imports pip from; it is pure Python and has no dependencies."""
    import pip

    root = Path(pip.__path__[0])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix not in _LEFT_OUT:
                archive.writestr(_entry(f"pip/{path.relative_to(root).as_posix()}"), path.read_bytes())
        archive.writestr(_entry("request.json"), json.dumps(request))
        if authorities:
            archive.writestr(_entry("ca.pem"), authorities)
    return buffer.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry
