"""Jobs: syntheses that outlive the call which began them, and what they leave in the journal."""
