"""Commands for whole tasks: solve one, look at earlier ones, and at what they left in memory."""
