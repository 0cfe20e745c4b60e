"""Modules inside the component beside CPython 3.14; built into it by `build.py`, never imported by the server."""
