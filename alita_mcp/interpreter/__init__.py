"""Interpreter of `run_code`: scripts and steps of sessions, with their results, output, figures and files."""
