"""Static reading of a tool's code as a syntax tree: its function, types, docstring and schemas."""
