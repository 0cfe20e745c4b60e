"""Session files of coding agents on this machine: lines in, the Python that was executed out. Nothing runs here."""
