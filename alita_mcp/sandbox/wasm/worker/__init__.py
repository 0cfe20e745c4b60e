"""Worker process of the embedded sandbox: runs each call in an instance of the compiled component."""
