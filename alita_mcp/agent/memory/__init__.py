"""Memory of earlier runs: programs and profiles of files, without secrets, bounded."""
