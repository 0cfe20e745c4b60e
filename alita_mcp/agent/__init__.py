"""The manager agent: a task in, an answer out, with the library's tools as its hands."""
