"""The examples gate: the examples of a draft, run in the sandbox and compared on the host."""
