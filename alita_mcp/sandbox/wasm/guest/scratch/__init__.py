"""The scratch folder in memory, in the place of the machine's files."""
