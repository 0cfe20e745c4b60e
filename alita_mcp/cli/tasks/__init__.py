"""Tasks at the command line: `alita solve`, `alita runs`, `alita run-log`."""
