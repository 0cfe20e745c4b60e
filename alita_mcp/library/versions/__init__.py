"""Versions on disk: immutable, sealed folders of code, tests, lock, manifest and report."""
