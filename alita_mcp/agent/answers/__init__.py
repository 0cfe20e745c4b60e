"""Whether an answer rests on what was observed."""
