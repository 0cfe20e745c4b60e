"""Review of a caller's own code by blind tests of a model."""
