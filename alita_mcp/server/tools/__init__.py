"""The tools that clients see: the meta-tools, run_code and the tools of the library."""
