"""Journal of calls, searches and changes of tools, and the capabilities found missing."""
