"""Manager agent, which answers a task with the library's tools, code, files and the web."""
