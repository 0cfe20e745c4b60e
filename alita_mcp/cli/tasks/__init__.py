"""Tasks at the command line: `alita solve` and `alita runs`."""
