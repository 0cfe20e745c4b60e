"""Flow of `run_code`, and recognition of programs that recur."""
