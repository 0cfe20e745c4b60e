"""Recorded runs of `run_code`, and the programs among them that recur and could become tools."""
