"""A worker process of the embedded sandbox as a program that can be forked."""

from alita_mcp.sandbox.wasm.worker.main import main

main()
