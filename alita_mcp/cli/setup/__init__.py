"""Commands that set up a machine and its clients, and check them."""
