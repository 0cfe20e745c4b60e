"""Package environments of tools: resolved to hash-locked wheels, built once in a sandbox and cached."""
