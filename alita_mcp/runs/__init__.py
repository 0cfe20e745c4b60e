"""Runs of `run_code` that come back: remembered, noticed, and made into a function."""
