"""`run_code`: its sessions and outputs, and programs that come back, noticed and made into a function."""
