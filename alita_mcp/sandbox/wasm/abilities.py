"""What tools can do in the embedded sandbox, and what they must do without."""

from __future__ import annotations

from alita_mcp.sandbox.abilities import Abilities, Missing, whole_cpython
from alita_mcp.sandbox.wasm.build import PYTHON

ANOTHER_SANDBOX = (
    "Install Docker (https://docs.docker.com/get-docker/) or, on Linux, bubblewrap (`apt install bubblewrap`); "
    "or write the tool without it."
)
LACKS = (
    Missing(
        feature="bz2 and lzma",
        names=("bz2", "lzma", "compression.bz2", "compression.lzma", "compression.zstd"),
        instead="compress with zlib, gzip or zipfile",
    ),
)


def abilities() -> Abilities:
    """Those of the CPython in the component."""
    offers = whole_cpython("an embedded sandbox (WebAssembly)", PYTHON).offers
    return Abilities(offers=offers, lacks=LACKS, elsewhere=ANOTHER_SANDBOX)
