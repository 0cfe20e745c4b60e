"""Review of a caller's own code by tests that a model writes blind to it."""
