"""The worker process: holds the compiled component and runs each call in an instance of its own."""
