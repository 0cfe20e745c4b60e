"""Sessions of `run_code`: steps that share their variables, in a worker of their own."""
