"""Modules of the program that runs code inside a sandbox; sent as text, never imported by the server."""
