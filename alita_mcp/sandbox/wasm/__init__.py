"""The embedded sandbox: CPython as a WebAssembly component, run by wasmtime in worker processes of ours."""
