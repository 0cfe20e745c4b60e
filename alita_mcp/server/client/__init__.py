"""What is known of a connected client: who it is, what it was seen to do, how long it waits."""
