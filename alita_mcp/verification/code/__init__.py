"""A tool's code read as a syntax tree, never imported: its function, types, docstring and schemas."""
