"""Where generated code runs, and nowhere else: one seam, a file per back end."""
