"""Persistent store of runs: requests, events, values and models' answers."""
