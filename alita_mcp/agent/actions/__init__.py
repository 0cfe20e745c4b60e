"""Actions of a run: its tools, the values, files and pages that these may use."""
