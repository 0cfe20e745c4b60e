"""Examples gate: runs a draft's examples in the sandbox and compares the results on the host."""
