"""Commands that make tools of what was run often."""
