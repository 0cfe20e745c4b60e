"""A worker process of the embedded sandbox as a program that can be forked, without what it inherits from that."""

import os
import sys

from alita_mcp.sandbox.wasm.worker.main import main

os.environ.clear()
if sys.platform == "linux":
    from alita_mcp.sandbox.wasm.worker import linux

    _given = linux._descriptors
    linux._descriptors = lambda compiled: [number for number in _given(compiled) if number < 3]

main()
