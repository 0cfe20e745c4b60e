"""Runs of code: the flow of `run_code`, and what is noticed in what ran."""
