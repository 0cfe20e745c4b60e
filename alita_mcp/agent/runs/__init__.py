"""Persistent store of runs: requests and events."""
