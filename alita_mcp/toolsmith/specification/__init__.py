"""Specifications, suites and code that models write, with assumptions and aliases."""
