"""The static gate: what can be said about a draft without running it."""
